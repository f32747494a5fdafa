// Both connectors in one pipeline, against the local services over their own wires.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http_server.h"
#include "engine/job/job.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/bigquery_io.h"
#include "hornbeam/io/pubsub_io.h"
#include "services/bigquery/bigquery_service.h"
#include "services/pubsub/pubsub_service.h"

namespace hornbeam {
namespace {

using google::pubsub::v1::Publisher;
using google::pubsub::v1::Subscriber;
using nlohmann::json;

constexpr char kTopic[] = "projects/p/topics/events";
constexpr char kSubscription[] = "projects/p/subscriptions/events";

class LocalServicesTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / absl::StrCat("connectors_test_", getpid());
    std::filesystem::remove_all(dir_);
    auto pubsub = services::pubsub::PubSubService::Open({.data_dir = (dir_ / "pubsub").string()});
    ASSERT_TRUE(pubsub.ok()) << pubsub.status();
    pubsub_ = *std::move(pubsub);
    auto bigquery =
        services::bigquery::BigQueryService::Open({.data_dir = (dir_ / "bigquery").string()});
    ASSERT_TRUE(bigquery.ok()) << bigquery.status();
    bigquery_ = *std::move(bigquery);
    bigquery_->RegisterRoutes(&http_);
    ASSERT_TRUE(http_.Start(0).ok());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &grpc_port_);
    builder.SetMaxReceiveMessageSize(32 << 20);
    for (grpc::Service* each : pubsub_->GrpcServices()) builder.RegisterService(each);
    for (grpc::Service* each : bigquery_->GrpcServices()) builder.RegisterService(each);
    server_ = builder.BuildAndStart();
    const auto channel = server_->InProcessChannel({});
    publisher_ = Publisher::NewStub(channel);
    Post("/projects/p/datasets", {{"datasetReference", {{"projectId", "p"}, {"datasetId", "d"}}}});
    google::pubsub::v1::Topic topic;
    topic.set_name(kTopic);
    grpc::ClientContext topic_context;
    ASSERT_TRUE(publisher_->CreateTopic(&topic_context, topic, &topic).ok());
    google::pubsub::v1::Subscription subscription;
    subscription.set_name(kSubscription);
    subscription.set_topic(kTopic);
    grpc::ClientContext subscription_context;
    ASSERT_TRUE(Subscriber::NewStub(channel)
                    ->CreateSubscription(&subscription_context, subscription, &subscription)
                    .ok());
  }
  void TearDown() override {
    publisher_.reset();
    pubsub_->Shutdown();
    server_->Shutdown();
    http_.Stop();
    bigquery_.reset();
    pubsub_.reset();
    std::filesystem::remove_all(dir_);
  }

  void Post(const std::string& path, const json& body) {
    httplib::Client client("127.0.0.1", http_.port());
    const auto result = client.Post("/bigquery/v2" + path, body.dump(), "application/json");
    ASSERT_TRUE(result && result->status == 200) << (result ? result->body : "no answer");
  }
  // The first column of every row.
  std::vector<std::string> Column(const std::string& table) {
    httplib::Client client("127.0.0.1", http_.port());
    const auto result = client.Get(absl::StrCat("/bigquery/v2/projects/p/datasets/d/tables/", table,
                                                "/data?maxResults=10000"));
    std::vector<std::string> values;
    if (!result || result->status != 200) return values;
    const json answer = json::parse(result->body);
    for (const json& row : answer.value("rows", json::array())) {
      values.push_back(row["f"][0]["v"].get<std::string>());
    }
    return values;
  }
  bool WaitForRows(const std::string& table, size_t count) {
    for (int i = 0; i < 1500 && Column(table).size() < count; ++i) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(20));  // another process would ask as well
    }
    return Column(table).size() >= count;
  }
  void Publish(const std::vector<std::pair<std::string, std::map<std::string, std::string>>>& all) {
    google::pubsub::v1::PublishRequest request;
    request.set_topic(kTopic);
    for (const auto& [data, attributes] : all) {
      auto* const message = request.add_messages();
      message->set_data(data);
      for (const auto& [name, value] : attributes) (*message->mutable_attributes())[name] = value;
    }
    google::pubsub::v1::PublishResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(publisher_->Publish(&context, request, &response).ok());
  }

  io::BigQueryWriteOptions Table(const std::string& name, io::TableSchema schema) const {
    io::BigQueryWriteOptions options;
    options.table = absl::StrCat("p.d.", name);
    options.schema = std::move(schema);
    options.grpc_endpoint = absl::StrCat("127.0.0.1:", grpc_port_);
    options.rest_endpoint = absl::StrCat("127.0.0.1:", http_.port());
    return options;
  }
  StatusOr<std::unique_ptr<engine::Job>> MakeJob() {
    PipelineOptions options;
    options.name = "copy";
    options.state_dir = (dir_ / "job").string();
    options.workers = 2;
    pipeline_ = std::make_unique<Pipeline>(options);
    io::PubsubReadOptions read;
    read.subscription = kSubscription;
    read.endpoint = absl::StrCat("127.0.0.1:", grpc_port_);
    read.id_attribute = "id";
    read.timestamp_attribute = "ts";
    const auto messages = *pipeline_ | "Read" >> io::ReadFromPubsub(read).WithDeadLetters();
    using io::ColumnMode;
    using io::ColumnType;
    auto raw = Table("raw", {{{"id", ColumnType::kString, ColumnMode::kRequired},
                              {"n", ColumnType::kInt64},
                              {"at", ColumnType::kTimestamp},
                              {"day", ColumnType::kDate}}});
    raw.partition_column = "day";
    raw.clustering_columns = {"id"};
    const auto written = messages.messages |
                         "Raw" >> io::WriteToBigQuery<io::PubsubMessage>(
                                      raw, [](const io::PubsubMessage& message,
                                              const io::RowContext& context, io::RowWriter& row) {
                                        row.Set("id", *message.Attribute("id"));
                                        row.Set("n", std::stoll(message.data));
                                        row.Set("at", context.timestamp);
                                        row.Set("day", context.timestamp);
                                      });
    written.failed_rows() |
        "Failed" >>
            io::WriteToBigQuery<io::FailedRow>(
                Table("failed", {{{"row", ColumnType::kString}, {"error", ColumnType::kString}}}),
                [](const io::FailedRow& failed, io::RowWriter& row) {
                  row.Set("row", failed.row);
                  row.Set("error", failed.error);
                });
    messages.dead_letters | "Dead" >> io::WriteToBigQuery<io::PubsubMessage>(
                                          Table("dead", {{{"data", ColumnType::kString}}}),
                                          [](const io::PubsubMessage& message, io::RowWriter& row) {
                                            row.Set("data", message.data);
                                          });
    return pipeline_->MakeJob();
  }

  std::filesystem::path dir_;
  std::unique_ptr<services::pubsub::PubSubService> pubsub_;
  std::unique_ptr<services::bigquery::BigQueryService> bigquery_;
  HttpServer http_;
  int grpc_port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Publisher::Stub> publisher_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(LocalServicesTest, EachMessageIsInItsTableOnceAcrossRunsOfTheJob) {
  constexpr int kRuns = 3;
  constexpr int kPerRun = 400;
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(run);
    StatusOr<std::unique_ptr<engine::Job>> job = MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    const Status started = (*job)->Start();
    ASSERT_TRUE(started.ok()) << started;
    for (int i = 0; i < kPerRun; ++i) {
      const std::string id = absl::StrCat(run, ".", i);
      const std::map<std::string, std::string> attributes = {{"id", id},
                                                             {"ts", "2013-01-01T05:00:00Z"}};
      Publish({{absl::StrCat(i), attributes}});
      if (i % 10 == 0) Publish({{absl::StrCat(i), attributes}});
    }
    Publish({{"not a number", {{"id", absl::StrCat(run, ".bad")}, {"ts", "0"}}}});
    Publish({{absl::StrCat("late", run), {{"id", absl::StrCat(run, ".dead")}, {"ts", "noon"}}}});
    if (run + 1 < kRuns) {
      // Somewhere on the way; what was not sealed comes again in the next run.
      ASSERT_TRUE(WaitForRows("raw", static_cast<size_t>(run * kPerRun + kPerRun / 2)));
      (*job)->Cancel();
    } else {
      ASSERT_TRUE(WaitForRows("raw", kRuns * kPerRun));
      ASSERT_TRUE(WaitForRows("dead", kRuns));
      ASSERT_TRUE(WaitForRows("failed", kRuns));
      (*job)->Drain();
    }
    const Status ended = (*job)->Wait();
    ASSERT_TRUE(ended.ok()) << ended;
  }
  std::vector<std::string> ids = Column("raw");
  EXPECT_EQ(ids.size(), static_cast<size_t>(kRuns * kPerRun));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_THAT(Column("dead"), testing::UnorderedElementsAre("late0", "late1", "late2"));
  EXPECT_THAT(Column("failed"), testing::UnorderedElementsAre(
                                    R"({"id":"0.bad"})", R"({"id":"1.bad"})", R"({"id":"2.bad"})"));
}

TEST_F(LocalServicesTest, AMissingDatasetFailsTheStartWithASentence) {
  PipelineOptions options;
  options.workers = 1;
  Pipeline pipeline(options);
  auto table = Table("t", {{{"v", io::ColumnType::kInt64}}});
  table.table = "p.nowhere.t";
  pipeline | "Make" >> Create<int64_t>(std::vector<int64_t>{1}) |
      "Write" >> io::WriteToBigQuery<int64_t>(
                     table, [](const int64_t& v, io::RowWriter& row) { row.Set("v", v); });
  const Status status = pipeline.Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("dataset p.nowhere does not exist"));
}

}  // namespace
}  // namespace hornbeam
