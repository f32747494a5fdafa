#include "connectors/pubsub/pubsub_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "connectors/pubsub/fake_subscriber.h"

namespace hornbeam::connectors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr engine::OperatorId kOp{1};

std::map<std::string, std::string> At(int64_t seconds) {
  return {{"ts", absl::StrCat(seconds * 1000)}};
}

// A job around one reader: its clock, its log, and the worker that polls.
class PubsubReaderTest : public testing::Test {
 protected:
  PubsubReaderTest() {
    options_.subscription = FakeSubscriber::kSubscription;
    options_.endpoint = fake_.endpoint();
    options_.timestamp_attribute = "ts";
    options_.watermark =
        io::PubsubWatermarkPolicy::BoundedOutOfOrderness(model::Seconds(10), model::Seconds(1));
    job_options_.clock = &clock_;
    job_options_.name = "test job";
  }
  ~PubsubReaderTest() override { reader_.reset(); }

  Status TryStart() {
    End();
    job_ = std::make_unique<engine::JobContext>(job_options_);
    reader_ = std::make_unique<PubsubReader>(options_);
    next_epoch_ = sealed_ + 1;
    engine::ReaderContext context;
    context.job = job_.get();
    context.name = "Read";
    context.wake = [this] {
      MutexLock lock(&mutex_);
      woken_ = true;
      wake_.SignalAll();
    };
    HB_RETURN_IF_ERROR(reader_->Open(context));
    for (const auto& [replaces, payload] : log_) {
      HB_RETURN_IF_ERROR(reader_->Restore(replaces, payload));
    }
    return reader_->Start();
  }
  void Start() {
    const Status status = TryStart();
    ASSERT_TRUE(status.ok()) << status;
  }
  // Time passes, and the worker polls.
  void Pass(int64_t us) {
    clock_.AdvanceMicros(us);
    PollOnce();
  }
  // A run that seals a watermark of 90 s, and one that takes a message of 200 s.
  void StartAgain() {
    End();
    const size_t before = got_.size();
    const size_t acked = fake_.AckedIds().size();
    fake_.Publish("a", At(100));
    Start();
    ASSERT_TRUE(PollMessages(before + 1));
    Seal();
    ASSERT_TRUE(fake_.WaitForAcked(acked + 1));
    Start();
    fake_.Publish("b", At(200));
    ASSERT_TRUE(PollMessages(before + 2));
    EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  }
  // As kill -9: nothing that is not sealed survives, and nothing is given back.
  void Crash() {
    fake_.SetDeaf(true);
    End();
    fake_.SetDeaf(false);
  }
  void End() {
    reader_.reset();
    // What is published next must not go to the stream of a reader that is gone.
    fake_.WaitFor([](const FakeSubscriber& f) { return f.OpenStreamsLocked() == 0; });
  }

