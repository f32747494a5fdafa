// The service over gRPC in process, on a disk in memory and under a clock that the test moves.
#include "services/pubsub/pubsub_service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_file_system.h"
#include "gmock/gmock.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

namespace pb = google::pubsub::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTopic[] = "projects/p/topics/topic";
constexpr char kSubscription[] = "projects/p/subscriptions/subscription";

class PubSubServiceTest : public testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { Stop(); }

  Status TryStart() {
    PubSubOptions options;
    options.data_dir = "data";
    options.fs = &fs_;
    options.clock = &clock_;
    HB_ASSIGN_OR_RETURN(service_, PubSubService::Open(options));
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
    for (grpc::Service* service : service_->GrpcServices()) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(kMaxReceiveBytes);
    channel_ = server_->InProcessChannel(args);
    publisher_ = pb::Publisher::NewStub(channel_);
    subscriber_ = pb::Subscriber::NewStub(channel_);
    return absl::OkStatus();
  }
  void Start() {
    const Status status = TryStart();
    ASSERT_TRUE(status.ok()) << status;
  }
  void Stop() {
    if (service_ != nullptr) service_->Shutdown();
    if (server_ != nullptr) server_->Shutdown();
    server_ = nullptr;
    service_ = nullptr;
  }
  // As when the machine loses its power: what was not synced is gone, and the process ends without
  // a word.
  void PowerCut() {
    fs_.DropUnsynced();
    Stop();
    Start();
  }

  grpc::Status CreateTopic(const std::string& name,
                           const std::function<void(pb::Topic*)>& edit = {}) {
    grpc::ClientContext context;
    pb::Topic topic;
    topic.set_name(name);
    if (edit) edit(&topic);
    return publisher_->CreateTopic(&context, topic, &topic);
  }
  grpc::Status CreateSubscription(const std::string& name, const std::string& topic,
                                  const std::function<void(pb::Subscription*)>& edit = {}) {
    grpc::ClientContext context;
    pb::Subscription subscription;
    subscription.set_name(name);
    subscription.set_topic(topic);
    if (edit) edit(&subscription);
    return subscriber_->CreateSubscription(&context, subscription, &subscription);
  }
  void CreateBoth(const std::function<void(pb::Subscription*)>& edit = {}) {
    ASSERT_TRUE(CreateTopic(kTopic).ok());
    const grpc::Status status = CreateSubscription(kSubscription, kTopic, edit);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  grpc::Status Publish(const pb::PublishRequest& request, pb::PublishResponse* response) {
    grpc::ClientContext context;
    return publisher_->Publish(&context, request, response);
  }
  std::vector<std::string> Publish(const std::vector<std::string>& data,
                                   const std::string& topic = kTopic) {
    pb::PublishRequest request;
    request.set_topic(topic);
    for (const std::string& d : data) request.add_messages()->set_data(d);
    pb::PublishResponse response;
    const grpc::Status status = Publish(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.message_ids().begin(), response.message_ids().end()};
  }
  // Waits until there is at least one message.
  std::vector<pb::ReceivedMessage> Pull(int max = 1000, bool wait = true,
                                        const std::string& subscription = kSubscription) {
    grpc::ClientContext context;
    pb::PullRequest request;
    request.set_subscription(subscription);
    request.set_max_messages(max);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    request.set_return_immediately(!wait);
#pragma GCC diagnostic pop
    pb::PullResponse response;
    const grpc::Status status = subscriber_->Pull(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.received_messages().begin(), response.received_messages().end()};
  }
  grpc::Status Ack(const std::vector<std::string>& ids) {
    grpc::ClientContext context;
    pb::AcknowledgeRequest request;
    request.set_subscription(kSubscription);
    for (const std::string& id : ids) request.add_ack_ids(id);
    google::protobuf::Empty response;
    return subscriber_->Acknowledge(&context, request, &response);
  }
  grpc::Status ModifyDeadline(const std::vector<std::string>& ids, int seconds) {
    grpc::ClientContext context;
    pb::ModifyAckDeadlineRequest request;
    request.set_subscription(kSubscription);
    request.set_ack_deadline_seconds(seconds);
    for (const std::string& id : ids) request.add_ack_ids(id);
    google::protobuf::Empty response;
    return subscriber_->ModifyAckDeadline(&context, request, &response);
  }
  void AdvanceSeconds(int64_t s) { clock_.AdvanceMicros(s * 1'000'000); }

  // A StreamingPull that a test reads step by step.
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<pb::StreamingPullRequest, pb::StreamingPullResponse>>
        rpc;
    pb::StreamingPullResponse first;

    // The next response with messages.
    std::vector<pb::ReceivedMessage> Next() {
      // The first response may have brought some along.
      pb::StreamingPullResponse response = std::exchange(first, {});
      do {
        if (response.received_messages_size() > 0) {
          return {response.received_messages().begin(), response.received_messages().end()};
        }
      } while (rpc->Read(&response));
      return {};
    }
    void Ack(const std::vector<pb::ReceivedMessage>& messages) {
      pb::StreamingPullRequest request;
      for (const pb::ReceivedMessage& m : messages) request.add_ack_ids(m.ack_id());
      rpc->Write(request);
    }
    grpc::Status End() {
      pb::StreamingPullResponse response;
      while (rpc->Read(&response)) {
      }
      return rpc->Finish();
    }
  };
  std::unique_ptr<Stream> OpenStream(
      const std::function<void(pb::StreamingPullRequest*)>& edit = {}) {
    auto stream = std::make_unique<Stream>();
    stream->rpc = subscriber_->StreamingPull(&stream->context);
    pb::StreamingPullRequest request;
    request.set_subscription(kSubscription);
    request.set_stream_ack_deadline_seconds(10);
    if (edit) edit(&request);
    EXPECT_TRUE(stream->rpc->Write(request));
    EXPECT_TRUE(stream->rpc->Read(&stream->first));
    return stream;
  }

  MemoryFileSystem fs_;
  ManualClock clock_{1'700'000'000'000'000};
  std::unique_ptr<PubSubService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::Publisher::Stub> publisher_;
  std::unique_ptr<pb::Subscriber::Stub> subscriber_;
};

