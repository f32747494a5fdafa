#include "services/pubsub/core/resource_name.h"

#include <string>

#include "gtest/gtest.h"
#include "services/pubsub/core/errors.h"

namespace hornbeam::services::pubsub {
namespace {

TEST(ResourceNameTest, Topics) {
  EXPECT_TRUE(CheckTopicName("projects/p/topics/abc").ok());
  EXPECT_TRUE(CheckTopicName("projects/my-project:x.y/topics/a-_.~+%9").ok());
  EXPECT_TRUE(CheckTopicName("projects/p/topics/" + std::string(255, 'a')).ok());
  for (const std::string name :
       {"", "abc", "projects/p/topics/", "projects/p/topics/ab", "projects/p/topics/1abc",
        "projects/p/topics/google-x", "projects/p/topics/a b c", "projects//topics/abc",
        "projects/p/subscriptions/abc", "projects/p/topics/abc/d", "_deleted-topic_"}) {
    EXPECT_EQ(CheckTopicName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckTopicName("projects/p/topics/" + std::string(256, 'a')).ok());
}

TEST(ResourceNameTest, SubscriptionsAndProjects) {
  EXPECT_TRUE(CheckSubscriptionName("projects/p/subscriptions/abc").ok());
  EXPECT_FALSE(CheckSubscriptionName("projects/p/topics/abc").ok());
  EXPECT_TRUE(CheckProjectName("projects/p").ok());
  EXPECT_FALSE(CheckProjectName("projects/p/topics/abc").ok());
  EXPECT_FALSE(CheckProjectName("p").ok());
}

TEST(ResourceNameTest, ErrorsFitIntoHeadersOfGrpc) {
  const std::string name(5'000'000, 'x');
  for (const Status& status : {CheckTopicName(name), InvalidAckId(name)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(status.message().size(), 2000u);
    EXPECT_NE(status.message().find("... (5000000 bytes)"), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace hornbeam::services::pubsub
