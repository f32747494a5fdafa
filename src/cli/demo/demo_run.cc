#include "cli/demo/demo_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cli/demo/flights_csv.h"
#include "cli/demo/flights_pipeline.h"
#include "cli/demo/progress_line.h"
#include "cli/query_client.h"
#include "cli/text_table.h"
#include "cli/up/data_dir.h"
#include "console/job_reporter.h"
#include "console/job_state_json.h"
#include "console/job_totals.h"
#include "engine/job/job.h"

namespace hornbeam::cli {
namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

constexpr char kTopic[] = "flights";
constexpr char kSubscription[] = "flights-pipeline";
constexpr char kDataset[] = "flights";
constexpr char kJobName[] = "flights";
constexpr int kAckDeadlineSeconds = 60;
constexpr int64_t kTurnMs = 100;
constexpr std::chrono::seconds kStalled{120};
// What the demo keeps in its data directory, and may therefore empty.
constexpr const char* kOwnDirectories[] = {"pubsub", "bigquery", "jobs", "state"};

constexpr char kNewestHourly[] =
    "SELECT * FROM flights.hourly WHERE TRUE "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY origin, hour ORDER BY pane DESC) = 1";

double SecondsSince(SteadyClock::time_point begun) {
  return Seconds(SteadyClock::now() - begun).count();
}

std::string WatermarkText(model::EventTime watermark) {
  if (watermark == model::EventTime::Min()) return "not begun";
  if (watermark >= model::EventTime::EndOfGlobalWindow()) return "all complete";
  return model::ToString(watermark).substr(0, 16);
}

const engine::StepSnapshot* FindStep(const engine::JobSnapshot& snapshot, std::string_view name) {
  for (const engine::StepSnapshot& step : snapshot.steps) {
    if (step.name == name) return &step;
  }
  return nullptr;
}

bool Busy(const Status& status) { return absl::IsUnavailable(status); }

}  // namespace

Status DemoRun::Run() {
  HB_ASSIGN_OR_RETURN(std::vector<Flight> flights, ReadFlightsCsv(FlightsCsvPath()));
  if (options_.flights > 0 && flights.size() > static_cast<size_t>(options_.flights)) {
    flights.resize(static_cast<size_t>(options_.flights));
  }
  replay_ = std::make_unique<const FlightReplay>(std::move(flights));
  HB_RETURN_IF_ERROR(EmptyDataDir());
  HB_RETURN_IF_ERROR(StartCloud());
  HB_RETURN_IF_ERROR(Prepare());
  HB_RETURN_IF_ERROR(RunJob());
  HB_RETURN_IF_ERROR(Summarise());
  PrintNext();
  if (options_.keep_running) signals_->Wait();
  cloud_->Stop();
  return absl::OkStatus();
}

Status DemoRun::EmptyDataDir() {
  FileSystem& fs = *FileSystem::Posix();
  const Status made = fs.CreateDirectories(options_.data_dir);
  if (!made.ok()) {
    return Status(made.code(), absl::StrCat("data directory '", options_.data_dir,
                                            "' cannot be used: ", made.message(),
                                            "; name another with --data-dir"));
  }
  const StatusOr<std::unique_ptr<FileLock>> lock =
      fs.Lock(absl::StrCat(options_.data_dir, "/lock"));
  if (!lock.ok()) {
    return Status(lock.status().code(),
                  absl::StrCat("data directory '", options_.data_dir,
                               "' cannot be emptied, another hornbeam may use it (",
                               lock.status().message(), "); name another with --data-dir"));
  }
  for (const char* name : kOwnDirectories) {
    std::error_code error;
    const std::string path = absl::StrCat(options_.data_dir, "/", name);
    std::filesystem::remove_all(path, error);
    if (error) return ErrnoStatus(error.value(), absl::StrCat("emptying '", path, "'"));
  }
  return absl::OkStatus();
}