std::vector<std::string> Data(const std::vector<pb::ReceivedMessage>& messages) {
  std::vector<std::string> data;
  for (const pb::ReceivedMessage& m : messages) data.push_back(m.message().data());
  return data;
}
std::vector<std::string> AckIds(const std::vector<pb::ReceivedMessage>& messages) {
  std::vector<std::string> ids;
  for (const pb::ReceivedMessage& m : messages) ids.push_back(m.ack_id());
  return ids;
}

TEST_F(PubSubServiceTest, AMessageArrivesWholeAndOnce) {
  CreateBoth();
  pb::PublishRequest request;
  request.set_topic(kTopic);
  pb::PubsubMessage* message = request.add_messages();
  message->set_data(std::string("\0data", 5));
  (*message->mutable_attributes())["key"] = "value";
  message->set_ordering_key("order");
  message->set_message_id("not for the client to give");
  pb::PublishResponse published;
  ASSERT_TRUE(Publish(request, &published).ok());
  const auto received = Pull();
  ASSERT_THAT(received, SizeIs(1));
  const pb::PubsubMessage& m = received[0].message();
  EXPECT_EQ(m.data(), std::string("\0data", 5));
  EXPECT_EQ(m.attributes().at("key"), "value");
  EXPECT_EQ(m.ordering_key(), "order");
  EXPECT_EQ(m.message_id(), published.message_ids(0));
  EXPECT_EQ(m.publish_time().seconds(), 1'700'000'000);
  EXPECT_EQ(received[0].delivery_attempt(), 0);
  EXPECT_THAT(Pull(10, false), IsEmpty()) << "it is leased";
  EXPECT_TRUE(Ack(AckIds(received)).ok());
  AdvanceSeconds(3600);
  EXPECT_THAT(Pull(10, false), IsEmpty());
}

TEST_F(PubSubServiceTest, AnUnackedMessageComesBackAfterItsDeadline) {
  CreateBoth();
  Publish({"a", "b"});
  const auto first = Pull();
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_TRUE(ModifyDeadline({first[1].ack_id()}, 60).ok());
  AdvanceSeconds(11);
  const auto second = Pull();
  EXPECT_THAT(Data(second), ElementsAre("a"));
  EXPECT_NE(second[0].ack_id(), first[0].ack_id());
  EXPECT_TRUE(Ack({first[0].ack_id(), first[1].ack_id()}).ok()) << "late acks count";
  AdvanceSeconds(3600);
  EXPECT_THAT(Pull(10, false), IsEmpty());
}

TEST_F(PubSubServiceTest, ANackBringsTheMessageBackAtOnce) {
  CreateBoth();
  Publish({"a"});
  const auto first = Pull();
  EXPECT_TRUE(ModifyDeadline(AckIds(first), 0).ok());
  EXPECT_THAT(Data(Pull()), ElementsAre("a"));
}

TEST_F(PubSubServiceTest, OnlyWhatIsPublishedAfterTheSubscriptionArrives) {
  ASSERT_TRUE(CreateTopic(kTopic).ok());
  Publish({"before"});
  ASSERT_TRUE(CreateSubscription(kSubscription, kTopic).ok());
  Publish({"after"});
  EXPECT_THAT(Data(Pull()), ElementsAre("after"));
}

TEST_F(PubSubServiceTest, AckIdsAreCheckedAndForeignOnesIgnored) {
  CreateBoth();
  ASSERT_TRUE(CreateSubscription("projects/p/subscriptions/other", kTopic).ok());
  Publish({"a"});
  const auto mine = Pull();
  const auto other = Pull(10, true, "projects/p/subscriptions/other");
  EXPECT_TRUE(Ack(AckIds(other)).ok());
  const grpc::Status bad = Ack({mine[0].ack_id(), "bad"});
  EXPECT_EQ(bad.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(bad.error_message(), "You have passed an invalid ack ID to the service (ack_id=bad).");
  EXPECT_EQ(Ack({}).error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(service_->Stats()[1].num_undelivered_messages, 1) << "neither acknowledged it";
  EXPECT_EQ(ModifyDeadline({"bad"}, 10).error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(ModifyDeadline(AckIds(mine), 601).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(PubSubServiceTest, ErrorsAreGooglesOwn) {
  CreateBoth();
  grpc::Status status = CreateTopic(kTopic);
  EXPECT_EQ(status.error_code(), grpc::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), "Resource already exists in the project (resource=topic).");
  status = CreateSubscription(kSubscription, kTopic);
  EXPECT_EQ(status.error_code(), grpc::ALREADY_EXISTS);
  status = CreateSubscription("projects/p/subscriptions/new", "projects/p/topics/none");
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "Resource not found (resource=none).");
  EXPECT_EQ(CreateTopic("projects/p/topics/x").error_code(), grpc::INVALID_ARGUMENT);
  pb::PublishRequest request;
  request.set_topic("projects/p/topics/none");
  request.add_messages()->set_data("x");
  pb::PublishResponse response;
  EXPECT_EQ(Publish(request, &response).error_code(), grpc::NOT_FOUND);
}

TEST_F(PubSubServiceTest, PublishLimits) {
  CreateBoth();
  pb::PublishResponse response;
  const auto code = [&](const std::function<void(pb::PublishRequest*)>& edit) {
    pb::PublishRequest request;
    request.set_topic(kTopic);
    edit(&request);
    return Publish(request, &response).error_code();
  };
  EXPECT_EQ(code([](pb::PublishRequest*) {}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) { r->add_messages(); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) { r->add_messages()->set_ordering_key("k"); }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              for (int i = 0; i < 1001; ++i) r->add_messages()->set_data("x");
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              r->add_messages()->set_data(std::string(10'000'001, 'x'));
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              (*r->add_messages()->mutable_attributes())["googx"] = "v";
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              (*r->add_messages()->mutable_attributes())[std::string(257, 'k')] = "v";
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              (*r->add_messages()->mutable_attributes())["k"] = std::string(1025, 'v');
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](pb::PublishRequest* r) {
              auto* message = r->add_messages();
              for (int i = 0; i < 101; ++i)
                (*message->mutable_attributes())["k" + std::to_string(i)] = "v";
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_THAT(Pull(10, false), IsEmpty());
  EXPECT_EQ(
      code([](pb::PublishRequest* r) { (*r->add_messages()->mutable_attributes())["k"] = "v"; }),
      grpc::OK);
}

// By itself, because TSan, which cannot see into gRPC, reports each word of it.
TEST_F(PubSubServiceTest, TheLargestMessagePasses) {
  CreateBoth();
  Publish({std::string(10'000'000, 'x')});
  EXPECT_EQ(Pull()[0].message().data().size(), 10'000'000u);
}

TEST_F(PubSubServiceTest, WhatItCannotDoIsRefusedWithASentence) {
  ASSERT_TRUE(CreateTopic(kTopic).ok());
  const std::vector<std::function<void(pb::Subscription*)>> unsupported = {
      [](pb::Subscription* s) { s->set_enable_message_ordering(true); },
      [](pb::Subscription* s) { s->set_filter("attributes:x"); },
      [](pb::Subscription* s) { s->mutable_push_config()->set_push_endpoint("http://localhost"); },
      [](pb::Subscription* s) { s->mutable_dead_letter_policy()->set_dead_letter_topic(kTopic); },
      [](pb::Subscription* s) {
        s->mutable_retry_policy()->mutable_minimum_backoff()->set_seconds(1);
      },
      [](pb::Subscription* s) { s->mutable_bigquery_config()->set_table("p.d.t"); },
      [](pb::Subscription* s) { s->mutable_cloud_storage_config()->set_bucket("b"); },
      [](pb::Subscription* s) { s->add_message_transforms(); },
  };
  for (const auto& edit : unsupported) {
    const grpc::Status status = CreateSubscription(kSubscription, kTopic, edit);
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr("does not support"));
  }
  EXPECT_EQ(CreateTopic("projects/p/topics/new", [](pb::Topic* t) { t->mutable_schema_settings(); })
                .error_code(),
            grpc::UNIMPLEMENTED);
  grpc::ClientContext context;
  pb::SeekRequest seek;
  pb::SeekResponse response;
  EXPECT_EQ(subscriber_->Seek(&context, seek, &response).error_code(), grpc::UNIMPLEMENTED);
}

TEST_F(PubSubServiceTest, SettingsAreKeptAndChanged) {
  CreateBoth([](pb::Subscription* s) {
    s->set_ack_deadline_seconds(20);
    (*s->mutable_labels())["team"] = "x";
    s->set_retain_acked_messages(true);
  });
  pb::UpdateSubscriptionRequest update;
  update.mutable_subscription()->set_name(kSubscription);
  update.mutable_subscription()->set_ack_deadline_seconds(30);
  update.mutable_update_mask()->add_paths("ack_deadline_seconds");
  pb::Subscription got;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(subscriber_->UpdateSubscription(&context, update, &got).ok());
  }
  PowerCut();
  grpc::ClientContext context;
  pb::GetSubscriptionRequest get;
  get.set_subscription(kSubscription);
  ASSERT_TRUE(subscriber_->GetSubscription(&context, get, &got).ok());
  EXPECT_EQ(got.ack_deadline_seconds(), 30);
  EXPECT_EQ(got.labels().at("team"), "x");
  EXPECT_TRUE(got.retain_acked_messages());
  EXPECT_EQ(got.message_retention_duration().seconds(), 7 * 24 * 3600);
  EXPECT_EQ(got.topic(), kTopic);
  grpc::ClientContext bad;
  update.mutable_subscription()->set_ack_deadline_seconds(5);
  EXPECT_EQ(subscriber_->UpdateSubscription(&bad, update, &got).error_code(),
            grpc::INVALID_ARGUMENT);
}

TEST_F(PubSubServiceTest, ListsComeInPages) {
  std::set<std::string> all;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "projects/p/topics/topic-" + std::to_string(i);
    all.insert(name);
    ASSERT_TRUE(CreateTopic(name).ok());
  }
  ASSERT_TRUE(CreateTopic("projects/pp/topics/another").ok());
  std::set<std::string> seen;
  pb::ListTopicsRequest request;
  request.set_project("projects/p");
  request.set_page_size(3);
  int pages = 0;
  do {
    grpc::ClientContext context;
    pb::ListTopicsResponse response;
    ASSERT_TRUE(publisher_->ListTopics(&context, request, &response).ok());
    for (const pb::Topic& topic : response.topics()) seen.insert(topic.name());
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, all);
  EXPECT_EQ(pages, 3);
}

TEST_F(PubSubServiceTest, ADeletedTopicsMessagesAreStillDelivered) {
  CreateBoth();
  Publish({"a"});
  pb::DeleteTopicRequest request;
  request.set_topic(kTopic);
  google::protobuf::Empty empty;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(publisher_->DeleteTopic(&context, request, &empty).ok());
  }
  PowerCut();
  pb::GetSubscriptionRequest get;
  get.set_subscription(kSubscription);
  pb::Subscription got;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(subscriber_->GetSubscription(&context, get, &got).ok());
  }
  EXPECT_EQ(got.topic(), "_deleted-topic_");
  EXPECT_THAT(Data(Pull()), ElementsAre("a"));
  ASSERT_TRUE(CreateTopic(kTopic).ok()) << "the name is free again";
  Publish({"b"});
  EXPECT_THAT(Pull(10, false), IsEmpty()) << "another topic of the same name";
  grpc::ClientContext context;
  pb::DeleteSubscriptionRequest erase;
  erase.set_subscription(kSubscription);
  ASSERT_TRUE(subscriber_->DeleteSubscription(&context, erase, &empty).ok());
  EXPECT_THAT(*fs_.List("data/topics"), SizeIs(1));
}

