#include "cli/up/local_cloud.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"

namespace hornbeam::cli {
namespace {

constexpr int kBigQueryMaxReceiveBytes =
    32 << 20;  // a request of the Write API has 10 MB at most, and room to spare

std::string Local(int port) { return absl::StrCat("127.0.0.1:", port); }

std::vector<console::SubscriptionBacklog> Backlogs(const services::pubsub::PubSubService& pubsub) {
  std::vector<console::SubscriptionBacklog> backlogs;
  for (const auto& stats : pubsub.Stats()) {
    backlogs.push_back({.name = stats.name,
                        .messages = stats.num_undelivered_messages,
                        .bytes = stats.backlog_bytes,
                        .oldest_age_ms = stats.oldest_unacked_age_ms,
                        .readers = stats.open_streams});
  }
  return backlogs;
}

Status WithFlag(const Status& status, absl::string_view flag) {
  if (!absl::IsUnavailable(status) && !absl::IsPermissionDenied(status)) return status;
  return Status(status.code(), absl::StrCat(status.message(), " with ", flag));
}

StatusOr<std::unique_ptr<FileLock>> LockDataDir(FileSystem& fs, const std::string& data_dir) {
  const Status made = fs.CreateDirectories(data_dir);
  if (!made.ok()) {
    return Status(made.code(), absl::StrCat("data directory '", data_dir, "' cannot be used: ",
                                            made.message(), "; name another with --data-dir"));
  }
  StatusOr<std::unique_ptr<FileLock>> lock = fs.Lock(absl::StrCat(data_dir, "/lock"));
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory '", data_dir,
                     "' is in use by another hornbeam; stop that one, or name another "
                     "directory with --data-dir"));
  }
  if (!lock.ok()) {
    return Status(lock.status().code(),
                  absl::StrCat("data directory '", data_dir, "' cannot be written: ",
                               lock.status().message(), "; name another with --data-dir"));
  }
  return lock;
}

}  // namespace

StatusOr<std::unique_ptr<LocalCloud>> LocalCloud::Start(const LocalCloudOptions& options) {
  FileSystem& fs = *FileSystem::Posix();
  std::unique_ptr<LocalCloud> cloud(new LocalCloud(options.data_dir));
  HB_ASSIGN_OR_RETURN(cloud->lock_, LockDataDir(fs, options.data_dir));
  HB_ASSIGN_OR_RETURN(cloud->jobs_,
                      console::JobRegistry::Open(absl::StrCat(options.data_dir, "/jobs"),
                                                 FileSystem::Posix(), Clock::System()));
  HB_RETURN_IF_ERROR(cloud->StartPubSub(options.pubsub_port));
  HB_RETURN_IF_ERROR(cloud->StartBigQuery(options.bigquery_port, options.bigquery_grpc_port));
  HB_RETURN_IF_ERROR(cloud->StartConsole(options.console_port));
  HB_RETURN_IF_ERROR(
      WriteFileAtomically(fs, EndpointsFile(options.data_dir), ToJson(cloud->endpoints_)));
  return cloud;
}

LocalCloud::~LocalCloud() { Stop(); }

Status LocalCloud::StartPubSub(int port) {
  StatusOr<std::unique_ptr<services::pubsub::PubSubService>> service =
      services::pubsub::PubSubService::Open({.data_dir = absl::StrCat(data_dir_, "/pubsub")});
  if (!service.ok()) return Annotate(service.status(), "Pub/Sub cannot start");
  pubsub_ = *std::move(service);
  StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Start(
      pubsub_->GrpcServices(), port, "--pubsub-port", services::pubsub::kMaxReceiveBytes);
  if (!endpoint.ok()) return Annotate(endpoint.status(), "Pub/Sub cannot start");
  pubsub_grpc_ = *std::move(endpoint);
  endpoints_.pubsub = Local(pubsub_grpc_->port());
  return absl::OkStatus();
}

Status LocalCloud::StartBigQuery(int port, int grpc_port) {
  StatusOr<std::unique_ptr<services::bigquery::BigQueryService>> service =
      services::bigquery::BigQueryService::Open(
          {.data_dir = absl::StrCat(data_dir_, "/bigquery"), .default_project = kDefaultProject});
  if (!service.ok()) return Annotate(service.status(), "BigQuery cannot start");
  bigquery_ = *std::move(service);
  bigquery_http_ = std::make_unique<HttpServer>();
  bigquery_->RegisterRoutes(bigquery_http_.get());
  const Status listening = WithFlag(bigquery_http_->Start(port), "--bigquery-port");
  if (!listening.ok()) return Annotate(listening, "BigQuery cannot start");
  StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Start(
      bigquery_->GrpcServices(), grpc_port, "--bigquery-grpc-port", kBigQueryMaxReceiveBytes);
  if (!endpoint.ok()) return Annotate(endpoint.status(), "BigQuery cannot start");
  bigquery_grpc_ = *std::move(endpoint);
  endpoints_.bigquery = Local(bigquery_http_->port());
  endpoints_.bigquery_grpc = Local(bigquery_grpc_->port());
  return absl::OkStatus();
}

Status LocalCloud::StartConsole(int port) {
  console_ = std::make_unique<console::ConsoleServer>(console::ConsoleOptions{
      .jobs = jobs_.get(),
      .service_metrics =
          [this] { return absl::StrCat(pubsub_->PrometheusText(), bigquery_->PrometheusText()); },
      .subscriptions = [this] { return Backlogs(*pubsub_); },
      .bigquery_endpoint = endpoints_.bigquery,
      .project = kDefaultProject});
  const Status listening = WithFlag(console_->Start(port), "--console-port");
  if (!listening.ok()) return Annotate(listening, "the console cannot start");
  endpoints_.console = Local(console_->port());
  return absl::OkStatus();
}

void LocalCloud::Stop() {
  if (lock_ == nullptr) return;
  if (bigquery_ != nullptr) bigquery_->StopQueries();
  if (console_ != nullptr) console_->Stop();
  if (bigquery_http_ != nullptr) bigquery_http_->Stop();
  if (pubsub_ != nullptr) pubsub_->Shutdown();
  if (pubsub_grpc_ != nullptr) pubsub_grpc_->Stop();
  if (bigquery_grpc_ != nullptr) bigquery_grpc_->Stop();
  if (bigquery_ != nullptr) bigquery_->Shutdown();
  FileSystem& fs = *FileSystem::Posix();
  if (const std::string file = EndpointsFile(data_dir_); fs.Exists(file)) {
    const Status removed = fs.Remove(file);
    if (!removed.ok()) LogWarning(removed.message());
  }
  lock_.reset();
}

}  // namespace hornbeam::cli