Status DemoRun::StartCloud() {
  StatusOr<std::unique_ptr<LocalCloud>> cloud = LocalCloud::Start({.data_dir = options_.data_dir});
  if (Busy(cloud.status())) {
    std::printf("Some of the usual ports are busy; the demo takes free ones.\n");
    cloud = LocalCloud::Start({.data_dir = options_.data_dir,
                               .pubsub_port = 0,
                               .bigquery_port = 0,
                               .bigquery_grpc_port = 0,
                               .console_port = 0});
  }
  HB_RETURN_IF_ERROR(cloud.status());
  cloud_ = *std::move(cloud);
  if (!options_.ready_file.empty()) {
    HB_RETURN_IF_ERROR(WriteFileAtomically(*FileSystem::Posix(), options_.ready_file,
                                           ToJson(cloud_->endpoints())));
  }
  std::printf("Pub/Sub at %s, BigQuery at %s, data in %s\nWatch it at http://%s\n\n",
              cloud_->endpoints().pubsub.c_str(), cloud_->endpoints().bigquery.c_str(),
              cloud_->data_dir().c_str(), cloud_->endpoints().console.c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

Status DemoRun::Prepare() {
  topic_ = std::make_unique<TopicPublisher>(cloud_->endpoints().pubsub,
                                            TopicName(kTopic, kDefaultProject));
  HB_RETURN_IF_ERROR(topic_->CreateTopic());
  HB_RETURN_IF_ERROR(topic_->CreateSubscription(SubscriptionName(kSubscription, kDefaultProject),
                                                kAckDeadlineSeconds));
  return QueryClient(cloud_->endpoints().bigquery, kDefaultProject)
      .Run(absl::StrCat("CREATE SCHEMA IF NOT EXISTS ", kDataset), 1)
      .status();
}

Status DemoRun::RunJob() {
  Pipeline pipeline({.name = kJobName, .state_dir = absl::StrCat(options_.data_dir, "/state")});
  BuildFlightsPipeline({.subscription = SubscriptionName(kSubscription, kDefaultProject),
                        .dataset = absl::StrCat(kDefaultProject, ".", kDataset),
                        .pubsub_endpoint = cloud_->endpoints().pubsub,
                        .bigquery_rest_endpoint = cloud_->endpoints().bigquery,
                        .bigquery_grpc_endpoint = cloud_->endpoints().bigquery_grpc},
                       &pipeline);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
  Rng rng(RandomSeed());
  HB_RETURN_IF_ERROR(job->Start());
  const console::JobReporter reporter(console::NewJobId(kJobName, Clock::System(), &rng),
                                      console::Reported(job.get()),
                                      console::ReportTo(cloud_->jobs()));
  return Watch(job.get());
}

// Publishes, and shows how far the job is, until it has taken in and acknowledged everything; then
// drains it.
Status DemoRun::Watch(engine::Job* job) {
  const SteadyClock::time_point begun = SteadyClock::now();
  FlightPublisher publisher(replay_.get(), topic_.get(), options_.rate);
  ProgressLine progress;
  int64_t last_read = 0;
  SteadyClock::time_point last_moved = begun;
  for (;;) {
    if (signals_->WaitFor(kTurnMs)) {
      progress.End();
      job->Cancel();
      (void)job->Wait();  // what it failed of is of no interest any more
      return absl::CancelledError(
          "stopped before the end; nothing is lost, and the next run begins anew");
    }
    const engine::JobSnapshot snapshot = job->Snapshot();
    if (console::IsTerminal(snapshot.state)) {
      progress.End();
      HB_RETURN_IF_ERROR(job->Wait());
      return absl::CancelledError("the job was ended from outside before it was through");
    }
    if (publisher.ended()) HB_RETURN_IF_ERROR(publisher.status());
    const console::JobTotals totals = console::Totals(snapshot);
    const engine::StepSnapshot* read = FindStep(snapshot, kReadStep);
    const double seconds = SecondsSince(begun);
    progress.Show(absl::StrFormat(
        "%4.0f s  %s of %s published  %s read  %s/s  watermark %s  %s rows written", seconds,
        Grouped(publisher.published()), Grouped(static_cast<int64_t>(replay_->size())),
        Grouped(totals.elements_read),
        Grouped(static_cast<int64_t>(static_cast<double>(totals.elements_read) /
                                     std::max(0.1, seconds))),
        read == nullptr ? "" : WatermarkText(read->output_watermark),
        Grouped(totals.rows_delivered)));
    if (publisher.ended()) {
      const auto stats = cloud_->pubsub()->Stats();
      const bool all_acknowledged = std::all_of(stats.begin(), stats.end(), [](const auto& s) {
        return s.num_undelivered_messages == 0;
      });
      if (all_acknowledged) break;
    }
    if (totals.elements_read + publisher.published() != last_read) last_moved = SteadyClock::now();
    last_read = totals.elements_read + publisher.published();
    if (SteadyClock::now() - last_moved > kStalled) {
      return absl::DeadlineExceededError(
          absl::StrCat("nothing has moved for ", kStalled.count(),
                       " s; `hornbeam jobs show` and the log above say where it stands"));
    }
  }
  progress.End();
  HB_RETURN_IF_ERROR(FinishJob(job));
  figures_.seconds = SecondsSince(begun);
  return absl::OkStatus();
}

Status DemoRun::FinishJob(engine::Job* job) {
  job->Drain();
  HB_RETURN_IF_ERROR(job->Wait());
  const console::JobTotals totals = console::Totals(job->Snapshot());
  figures_.read = totals.elements_read;
  figures_.failed = totals.failed;
  figures_.dropped_late = totals.dropped_late;
  return absl::OkStatus();
}

StatusOr<int64_t> DemoRun::CountRows(const std::string& sql) {
  HB_ASSIGN_OR_RETURN(const nlohmann::json answer,
                      QueryClient(cloud_->endpoints().bigquery, kDefaultProject).Run(sql, 1));
  const auto& value = answer.at("rows").at(0).at("f").at(0).at("v");
  int64_t count = 0;
  if (value.is_string() && !absl::SimpleAtoi(value.get<std::string>(), &count)) {
    return absl::InternalError(absl::StrCat("no number comes back from: ", sql));
  }
  return count;
}

Status DemoRun::Summarise() {
  HB_ASSIGN_OR_RETURN(const int64_t events, CountRows("SELECT COUNT(*) FROM flights.events"));
  HB_ASSIGN_OR_RETURN(const int64_t dead_letters,
                      CountRows("SELECT COUNT(*) FROM flights.dead_letters"));
  HB_ASSIGN_OR_RETURN(const int64_t hours,
                      CountRows(absl::StrCat("SELECT COUNT(*) FROM (", kNewestHourly, ")")));
  HB_ASSIGN_OR_RETURN(const int64_t hourly_flights,
                      CountRows(absl::StrCat("SELECT SUM(flights) FROM (", kNewestHourly, ")")));
  const auto line = [](const char* what, int64_t n, const std::string& note) {
    std::printf("  %-28s %10s   %s\n", what, Grouped(n).c_str(), note.c_str());
  };
  std::printf("\nIn\n");
  line("messages published", static_cast<int64_t>(replay_->size()), "");
  line("  distinct flights", replay_->distinct(), "");
  line("  sent twice", replay_->duplicates(), "dropped by their event id");
  line("  malformed", replay_->malformed(), "kept as dead letters");
  std::printf("Out\n");
  line("rows in flights.events", events, "one per flight");
  line("rows in flights.dead_letters", dead_letters, "with the error and the message");
  line("hours in flights.hourly", hours,
       absl::StrCat("by airport, of ", Grouped(hourly_flights), " flights"));
  HB_RETURN_IF_ERROR(Reconcile(events, dead_letters, hourly_flights));
  std::printf("Every message is accounted for: %s = %s + %s + %s.\n\n",
              Grouped(static_cast<int64_t>(replay_->size())).c_str(), Grouped(events).c_str(),
              Grouped(replay_->duplicates()).c_str(), Grouped(dead_letters).c_str());
  HB_RETURN_IF_ERROR(PrintTable(
      "New York's departures, by airport",
      absl::StrCat("SELECT origin, SUM(flights) AS flights, SUM(cancelled) AS cancelled, "
                   "SUM(delayed) AS delayed, "
                   "ROUND(100 * SUM(delayed) / SUM(flights - cancelled), 1) AS delayed_percent, "
                   "MAX(max_delay_min) AS longest_delay_min FROM (",
                   kNewestHourly, ") GROUP BY origin ORDER BY origin")));
  HB_RETURN_IF_ERROR(PrintTable(
      "The worst hours",
      absl::StrCat("SELECT origin, FORMAT_TIMESTAMP('%Y-%m-%d %H:%M', hour) AS hour, flights, "
                   "cancelled, delayed, "
                   "ROUND(mean_delay_min, 1) AS mean_delay_min FROM (",
                   kNewestHourly,
                   ") WHERE flights >= 10 ORDER BY mean_delay_min DESC, origin, hour LIMIT 5")));
  std::printf(
      "%.1f s, %s messages/s, each one durable in Pub/Sub, in the job's log and in BigQuery.\n",
      figures_.seconds,
      Grouped(static_cast<int64_t>(static_cast<double>(replay_->size()) / figures_.seconds))
          .c_str());
  return absl::OkStatus();
}

Status DemoRun::Reconcile(int64_t events, int64_t dead_letters, int64_t hourly_flights) {
  const auto check = [](const char* what, int64_t is, int64_t should_be) {
    return is == should_be ? absl::OkStatus()
                           : absl::InternalError(absl::StrCat("the counts do not reconcile: ", what,
                                                              " is ", is, " and should be ",
                                                              should_be, "; please report this"));
  };
  HB_RETURN_IF_ERROR(check("the number of rows in flights.events", events, replay_->distinct()));
  HB_RETURN_IF_ERROR(
      check("the number of rows in flights.dead_letters", dead_letters, replay_->malformed()));
  HB_RETURN_IF_ERROR(
      check("the sum of flights in flights.hourly", hourly_flights, replay_->distinct()));
  HB_RETURN_IF_ERROR(
      check("what the source gave out", figures_.read, replay_->distinct() + replay_->malformed()));
  HB_RETURN_IF_ERROR(check("the number of failed elements", figures_.failed, replay_->malformed()));
  return check("the number of elements dropped as late", figures_.dropped_late, 0);
}

Status DemoRun::PrintTable(const std::string& title, const std::string& sql) {
  HB_ASSIGN_OR_RETURN(const nlohmann::json answer,
                      QueryClient(cloud_->endpoints().bigquery, kDefaultProject).Run(sql, 100));
  std::printf("%s\n%s\n", title.c_str(), ResultTable(answer).c_str());
  return absl::OkStatus();
}

void DemoRun::PrintNext() {
  const std::string where = absl::StrCat(" --data-dir ", options_.data_dir);
  std::printf("\nThe tables are in %s.\n", options_.data_dir.c_str());
  if (options_.keep_running) {
    std::printf("The services stay up until Ctrl-C. The console: http://%s. In another terminal:\n",
                cloud_->endpoints().console.c_str());
  } else {
    std::printf(
        "To look around, start the services on them, and ask in another terminal:\n  hornbeam "
        "up%s\n",
        where.c_str());
  }
  std::printf(
      "  hornbeam query%s \"SELECT * FROM flights.dead_letters LIMIT 5\"\n"
      "  hornbeam query%s \"SELECT carrier, COUNT(*) AS flights FROM flights.events GROUP BY "
      "carrier ORDER BY flights DESC\"\n"
      "  hornbeam jobs list%s\n",
      where.c_str(), where.c_str(), where.c_str());
  std::fflush(stdout);
}

}  // namespace hornbeam::cli