TEST_F(PubSubServiceTest, APowerCutLosesNoPublishAndNoIdIsGivenTwice) {
  CreateBoth();
  std::set<std::string> ids;
  std::vector<std::string> sent;
  for (int life = 0; life < 5; ++life) {
    for (int i = 0; i < 20; ++i) {
      sent.push_back(std::to_string(sent.size()));
      for (const std::string& id : Publish({sent.back()})) EXPECT_TRUE(ids.insert(id).second) << id;
    }
    PowerCut();
  }
  EXPECT_EQ(Data(Pull()), sent);
}

TEST_F(PubSubServiceTest, AcksSurviveACleanStop) {
  CreateBoth();
  Publish({"a", "b", "c"});
  const auto received = Pull();
  EXPECT_TRUE(Ack({received[0].ack_id(), received[2].ack_id()}).ok());
  Stop();
  fs_.DropUnsynced();
  Start();
  const auto again = Pull();
  EXPECT_THAT(Data(again), ElementsAre("b"));
  EXPECT_TRUE(Ack({received[1].ack_id()}).ok()) << "an ack id of before the restart";
  EXPECT_EQ(service_->Stats()[0].num_undelivered_messages, 0);
}

TEST_F(PubSubServiceTest, ExactlyOnceAcksAreDurableWhenConfirmedAndRefusedWhenLate) {
  CreateBoth([](pb::Subscription* s) { s->set_enable_exactly_once_delivery(true); });
  Publish({"a", "b"});
  const auto first = Pull();
  ASSERT_TRUE(Ack({first[0].ack_id()}).ok());
  PowerCut();
  const auto second = Pull();
  EXPECT_THAT(Data(second), ElementsAre("b"));
  EXPECT_TRUE(Ack({first[0].ack_id()}).ok()) << "acknowledged before";
  EXPECT_EQ(Ack({first[1].ack_id()}).error_code(), grpc::FAILED_PRECONDITION)
      << "the lease of an earlier process";
  AdvanceSeconds(11);
  const grpc::Status late = Ack({second[0].ack_id()});
  EXPECT_EQ(late.error_code(), grpc::FAILED_PRECONDITION);
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.ParseFromString(late.error_details()));
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.metadata().at(second[0].ack_id()), "PERMANENT_FAILURE_INVALID_ACK_ID");
  EXPECT_EQ(ModifyDeadline({second[0].ack_id()}, 30).error_code(), grpc::FAILED_PRECONDITION);
  const auto third = Pull();
  EXPECT_THAT(Data(third), ElementsAre("b"));
  EXPECT_TRUE(Ack(AckIds(third)).ok());
}

