#include "cli/up/local_cloud.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/query_client.h"
#include "cli/topic_publisher.h"

namespace hornbeam::cli {
namespace {

class LocalCloudTest : public testing::Test {
 protected:
  static LocalCloudOptions AnyPorts(const std::string& name) {
    return {.data_dir = absl::StrCat(testing::TempDir(), "/", name, "-", getpid()),
            .pubsub_port = 0,
            .bigquery_port = 0,
            .bigquery_grpc_port = 0,
            .console_port = 0};
  }
  static int PortOf(const std::string& endpoint) {
    return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  }
};

TEST_F(LocalCloudTest, AnswersAndKeepsItsDataOverARestart) {
  const LocalCloudOptions options = AnyPorts("restart");
  {
    auto cloud = LocalCloud::Start(options);
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    const auto found = FindEndpoints(*FileSystem::Posix(), options.data_dir);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->console, (*cloud)->endpoints().console);

    TopicPublisher topic((*cloud)->endpoints().pubsub, TopicName("greetings", kDefaultProject));
    ASSERT_TRUE(topic.CreateTopic().ok());
    google::pubsub::v1::PublishRequest request;
    request.add_messages()->set_data("hello");
    EXPECT_EQ(topic.Publish(&request)->size(), 1u);
    const QueryClient query((*cloud)->endpoints().bigquery, kDefaultProject);
    ASSERT_TRUE(query.Run("CREATE SCHEMA s", 1).ok());
    ASSERT_TRUE(query.Run("CREATE TABLE s.t AS SELECT 7 AS n", 1).ok());
  }
  EXPECT_FALSE(FileSystem::Posix()->Exists(EndpointsFile(options.data_dir)));
  auto cloud = LocalCloud::Start(options);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  const auto rows =
      QueryClient((*cloud)->endpoints().bigquery, kDefaultProject).Run("SELECT n FROM s.t", 1);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->at("rows").at(0).at("f").at(0).at("v"), "7");
}

TEST_F(LocalCloudTest, SaysWhatIsWrongAndWhatToDo) {
  auto cloud = LocalCloud::Start(AnyPorts("first"));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  const auto message = [](const LocalCloudOptions& options) {
    return std::string(LocalCloud::Start(options).status().message());
  };

  const std::string same_directory = message(AnyPorts("first"));
  EXPECT_TRUE(absl::StrContains(same_directory, "is in use by another hornbeam")) << same_directory;

  LocalCloudOptions pubsub = AnyPorts("second");
  pubsub.pubsub_port = PortOf((*cloud)->endpoints().pubsub);
  EXPECT_TRUE(absl::StrContains(message(pubsub), "--pubsub-port")) << message(pubsub);
  LocalCloudOptions bigquery = AnyPorts("second");
  bigquery.bigquery_port = PortOf((*cloud)->endpoints().bigquery);
  EXPECT_TRUE(absl::StrContains(message(bigquery), "--bigquery-port")) << message(bigquery);
  LocalCloudOptions console = AnyPorts("second");
  console.console_port = PortOf((*cloud)->endpoints().console);
  EXPECT_TRUE(absl::StrContains(message(console), "--console-port")) << message(console);

  LocalCloudOptions no_directory = AnyPorts("third");
  no_directory.data_dir = "/proc/hornbeam";
  EXPECT_TRUE(absl::StrContains(message(no_directory), "--data-dir")) << message(no_directory);
}

TEST_F(LocalCloudTest, EndpointsComeBackFromJson) {
  const Endpoints endpoints{.pubsub = "h:1",
                            .bigquery = "h:2",
                            .bigquery_grpc = "h:3",
                            .storage = "",
                            .jobs = "",
                            .console = "h:4"};
  const std::string text = ToJson(endpoints);
  EXPECT_EQ(nlohmann::json::parse(text).at("storage"), nullptr);
  EXPECT_EQ(nlohmann::json::parse(text).at("bigquery-grpc"), "h:3");
  EXPECT_EQ(ToJson(*EndpointsFromJson(text)), text);
  EXPECT_FALSE(EndpointsFromJson("[]").ok());
  EXPECT_FALSE(EndpointsFromJson("{\"pubsub\": 1}").ok());
}

}  // namespace
}  // namespace hornbeam::cli