  engine::Polled PollOnce(size_t max = 1000) {
    StatusOr<engine::Polled> polled = reader_->Poll(max);
    EXPECT_TRUE(polled.ok()) << polled.status();
    if (!polled.ok()) return {};
    watermark_ = polled->watermark;
    if (polled->batch != nullptr) {
      const auto& batch = static_cast<engine::TypedBatch<io::PubsubMessage>&>(*polled->batch);
      batches_.push_back({});
      for (size_t i = 0; i < batch.size(); ++i) {
        got_.push_back(batch.values[i]);
        batches_.back().push_back(batch.values[i].data);
        times_.push_back(batch.timestamps[i]);
      }
    }
    return *std::move(polled);
  }
  // Polls, as a worker would, until `done` holds; false after ten seconds.
  bool PollUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !done(); ++i) {
      if (PollOnce().batch != nullptr) continue;
      MutexLock lock(&mutex_);
      if (!woken_) wake_.WaitFor(&mutex_, std::chrono::milliseconds(10));
      woken_ = false;
    }
    return done();
  }
  bool PollMessages(size_t count) {
    return PollUntil([&] { return got_.size() >= count; });
  }
  bool PollDuplicates(int64_t count) {
    return PollUntil([&] { return reader_->duplicates() >= count; });
  }
  // Ends an epoch whose records are written but not sealed.
  engine::EpochId Mark() {
    engine::EpochRecords records;
    engine::ReaderRecords out(&records, kOp, 0);
    const Status status = reader_->OnMarker(next_epoch_, &out);
    EXPECT_TRUE(status.ok()) << status;
    engine::RecordReader in(records.bytes());
    engine::RecordView record;
    while (in.Next(&record)) unsealed_.emplace_back(record.replaces, std::string(record.payload));
    return next_epoch_++;
  }
  void Seal() {
    sealed_ = Mark();
    log_.insert(log_.end(), unsealed_.begin(), unsealed_.end());
    unsealed_.clear();
    reader_->OnSealed(sealed_);
  }
  std::vector<std::string> Data() const {
    std::vector<std::string> data;
    for (const io::PubsubMessage& message : got_) data.push_back(message.data);
    return data;
  }

  ManualClock clock_{1'700'000'000'000'000};
  FakeSubscriber fake_;
  io::PubsubReadOptions options_;
  engine::JobOptions job_options_;
  std::unique_ptr<engine::JobContext> job_;
  std::vector<std::pair<bool, std::string>> log_;
  std::vector<std::pair<bool, std::string>> unsealed_;
  engine::EpochId next_epoch_ = 1;
  engine::EpochId sealed_ = 0;
  std::vector<io::PubsubMessage> got_;
  std::vector<model::EventTime> times_;
  std::vector<std::vector<std::string>> batches_;
  model::EventTime watermark_ = model::EventTime::Min();
  Mutex mutex_;
  CondVar wake_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<PubsubReader> reader_;
};

TEST_F(PubsubReaderTest, GivesMessagesWithTheirTimesAndAttributes) {
  fake_.Publish("hello", {{"ts", "2018-01-01T00:00:00Z"}, {"b", "2"}, {"a", "1"}}, "id-1");
  Start();
  ASSERT_TRUE(PollMessages(1));
  EXPECT_EQ(got_[0].data, "hello");
  EXPECT_EQ(got_[0].message_id, "id-1");
  EXPECT_EQ(*got_[0].Attribute("a"), "1");
  EXPECT_EQ(got_[0].attributes[0].first, "a");
  EXPECT_EQ(got_[0].Attribute("c"), nullptr);
  EXPECT_EQ(times_[0], model::EventTime::FromSeconds(1514764800));
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(1514764790));
}

TEST_F(PubsubReaderTest, AcknowledgesAfterTheSealAndNotBefore) {
  for (int i = 0; i < 3; ++i) fake_.Publish("m", At(i));
  Start();
  ASSERT_TRUE(PollMessages(3));
  const engine::EpochId epoch = Mark();
  fake_.Publish("later", At(4));
  ASSERT_TRUE(PollMessages(4));
  EXPECT_THAT(fake_.AckedIds(), IsEmpty());
  reader_->OnSealed(epoch);
  ASSERT_TRUE(fake_.WaitForAcked(3));
  EXPECT_THAT(fake_.AckedIds(), ElementsAre("m1", "m2", "m3"));
}

TEST_F(PubsubReaderTest, ADuplicateIsDroppedAndAcknowledgedWhenItsEpochIsSealed) {
  fake_.Publish("m", At(1));
  Start();
  ASSERT_TRUE(PollMessages(1));
  fake_.Redeliver();  // the lease lapsed before the seal: the first ack id is worth nothing now
  ASSERT_TRUE(PollDuplicates(1));
  EXPECT_TRUE(job_->active());  // worth an epoch of its own
  EXPECT_THAT(fake_.AckedIds(), IsEmpty());
  Seal();
  ASSERT_TRUE(fake_.WaitForAcked(1));
  EXPECT_THAT(Data(), ElementsAre("m"));
}

TEST_F(PubsubReaderTest, DeduplicatesByTheIdAttribute) {
  options_.id_attribute = "id";
  fake_.Publish("first", {{"ts", "1"}, {"id", "x"}});
  fake_.Publish("again", {{"ts", "1"}, {"id", "x"}});
  fake_.Publish("without", {{"ts", "1"}}, "x2");
  Start();
  ASSERT_TRUE(PollMessages(2));
  ASSERT_TRUE(PollDuplicates(1));
  EXPECT_THAT(Data(), ElementsAre("first", "without"));
  Seal();
  EXPECT_TRUE(fake_.WaitForAcked(3));
}