TEST_F(PubSubServiceTest, AStreamDeliversAndAcks) {
  CreateBoth();
  auto stream = OpenStream();
  EXPECT_FALSE(stream->first.subscription_properties().exactly_once_delivery_enabled());
  EXPECT_EQ(service_->Stats()[0].open_streams, 1);
  Publish({"a", "b"});
  std::vector<pb::ReceivedMessage> received = stream->Next();
  while (received.size() < 2) {
    for (pb::ReceivedMessage& m : stream->Next()) received.push_back(std::move(m));
  }
  EXPECT_THAT(Data(received), ElementsAre("a", "b"));
  stream->Ack(received);
  stream->rpc->WritesDone();
  EXPECT_TRUE(stream->End().ok());
  EXPECT_EQ(service_->Stats()[0].num_undelivered_messages, 0);
}

TEST_F(PubSubServiceTest, AStreamGetsNoMoreThanItCanHold) {
  CreateBoth();
  Publish({"a", "b", "c", "d", "e"});
  auto stream = OpenStream([](pb::StreamingPullRequest* r) { r->set_max_outstanding_messages(2); });
  auto first = stream->Next();
  EXPECT_THAT(Data(first), ElementsAre("a", "b"));
  EXPECT_THAT(Data(Pull(1)), ElementsAre("c")) << "the rest is free for others";
  stream->Ack(first);
  EXPECT_THAT(Data(stream->Next()), ElementsAre("d", "e"));
  stream->context.TryCancel();
  stream->End();
}

