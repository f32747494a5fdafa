// The rules without gRPC, on a disk in memory and with tiny segments.
#include "services/pubsub/core/broker.h"

#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

using ::testing::SizeIs;

constexpr char kTopic[] = "projects/p/topics/topic";
constexpr char kSubscription[] = "projects/p/subscriptions/subscription";

class AwaitedPublish final : public PendingPublish {
 public:
  explicit AwaitedPublish(std::promise<Status>* done) : done_(done) {}
  void Done(const Status& status, uint64_t) override { done_->set_value(status); }

 private:
  std::promise<Status>* const done_;
};

class BrokerTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    broker_ = nullptr;
    BrokerOptions options;
    options.data_dir = "data";
    options.fs = &fs_;
    options.clock = &clock_;
    options.seed = 1;
    options.log = {
        .segment_bytes = 4000, .block_bytes = 1000, .index_bytes = 500, .cache_bytes = 1};
    StatusOr<std::unique_ptr<Broker>> broker = Broker::Open(options);
    ASSERT_TRUE(broker.ok()) << broker.status();
    broker_ = *std::move(broker);
  }
  void CreateTopic() {
    google::pubsub::v1::Topic topic;
    topic.set_name(kTopic);
    ASSERT_TRUE(broker_->CreateTopic(topic).ok());
  }
  void CreateSubscription(const std::string& name) {
    google::pubsub::v1::Subscription subscription;
    subscription.set_name(name);
    subscription.set_topic(kTopic);
    ASSERT_TRUE(broker_->CreateSubscription(subscription).ok());
  }
  Status Publish(const std::vector<std::string>& bodies) {
    std::promise<Status> done;
    auto publish = std::make_unique<AwaitedPublish>(&done);
    for (const std::string& body : bodies) PutBytes(&publish->messages.payload, body);
    publish->messages.count = static_cast<uint32_t>(bodies.size());
    broker_->Publish(*broker_->FindTopic(kTopic), std::move(publish));
    return done.get_future().get();
  }
  std::shared_ptr<Subscription> Find(const std::string& name) {
    return *broker_->FindSubscription(name);
  }
  // Takes all that there is.
  std::vector<Delivery::Message> TakeAll(const std::string& name,
                                         std::vector<std::string>* bodies) {
    std::vector<Delivery::Message> all;
    while (true) {
      StatusOr<Delivery> delivery = Find(name)->Take(0, 1000, 0, nullptr);
      EXPECT_TRUE(delivery.ok()) << delivery.status();
      if (!delivery.ok() || delivery->messages.empty()) return all;
      for (const Delivery::Message& m : delivery->messages) {
        all.push_back(m);
        bodies->emplace_back(m.stored.body);
      }
    }
  }
  // Acknowledges, and waits until that is on disk.
  void AckDurably(const std::string& name, const std::vector<Delivery::Message>& messages) {
    std::vector<std::string> ids(messages.size(), std::string(kAckIdChars, '\0'));
    std::vector<const std::string*> pointers;
    for (size_t i = 0; i < messages.size(); ++i) {
      EncodeAckId(messages[i].ack_id, ids[i].data());
      pointers.push_back(&ids[i]);
    }
    google::pubsub::v1::Subscription config = Find(name)->config();
    config.set_enable_exactly_once_delivery(true);  // so that Done comes after the disk
    Find(name)->set_config(config);
    std::promise<Status> done;
    Find(name)->Ack(pointers, [&](const Status& status, const Subscription::AckResult& result) {
      EXPECT_TRUE(result.refused.empty());
      done.set_value(status);
    });
    EXPECT_TRUE(done.get_future().get().ok());
  }
  void RemoveAll() {
    fs_.Remove("data/CATALOG").IgnoreError();
    for (const std::string folder : {"data/subscriptions", "data/topics"}) {
      const auto names = fs_.List(folder);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        const std::string path = folder + "/" + name;
        if (const auto files = fs_.List(path); files.ok()) {
          for (const std::string& file : *files) fs_.Remove(path + "/" + file).IgnoreError();
        }
        fs_.Remove(path).IgnoreError();
      }
      const auto left = fs_.List(folder);
      ASSERT_TRUE(!left.ok() || left->empty()) << folder;
    }
  }
  size_t Segments() { return fs_.List("data/topics/0000000001")->size(); }

  MemoryFileSystem fs_;
  ManualClock clock_{1'000'000'000'000};
  std::unique_ptr<Broker> broker_;
};

