// A subscription at work: its leases under a lock, its ack file, and the consumers that wait for
// messages.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_SUBSCRIPTION_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_SUBSCRIPTION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "google/pubsub/v1/pubsub.pb.h"
#include "services/pubsub/core/ack_flusher.h"
#include "services/pubsub/core/ack_id.h"
#include "services/pubsub/core/dispatcher.h"
#include "services/pubsub/core/lease_table.h"
#include "services/pubsub/core/topic.h"

namespace hornbeam::services::pubsub {

// Messages that a consumer has taken, and what keeps their bytes.
struct Delivery {
  struct Message {
    AckId ack_id;
    StoredMessage stored;
  };
  std::vector<Message> messages;
  std::vector<std::shared_ptr<const Run>> runs;
};

// A stream's flow control; 0 and less mean no limit.
struct FlowLimits {
  int64_t max_messages = 0;
  int64_t max_bytes = 0;
};

struct SubscriptionCounters {
  std::atomic<uint64_t> delivered_messages{0};
  std::atomic<uint64_t> acked_messages{0};
  std::atomic<uint64_t> nacked_messages{0};
  std::atomic<uint64_t> expired_leases{0};
};

// Thread-safe. Reads messages without holding its lock.
class Subscription final : public TopicReader,
                           public Flushable,
                           public std::enable_shared_from_this<Subscription> {
 public:
  // What it works with; all outlive it.
  struct Environment {
    const Clock* clock;
    Dispatcher* dispatcher;
    AckFlusher* flusher;
  };

  Subscription(uint32_t incarnation, google::pubsub::v1::Subscription config,
               std::shared_ptr<Topic> topic, Environment environment);

  // Begins delivery behind what `acked` says. REQUIRES: it is a reader of its topic already; called
  // once.
  void Start(const AckState& acked, std::unique_ptr<AckLog> ack_log, uint16_t attempt_base);

  google::pubsub::v1::Subscription config() const;
  void set_config(google::pubsub::v1::Subscription config);
  const std::shared_ptr<Topic>& topic() const { return topic_; }
  bool exactly_once() const;

  // Nothing when too many streams are open.
  std::optional<HolderId> OpenStream(FlowLimits limits);
  void CloseStream(HolderId holder);
  int open_streams() const;

  // Takes up to `max_messages` for `holder` (0: a pull), as its flow control permits, under a lease
  // of `lease_seconds` (0: the subscription's ack deadline). When there is nothing to take,
  // `waiter` is scheduled as soon as there may be. An error means that the subscription is closed,
  // or that the disk failed.
  StatusOr<Delivery> Take(HolderId holder, size_t max_messages, int lease_seconds,
                          std::shared_ptr<Consumer> waiter);

  // The consumer has gone; it is not woken any more.
  void StopWaiting(const Consumer* consumer);

  // What became of a request's ack ids. Without exactly-once delivery nothing is ever refused.
  struct AckResult {
    std::vector<std::string> accepted;  // filled for exactly-once delivery only
    std::vector<std::string> refused;   // the lease had run out
  };
  using AckDone = std::function<void(const Status&, const AckResult&)>;
  // Acknowledges. INVALID_ARGUMENT, and nothing is done, when one of the ids is malformed. `done`
  // runs at once, or with exactly-once delivery when the acks are durable.
  void Ack(absl::Span<const std::string* const> ack_ids, AckDone done);
  // Moves deadlines; 0 s gives the message back. With one number of seconds for all, or one for
  // each.
  StatusOr<AckResult> ModifyDeadlines(absl::Span<const std::string* const> ack_ids,
                                      absl::Span<const int> seconds);

  // Ends the leases that have run out. When the next one does.
  std::optional<int64_t> ExpireLeases();

  // Every Take fails with `why` from now on.
  void Close(Status why);

  void OnPublished(Seq end) override;
  Seq DurableFloor() const override { return durable_floor_.load(std::memory_order_acquire); }
  void Flush() override;

  int64_t unacked_messages() const;
  int64_t backlog_bytes() const;
  // Age of the oldest unacknowledged message, 0 when there is none. Reads it from disk.
  int64_t OldestUnackedAgeMs() const;
  const SubscriptionCounters& counters() const { return counters_; }

 private:
  struct Waiter {
    std::shared_ptr<Consumer> consumer;
    HolderId holder;
  };
  struct Stream {
    HolderId holder;
    FlowLimits limits;
  };

  // How many messages the holder's flow control lets through, and bytes.
  void Credit(HolderId holder, size_t* messages, uint64_t* bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsWaiting(const Consumer* consumer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpireLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the claimed messages; gives back to the table those beyond `max_bytes`.
  StatusOr<Delivery> Fetch(const std::vector<LeaseTable::Claimed>& claimed, uint64_t max_bytes);
  StatusOr<std::vector<std::optional<AckId>>> Parse(
      absl::Span<const std::string* const> ack_ids) const;

  const uint32_t incarnation_;
  const std::shared_ptr<Topic> topic_;
  const Environment environment_;
  SubscriptionCounters counters_;
  std::atomic<Seq> durable_floor_{0};

  // The flusher's own.
  std::unique_ptr<AckLog> ack_log_;
  bool flush_failed_ = false;

  mutable Mutex mutex_;
  google::pubsub::v1::Subscription config_ ABSL_GUARDED_BY(mutex_);
  Status closed_ ABSL_GUARDED_BY(mutex_);
  std::optional<LeaseTable> table_ ABSL_GUARDED_BY(mutex_);
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  std::vector<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void(const Status&)>> awaiting_flush_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_SUBSCRIPTION_H_