TEST_F(PubSubServiceTest, AStreamGetsNoMoreBytesThanItCanHold) {
  CreateBoth();
  Publish({std::string(500, 'a'), std::string(500, 'b'), std::string(5000, 'c')});
  auto stream = OpenStream([](pb::StreamingPullRequest* r) { r->set_max_outstanding_bytes(1100); });
  auto first = stream->Next();
  EXPECT_THAT(first, SizeIs(2));
  stream->Ack(first);
  auto large = stream->Next();
  ASSERT_THAT(large, SizeIs(1)) << "one larger than the limit goes alone";
  EXPECT_EQ(large[0].message().data().size(), 5000u);
  stream->context.TryCancel();
  stream->End();
}

TEST_F(PubSubServiceTest, StreamsShareTheMessages) {
  CreateBoth();
  std::vector<std::string> data;
  for (int i = 0; i < 100; ++i) data.push_back(std::to_string(i));
  // Neither can hold all of them, so neither can be so quick that the other gets none.
  const auto limit = [](pb::StreamingPullRequest* r) { r->set_max_outstanding_messages(60); };
  auto one = OpenStream(limit);
  auto two = OpenStream(limit);
  Publish(data);
  std::set<std::string> seen;
  for (const std::string& d : Data(one->Next())) EXPECT_TRUE(seen.insert(d).second);
  EXPECT_LT(seen.size(), 100u);
  const size_t by_one = seen.size();
  for (const std::string& d : Data(two->Next())) EXPECT_TRUE(seen.insert(d).second);
  EXPECT_GT(seen.size(), by_one);
  one->context.TryCancel();
  two->context.TryCancel();
  one->End();
  two->End();
}