TEST_F(BrokerTest, SegmentsGoWhenAllSubscriptionsAreDone) {
  CreateTopic();
  CreateSubscription(kSubscription);
  CreateSubscription("projects/p/subscriptions/slow");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Publish(std::vector<std::string>(10, std::string(50, 'x'))).ok());
  }
  const size_t full = Segments();
  EXPECT_GT(full, 10u);
  std::vector<std::string> bodies;
  const auto quick = TakeAll(kSubscription, &bodies);
  ASSERT_THAT(quick, SizeIs(1000));
  AckDurably(kSubscription, quick);
  EXPECT_EQ(Segments(), full) << "the other still needs them";
  const auto slow = TakeAll("projects/p/subscriptions/slow", &bodies);
  ASSERT_THAT(slow, SizeIs(1000));
  AckDurably("projects/p/subscriptions/slow", {slow.begin(), slow.begin() + 500});
  broker_->Shutdown();
  const size_t half = Segments();
  EXPECT_LT(half, full);
  EXPECT_GT(half, 1u);
  Open();
  bodies.clear();
  EXPECT_THAT(TakeAll("projects/p/subscriptions/slow", &bodies), SizeIs(500));
  EXPECT_THAT(TakeAll(kSubscription, &bodies), SizeIs(0));
}

TEST_F(BrokerTest, ATopicThatNobodyReadsDoesNotGrow) {
  CreateTopic();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Publish(std::vector<std::string>(10, std::string(50, 'x'))).ok());
  }
  broker_->Shutdown();
  EXPECT_EQ(Segments(), 1u);
}

TEST_F(BrokerTest, AfterShutdownEverythingIsRefusedAtOnce) {
  CreateTopic();
  CreateSubscription(kSubscription);
  const auto topic = *broker_->FindTopic(kTopic);
  const auto subscription = Find(kSubscription);
  broker_->Shutdown();
  EXPECT_EQ(Publish({"late"}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(subscription->Take(0, 1, 0, nullptr).status().code(), absl::StatusCode::kUnavailable);
  google::pubsub::v1::Topic another;
  another.set_name("projects/p/topics/another");
  EXPECT_EQ(broker_->CreateTopic(another).status().code(), absl::StatusCode::kUnavailable);
}

// Publishes, acks, faults and power cuts at random: what Publish returned for is delivered until it
// is acknowledged, and what was acknowledged durably never again.
TEST_F(BrokerTest, KeepsItsPromisesWhateverFails) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    broker_ = nullptr;
    fs_.DropUnsynced();
    RemoveAll();
    Open();
    CreateTopic();
    CreateSubscription(kSubscription);
    std::set<std::string> published;  // returned, not acknowledged
    std::set<std::string> attempted;  // any
    std::set<std::string> gone;       // durably acknowledged
    int next = 0;
    for (int life = 0; life < 4; ++life) {
      for (int step = 0; step < 15; ++step) {
        if (rng.OneIn(5)) {
          fs_.FailNth(rng.OneIn(2) ? FileOperation::kSync : FileOperation::kAppend,
                      1 + rng.Below(2), absl::InternalError("injected"));
        }
        std::vector<std::string> bodies;
        for (uint64_t n = 1 + rng.Below(30); n > 0; --n)
          bodies.push_back("m" + std::to_string(next++));
        attempted.insert(bodies.begin(), bodies.end());
        if (Publish(bodies).ok()) published.insert(bodies.begin(), bodies.end());
        fs_.ClearFaults();
        if (rng.OneIn(3)) {
          StatusOr<Delivery> delivery =
              Find(kSubscription)->Take(0, 1 + rng.Below(100), 0, nullptr);
          ASSERT_TRUE(delivery.ok()) << delivery.status();
          if (delivery->messages.empty()) continue;
          std::vector<Delivery::Message> acked;
          for (const Delivery::Message& m : delivery->messages) {
            const std::string body(m.stored.body);
            ASSERT_TRUE(attempted.contains(body)) << body;
            ASSERT_FALSE(gone.contains(body)) << body << " came back";
            if (rng.OneIn(2)) acked.push_back(m);
          }
          if (acked.empty()) continue;
          AckDurably(kSubscription, acked);
          for (const Delivery::Message& m : acked) {
            gone.insert(std::string(m.stored.body));
            published.erase(std::string(m.stored.body));
          }
        }
      }
      if (rng.OneIn(2)) {
        fs_.DropUnsynced();
      } else {
        fs_.DropUnsynced(&rng);
      }
      Open();
    }
    std::vector<std::string> left;
    TakeAll(kSubscription, &left);
    const std::set<std::string> unique(left.begin(), left.end());
    EXPECT_EQ(unique.size(), left.size());
    for (const std::string& body : published)
      EXPECT_TRUE(unique.contains(body)) << body << " is lost";
    for (const std::string& body : left) EXPECT_FALSE(gone.contains(body)) << body << " came back";
  }
}

}  // namespace
}  // namespace hornbeam::services::pubsub