TEST_F(PubsubReaderTest, AtLeastOnceKeepsDuplicates) {
  job_options_.mode = engine::ProcessingMode::kAtLeastOnce;
  fake_.Publish("m", At(1));
  Start();
  ASSERT_TRUE(PollMessages(1));
  fake_.Redeliver();
  ASSERT_TRUE(PollMessages(2));
  Seal();
  EXPECT_TRUE(fake_.WaitForAcked(1));
}

TEST_F(PubsubReaderTest, AfterACrashWhatWasSealedIsKnownAndTheRestComesAgain) {
  for (int i = 0; i < 3; ++i) fake_.Publish(absl::StrCat("sealed", i), At(i));
  fake_.FailAcknowledge(1'000'000, {grpc::StatusCode::UNAVAILABLE, "down"}, false);
  Start();
  ASSERT_TRUE(PollMessages(3));
  Seal();
  fake_.Publish("lost", At(5));
  ASSERT_TRUE(PollMessages(4));
  Mark();  // not sealed
  unsealed_.clear();
  Crash();
  fake_.FailAcknowledge(0, grpc::Status::OK, false);
  fake_.Redeliver();
  got_.clear();
  Start();
  ASSERT_TRUE(PollMessages(1));
  ASSERT_TRUE(PollDuplicates(3));
  EXPECT_THAT(Data(), ElementsAre("lost"));
  Seal();
  EXPECT_TRUE(fake_.WaitForAcked(4));
}

TEST_F(PubsubReaderTest, ARewriteHoldsAllThatTheRecordsHeld) {
  for (int i = 0; i < 5; ++i) fake_.Publish("m", At(i));
  Start();
  ASSERT_TRUE(PollMessages(5));
  Seal();
  ASSERT_TRUE(fake_.WaitForAcked(5));
  engine::EpochRecords records;
  engine::ReaderRecords out(&records, kOp, 0);
  ASSERT_TRUE(reader_->Rewrite(&out).ok());
  engine::RecordReader in(records.bytes());
  engine::RecordView record;
  ASSERT_TRUE(in.Next(&record));
  EXPECT_TRUE(record.replaces);
  log_ = {{true, std::string(record.payload)}};
  Start();
  for (int i = 1; i <= 5; ++i) fake_.Publish("m", At(i), absl::StrCat("m", i));
  ASSERT_TRUE(PollDuplicates(5));
}