TEST_F(PubSubServiceTest, AStreamNacksAndExtends) {
  CreateBoth();
  Publish({"a"});
  auto stream = OpenStream();
  const auto first = stream->Next();
  pb::StreamingPullRequest request;
  request.add_modify_deadline_ack_ids(first[0].ack_id());
  request.add_modify_deadline_seconds(0);
  stream->rpc->Write(request);
  const auto second = stream->Next();
  EXPECT_THAT(Data(second), ElementsAre("a"));
  AdvanceSeconds(11);
  EXPECT_THAT(Data(stream->Next()), ElementsAre("a")) << "its lease ran out";
  stream->context.TryCancel();
  stream->End();
}

TEST_F(PubSubServiceTest, AnExactlyOnceStreamConfirms) {
  CreateBoth([](pb::Subscription* s) { s->set_enable_exactly_once_delivery(true); });
  Publish({"a"});
  auto stream = OpenStream();
  EXPECT_TRUE(stream->first.subscription_properties().exactly_once_delivery_enabled());
  const auto received = stream->Next();
  stream->Ack(received);
  pb::StreamingPullResponse response;
  while (response.acknowledge_confirmation().ack_ids().empty())
    ASSERT_TRUE(stream->rpc->Read(&response));
  EXPECT_EQ(response.acknowledge_confirmation().ack_ids(0), received[0].ack_id());
  stream->context.TryCancel();
  stream->End();
}

