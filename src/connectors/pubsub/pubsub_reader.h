// The source of a Pub/Sub subscription: each message once, acknowledged after the epoch that holds
// its effects is durable.
//
// Threads: the worker's, on which the engine calls; MessageReceiver's, which reads the stream; and
// LeaseKeeper's, which acknowledges and extends. They meet in the receiver's queue and in the
// ledger.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_PUBSUB_READER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_PUBSUB_READER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "connectors/pubsub/ack_ledger.h"
#include "connectors/pubsub/lease_keeper.h"
#include "connectors/pubsub/message_decoder.h"
#include "connectors/pubsub/message_receiver.h"
#include "connectors/pubsub/reader_mark.h"
#include "connectors/pubsub/recent_ids.h"
#include "connectors/pubsub/redelivery_hold.h"
#include "connectors/pubsub/subscription_client.h"
#include "connectors/pubsub/subscription_watermark.h"
#include "engine/job/job_context.h"
#include "engine/source/reader.h"
#include "hornbeam/io/pubsub_message.h"
#include "hornbeam/io/pubsub_read_options.h"

namespace hornbeam::connectors {

// Gives engine::TypedBatch<io::PubsubMessage> in the global window. What it records is laid down in
// docs/connectors.md.
class PubsubReader final : public engine::Reader {
 public:
  explicit PubsubReader(io::PubsubReadOptions options);
  ~PubsubReader() override;

  Status Open(const engine::ReaderContext& context) override;
  Status Restore(bool replaces, std::string_view payload) override;
  // Asks Pub/Sub for the subscription, so that a wrong one fails the job at its start.
  Status Start() override;
  StatusOr<engine::Polled> Poll(size_t max_elements) override;
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override;
  Status Rewrite(engine::ReaderRecords* records) override;
  void OnSealed(engine::EpochId epoch) override;
  void Drain() override;
  engine::Backlog GetBacklog() const override;
  bool acknowledges() const override { return true; }

  int64_t duplicates() const { return duplicates_.load(std::memory_order_relaxed); }

 private:
  using Messages = engine::TypedBatch<io::PubsubMessage>;

  bool exactly_once() const {
    return context_.job->options().mode == engine::ProcessingMode::kExactlyOnce;
  }
  Status CheckSubscription(const google::pubsub::v1::Subscription& subscription);
  // Fills *batch from what waits, up to `max_elements` or to where the watermark moved.
  void TakeMessages(size_t max_elements, model::ProcessingTime now, Messages* batch);
  void AgeIds(model::ProcessingTime now);
  // A stream is open and has room for more.
  bool MessagesCanCome() const;
  void ObserveProgress(model::ProcessingTime now, bool messages_can_come);
  std::string Header() const;

  const io::PubsubReadOptions options_;
  const MessageDecoder decoder_;
  engine::ReaderContext context_;

  // The worker's.
  SubscriptionWatermark watermark_;
  RedeliveryHold hold_;
  model::EventTime recorded_watermark_ = model::EventTime::Min();
  RecentIds recent_ids_;
  model::Duration previous_lease_;   // what the previous process may have leased for; 0: none was
  model::Duration pulled_;           // how long this process has been pulling
  model::ProcessingTime polled_at_;  // the last Poll that found the stream pulling
  std::deque<ReceivedMessages> waiting_;
  size_t next_in_front_ = 0;  // of waiting_.front()
  uint64_t polled_ = 0;
  bool draining_ = false;

  std::atomic<int64_t> duplicates_{0};
  AckLedger ledger_;
  // Made at Start. The receiver ends before the keeper gives back what is left.
  std::unique_ptr<SubscriptionClient> client_;
  std::unique_ptr<ReaderMark> mark_;
  std::unique_ptr<LeaseKeeper> keeper_;
  std::unique_ptr<MessageReceiver> receiver_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_PUBSUB_READER_H_