TEST_F(PubsubReaderTest, TheWatermarkStandsStillAfterARestartUntilAllLeasesHaveLapsed) {
  fake_.Publish("a", At(100));
  Start();
  ASSERT_TRUE(PollMessages(1));
  Seal();
  ASSERT_TRUE(fake_.WaitForAcked(1));
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  fake_.EditConfig([](auto* config) {
    config->mutable_retry_policy()->mutable_minimum_backoff()->set_seconds(5);
  });
  Start();
  fake_.Publish("b", At(200));
  ASSERT_TRUE(PollMessages(2));
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  Seal();
  // A lease of 10 s, a backoff of 5 s and 2 s for the way.
  for (int i = 0; i < 16; ++i) Pass(1'000'000);
  Pass(999'999);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  Pass(1);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(190));
}

TEST_F(PubsubReaderTest, TimeWithoutPollsDoesNotEndTheWatermarksRest) {
  StartAgain();
  Pass(3'600'000'000);  // the sinks had no room
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  for (int i = 0; i < 9; ++i) Pass(1'000'000);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  Pass(1'000'000);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(190));
}

TEST_F(PubsubReaderTest, TimeWithoutRoomDoesNotEndTheWatermarksRest) {
  for (const bool bytes : {false, true}) {
    SCOPED_TRACE(bytes);
    options_.max_outstanding_messages = bytes ? 1000 : 1;
    options_.max_outstanding_bytes = bytes ? 10 : 1 << 20;
    StartAgain();
    for (int i = 0; i < 100; ++i) Pass(1'000'000);
    EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
    Seal();
    EXPECT_TRUE(PollUntil([&] {
      clock_.AdvanceMicros(1'000'000);
      return watermark_ == model::EventTime::FromSeconds(190);
    }));
    log_.clear();
  }
}

TEST_F(PubsubReaderTest, TheWatermarkRestsForTheGreatestBackoff) {
  fake_.EditConfig([](auto* config) {
    config->mutable_retry_policy()->mutable_minimum_backoff()->set_seconds(1);
    config->mutable_retry_policy()->mutable_maximum_backoff()->set_seconds(20);
    config->mutable_retry_policy()->mutable_maximum_backoff()->set_nanos(500'000'000);
  });
  StartAgain();
  for (int i = 0; i < 32; ++i) Pass(1'000'000);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(90));
  Pass(500'000);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(190));
}

TEST_F(PubsubReaderTest, AnIdAttributeIsNeverTakenForAMessageId) {
  options_.id_attribute = "id";
  fake_.Publish("attribute", {{"ts", "1"}, {"id", "17"}}, "1");
  fake_.Publish("message id", {{"ts", "1"}}, "17");
  fake_.Publish("attribute again", {{"ts", "1"}, {"id", "17"}}, "2");
  fake_.Publish("message id again", {{"ts", "1"}}, "17");
  Start();
  ASSERT_TRUE(PollMessages(2));
  ASSERT_TRUE(PollDuplicates(2));
  EXPECT_THAT(Data(), ElementsAre("attribute", "message id"));
}

TEST_F(PubsubReaderTest, BatchesEndWhereTheWatermarkMoves) {
  for (int64_t t : {20, 20, 21, 21, 21, 22}) fake_.Publish(absl::StrCat(t), At(t));
  Start();
  ASSERT_TRUE(PollMessages(6));
  EXPECT_THAT(batches_, ElementsAre(ElementsAre("20"), ElementsAre("20", "21"),
                                    ElementsAre("21", "21", "22")));
}

TEST_F(PubsubReaderTest, AMessageWithABadTimestampSaysSoAndMovesNothing) {
  fake_.Publish("good", At(20));
  fake_.Publish("bad", {{"ts", "noon"}});
  fake_.Publish("none", {});
  Start();
  ASSERT_TRUE(PollMessages(3));
  EXPECT_EQ(got_[0].timestamp_error, "");
  EXPECT_THAT(got_[1].timestamp_error, HasSubstr("'noon'"));
  EXPECT_THAT(got_[2].timestamp_error, HasSubstr("no timestamp attribute 'ts'"));
  EXPECT_EQ(times_[1], got_[1].publish_time);
  EXPECT_EQ(watermark_, model::EventTime::FromSeconds(10));
}

TEST_F(PubsubReaderTest, ExtendsLeasesWhileNothingIsSealed) {
  fake_.Publish("m", At(1));
  Start();
  ASSERT_TRUE(PollMessages(1));
  EXPECT_EQ(fake_.extensions(), 0);
  clock_.AdvanceMicros(5'000'000);
  EXPECT_TRUE(fake_.WaitFor([](const FakeSubscriber& f) { return f.ExtensionsLocked() == 1; }));
}

TEST_F(PubsubReaderTest, ADrainGivesBackWhatWasNotPolled) {
  for (int i = 0; i < 10; ++i) fake_.Publish("m", At(1));
  Start();
  ASSERT_TRUE(fake_.WaitFor([](const FakeSubscriber& f) { return f.LeasedLocked() == 10; }));
  ASSERT_TRUE(PollUntil([&] {
    if (got_.size() < 4) PollOnce(4 - got_.size());
    return true;
  }));
  while (got_.empty()) PollOnce(1);
  const size_t polled = got_.size();
  reader_->Drain();
  engine::Polled last;
  ASSERT_TRUE(PollUntil([&] {
    last = PollOnce();
    return last.state == engine::Polled::State::kFinished;
  }));
  EXPECT_TRUE(fake_.WaitForNacked(10 - polled));
  EXPECT_THAT(got_, SizeIs(polled));
  Seal();
  EXPECT_TRUE(fake_.WaitForAcked(polled));
}

TEST_F(PubsubReaderTest, ReconnectsWhenTheStreamBreaks) {
  fake_.Publish("before", At(1));
  Start();
  ASSERT_TRUE(PollMessages(1));
  fake_.BreakStreams({grpc::StatusCode::UNAVAILABLE, "moving"});
  fake_.Publish("after", At(1));
  ASSERT_TRUE(PollMessages(2));
  EXPECT_THAT(Data(), ElementsAre("before", "after"));
}

TEST_F(PubsubReaderTest, AnAckThatFailedIsSentAgainWithOrWithoutEffect) {
  for (const bool after_effect : {false, true}) {
    Start();
    const size_t acked = fake_.AckedIds().size();
    got_.clear();
    fake_.FailAcknowledge(2, {grpc::StatusCode::UNAVAILABLE, "busy"}, after_effect);
    fake_.Publish("m", At(1));
    ASSERT_TRUE(PollMessages(1));
    Seal();
    EXPECT_TRUE(fake_.WaitForAcked(acked + 1));
  }
}

TEST_F(PubsubReaderTest, WhatIsNotSealedAtTheEndIsGivenBack) {
  fake_.Publish("m", At(1));
  Start();
  ASSERT_TRUE(PollMessages(1));
  reader_.reset();
  EXPECT_TRUE(fake_.WaitForNacked(1));
}

TEST_F(PubsubReaderTest, AMissingSubscriptionFailsTheStart) {
  options_.subscription = "projects/p/subscriptions/other";
  const Status status = TryStart();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("projects/p/subscriptions/other"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("create it"));
}

TEST_F(PubsubReaderTest, ADeletedSubscriptionFailsTheJob) {
  Start();
  ASSERT_TRUE(fake_.WaitFor([](const FakeSubscriber& f) { return f.OpenStreamsLocked() == 1; }));
  fake_.BreakStreams({grpc::StatusCode::NOT_FOUND, "Resource not found"});
  StatusOr<engine::Polled> polled = engine::Polled{};
  for (int i = 0; i < 1000 && polled.ok(); ++i) {
    {
      MutexLock lock(&mutex_);
      if (!woken_) wake_.WaitFor(&mutex_, std::chrono::milliseconds(10));
      woken_ = false;
    }
    polled = reader_->Poll(10);
  }
  EXPECT_EQ(polled.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PubsubReaderTest, WrongOptionsAreRefusedAtOpening) {
  options_.subscription = "s";
  EXPECT_EQ(TryStart().code(), absl::StatusCode::kInvalidArgument);
  options_.subscription = FakeSubscriber::kSubscription;
  options_.lease_seconds = 60;
  EXPECT_EQ(TryStart().code(), absl::StatusCode::kInvalidArgument);
  options_.lease_seconds = 10;
  options_.watermark = io::PubsubWatermarkPolicy::BoundedOutOfOrderness(model::Seconds(-1));
  EXPECT_EQ(TryStart().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PubsubReaderTest, ASecondJobIsNoticedAndTheMarkGoesWithTheReader) {
  Start();
  const std::string label(ReaderMark::kLabel);
  EXPECT_THAT(fake_.config().labels().at(label), HasSubstr("test_job-"));
  job_options_.name = "other";
  const Endpoint endpoint{fake_.endpoint(), true};
  SubscriptionClient client(options_.subscription, endpoint, *OpenChannel(endpoint));
  ReaderMark mark(&client, "other");
  EXPECT_EQ(mark.Other(fake_.config(), {clock_.NowMicros()}), "test_job");
  EXPECT_EQ(mark.Other(fake_.config(), {clock_.NowMicros() + 300'000'000}), std::nullopt);
  EXPECT_EQ(ReaderMark(&client, "Test Job").Other(fake_.config(), {clock_.NowMicros()}),
            std::nullopt);
  reader_.reset();
  EXPECT_EQ(fake_.config().labels().count(label), 0u);
}

TEST_F(PubsubReaderTest, MalformedStateIsRefused) {
  log_ = {{false, "\x02garbage"}};
  EXPECT_EQ(TryStart().code(), absl::StatusCode::kDataLoss);
  log_ = {{false, "\x09"}};
  EXPECT_EQ(TryStart().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace hornbeam::connectors