TEST_F(PubSubServiceTest, AStreamThatDoesNotReadItsConfirmationsEnds) {
  CreateBoth([](pb::Subscription* s) { s->set_enable_exactly_once_delivery(true); });
  Publish({"a"});
  auto stream = OpenStream();
  const std::string ack_id = stream->Next()[0].ack_id();
  pb::StreamingPullRequest request;
  for (int i = 0; i < 50'000; ++i) {
    request.add_modify_deadline_ack_ids(ack_id);
    request.add_modify_deadline_seconds(10);
  }
  for (int i = 0; i < 30 && stream->rpc->Write(request); ++i) {
  }
  stream->rpc->WritesDone();
  EXPECT_EQ(stream->End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(PubSubServiceTest, RefusedAckIdsFitIntoTheHeadersOfAnError) {
  CreateBoth([](pb::Subscription* s) { s->set_enable_exactly_once_delivery(true); });
  Publish(std::vector<std::string>(101, "a"));
  std::vector<std::string> ids = AckIds(Pull());
  ASSERT_THAT(ids, SizeIs(101));
  AdvanceSeconds(11);
  grpc::Status status = Ack(ids);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_details(), IsEmpty()) << "all or none";
  ids.pop_back();
  status = Ack(ids);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_LT(status.error_details().size(), 7000u);
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.metadata().size(), 100u);
}

TEST_F(PubSubServiceTest, AnIdleStreamHasAHeartbeat) {
  CreateBoth();
  auto stream = OpenStream([](pb::StreamingPullRequest* r) { r->set_protocol_version(1); });
  for (int i = 0; i < 2; ++i) {
    AdvanceSeconds(16);
    pb::StreamingPullResponse response;
    ASSERT_TRUE(stream->rpc->Read(&response));
    EXPECT_THAT(response.received_messages(), IsEmpty());
  }
  stream->context.TryCancel();
  stream->End();
}

TEST_F(PubSubServiceTest, StreamsEndWithTheReason) {
  CreateBoth();
  auto stream = OpenStream();
  grpc::ClientContext context;
  pb::DeleteSubscriptionRequest request;
  request.set_subscription(kSubscription);
  google::protobuf::Empty empty;
  ASSERT_TRUE(subscriber_->DeleteSubscription(&context, request, &empty).ok());
  EXPECT_EQ(stream->End().error_code(), grpc::NOT_FOUND);
  ASSERT_TRUE(CreateSubscription(kSubscription, kTopic).ok());
  stream = OpenStream();
  service_->Shutdown();
  EXPECT_EQ(stream->End().error_code(), grpc::UNAVAILABLE);
}

TEST_F(PubSubServiceTest, AStreamsFirstRequestIsChecked) {
  CreateBoth();
  const auto code = [&](const std::function<void(pb::StreamingPullRequest*)>& edit) {
    grpc::ClientContext context;
    const auto rpc = subscriber_->StreamingPull(&context);
    pb::StreamingPullRequest request;
    request.set_subscription(kSubscription);
    request.set_stream_ack_deadline_seconds(10);
    edit(&request);
    rpc->Write(request);
    pb::StreamingPullResponse response;
    EXPECT_FALSE(rpc->Read(&response));
    return rpc->Finish().error_code();
  };
  EXPECT_EQ(code([](auto* r) { r->set_subscription("projects/p/subscriptions/none"); }),
            grpc::NOT_FOUND);
  EXPECT_EQ(code([](auto* r) { r->set_subscription("none"); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto* r) { r->set_stream_ack_deadline_seconds(5); }), grpc::INVALID_ARGUMENT);
}

TEST_F(PubSubServiceTest, AFullDiskRefusesThePublishAndKeepsTheRest) {
  CreateBoth();
  Publish({"a"});
  fs_.SetCapacity(fs_.UsedBytes() + 10);
  pb::PublishRequest request;
  request.set_topic(kTopic);
  request.add_messages()->set_data("lost, and said so");
  pb::PublishResponse response;
  EXPECT_EQ(Publish(request, &response).error_code(), grpc::RESOURCE_EXHAUSTED);
  fs_.SetCapacity(UINT64_MAX);
  Publish({"b"});
  PowerCut();
  EXPECT_THAT(Data(Pull()), ElementsAre("a", "b"));
}

TEST_F(PubSubServiceTest, ADirectoryHasOneServerAndDamageIsSaid) {
  CreateBoth();
  PubSubOptions options;
  options.data_dir = "data";
  options.fs = &fs_;
  options.clock = &clock_;
  EXPECT_EQ(PubSubService::Open(options).status().code(), absl::StatusCode::kFailedPrecondition);
  Stop();
  fs_.Overwrite("data/CATALOG", 30, "??");
  const Status status = PubSubService::Open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("data/CATALOG"));
}

TEST_F(PubSubServiceTest, WithoutACatalogNothingIsTakenForAnOrphan) {
  CreateBoth();
  Publish({"a"});
  Stop();
  ASSERT_TRUE(fs_.Remove("data/CATALOG").ok());
  const Status status = TryStart();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("restore it from a copy"));
  EXPECT_THAT(*fs_.List("data/topics"), SizeIs(1));
  EXPECT_THAT(*fs_.List("data/subscriptions"), SizeIs(1));
}

TEST_F(PubSubServiceTest, Metrics) {
  CreateBoth();
  Publish({"a", "b", "c"});
  const auto received = Pull(1);
  ASSERT_TRUE(Ack(AckIds(received)).ok());
  AdvanceSeconds(5);
  const auto stats = service_->Stats();
  ASSERT_THAT(stats, SizeIs(1));
  EXPECT_EQ(stats[0].name, kSubscription);
  EXPECT_EQ(stats[0].num_undelivered_messages, 2);
  EXPECT_GT(stats[0].backlog_bytes, 2);
  EXPECT_EQ(stats[0].oldest_unacked_age_ms, 5000);
  const std::string text = service_->PrometheusText();
  EXPECT_THAT(
      text,
      HasSubstr("pubsub_googleapis_com:subscription_num_undelivered_messages{project_id=\"p\","
                "subscription_id=\"subscription\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("pubsub_googleapis_com:topic_send_message_operation_count{project_id=\"p\","
                        "topic_id=\"topic\"} 3\n"));
}

}  // namespace
}  // namespace hornbeam::services::pubsub
