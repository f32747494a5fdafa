#include "services/pubsub/core/subscription.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

}  // namespace

Subscription::Subscription(uint32_t incarnation, google::pubsub::v1::Subscription config,
                           std::shared_ptr<Topic> topic, Environment environment)
    : incarnation_(incarnation),
      topic_(std::move(topic)),
      environment_(environment),
      config_(std::move(config)) {}

void Subscription::Start(const AckState& acked, std::unique_ptr<AckLog> ack_log,
                         uint16_t attempt_base) {
  ack_log_ = std::move(ack_log);
  durable_floor_.store(acked.floor, std::memory_order_release);
  MutexLock lock(&mutex_);
  // The end is read under the lock: a commit that this misses comes to OnPublished after it.
  table_.emplace(acked, topic_->log()->end(), environment_.clock->MonotonicMicros(), attempt_base);
  WakeWaiters();
}

google::pubsub::v1::Subscription Subscription::config() const {
  MutexLock lock(&mutex_);
  return config_;
}

void Subscription::set_config(google::pubsub::v1::Subscription config) {
  MutexLock lock(&mutex_);
  config_ = std::move(config);
}

bool Subscription::exactly_once() const {
  MutexLock lock(&mutex_);
  return config_.enable_exactly_once_delivery();
}

std::optional<HolderId> Subscription::OpenStream(FlowLimits limits) {
  MutexLock lock(&mutex_);
  const std::optional<HolderId> holder = table_->AddHolder();
  if (holder.has_value()) streams_.push_back({*holder, limits});
  return holder;
}

void Subscription::CloseStream(HolderId holder) {
  MutexLock lock(&mutex_);
  std::erase_if(streams_, [&](const Stream& stream) { return stream.holder == holder; });
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.holder == holder; });
  table_->RemoveHolder(holder);
}

int Subscription::open_streams() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(streams_.size());
}

void Subscription::Credit(HolderId holder, size_t* messages, uint64_t* bytes) const {
  *messages = SIZE_MAX;
  *bytes = UINT64_MAX;
  for (const Stream& stream : streams_) {
    if (stream.holder != holder) continue;
    const LeaseTable::Outstanding out = table_->outstanding(holder);
    if (stream.limits.max_messages > 0) {
      const uint64_t limit = static_cast<uint64_t>(stream.limits.max_messages);
      *messages = limit > out.messages ? limit - out.messages : 0;
    }
    if (stream.limits.max_bytes > 0) {
      const uint64_t limit = static_cast<uint64_t>(stream.limits.max_bytes);
      *bytes = limit > out.bytes ? limit - out.bytes : 0;
    }
    return;
  }
}

bool Subscription::IsWaiting(const Consumer* consumer) const {
  return std::any_of(waiters_.begin(), waiters_.end(),
                     [&](const Waiter& waiter) { return waiter.consumer.get() == consumer; });
}

void Subscription::StopWaiting(const Consumer* consumer) {
  MutexLock lock(&mutex_);
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.consumer.get() == consumer; });
}

void Subscription::WakeWaiters() {
  if (waiters_.empty() || !table_.has_value()) return;
  uint64_t available = table_->available();
  size_t kept = 0;
  for (Waiter& waiter : waiters_) {
    size_t messages = 0;
    uint64_t bytes = 0;
    Credit(waiter.holder, &messages, &bytes);
    if (closed_.ok() && (available == 0 || messages == 0 || bytes == 0)) {
      waiters_[kept++] = std::move(waiter);
      continue;
    }
    if (available > 0) --available;
    environment_.dispatcher->Schedule(std::move(waiter.consumer));
  }
  waiters_.resize(kept);
}

StatusOr<Delivery> Subscription::Take(HolderId holder, size_t max_messages, int lease_seconds,
                                      std::shared_ptr<Consumer> waiter) {
  std::vector<LeaseTable::Claimed> claimed;
  uint64_t byte_credit = 0;
  {
    MutexLock lock(&mutex_);
    if (!closed_.ok()) return closed_;
    size_t message_credit = 0;
    Credit(holder, &message_credit, &byte_credit);
    const uint64_t available = table_->available();
    if (available == 0 || message_credit == 0 || byte_credit == 0) {
      if (waiter != nullptr && !IsWaiting(waiter.get()))
        waiters_.push_back({std::move(waiter), holder});
      return Delivery{};
    }
    // Streams share: none takes more than its part of what is there.
    const uint64_t sharers = holder == 0 ? 1 : std::max<uint64_t>(streams_.size(), 1);
    const size_t share = static_cast<size_t>((available + sharers - 1) / sharers);
    const size_t count =
        std::min({max_messages, message_credit, share, size_t{kMaxDeliveryMessages}});
    const int64_t lease_us =
        (lease_seconds > 0 ? lease_seconds : config_.ack_deadline_seconds()) * kSecondUs;
    claimed.reserve(std::min<uint64_t>(count, available));
    table_->Claim(count, holder, environment_.clock->MonotonicMicros() + lease_us, &claimed);
  }
  if (claimed.empty()) return Delivery{};
  return Fetch(claimed, std::min(byte_credit, kMaxDeliveryBytes));
}

StatusOr<Delivery> Subscription::Fetch(const std::vector<LeaseTable::Claimed>& claimed,
                                       uint64_t max_bytes) {
  Delivery delivery;
  delivery.messages.reserve(claimed.size());
  const Run* run = nullptr;
  uint64_t bytes = 0;
  Status failed;
  for (const LeaseTable::Claimed& claim : claimed) {
    if (run == nullptr || claim.seq < run->first_seq() || claim.seq >= run->end_seq()) {
      StatusOr<std::shared_ptr<const Run>> found = topic_->log()->Find(claim.seq);
      if (!found.ok()) {
        failed = found.status();
        break;
      }
      run = found->get();
      delivery.runs.push_back(*std::move(found));
    }
    StoredMessage stored = run->Get(claim.seq);
    // The first goes out whatever its size, else a large one would never.
    if (!delivery.messages.empty() && bytes + stored.body.size() > max_bytes) break;
    bytes += stored.body.size();
    delivery.messages.push_back({{incarnation_, claim.attempt, claim.seq}, stored});
  }
  const size_t taken = delivery.messages.size();
  {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < taken; ++i) {
      table_->SetSize(claimed[i], static_cast<uint32_t>(delivery.messages[i].stored.body.size()));
    }
    if (taken < claimed.size()) {
      table_->Unclaim(claimed.data() + taken, claimed.size() - taken);
      if (failed.ok()) WakeWaiters();
    }
  }
  if (taken == 0) return Annotate(failed, "reading messages to deliver");
  counters_.delivered_messages.fetch_add(taken, std::memory_order_relaxed);
  return delivery;
}

StatusOr<std::vector<std::optional<AckId>>> Subscription::Parse(
    absl::Span<const std::string* const> ack_ids) const {
  std::vector<std::optional<AckId>> parsed;
  parsed.reserve(ack_ids.size());
  for (const std::string* text : ack_ids) {
    std::optional<AckId> id = DecodeAckId(*text);
    if (!id.has_value()) return InvalidAckId(*text);
    if (id->incarnation != incarnation_) id = std::nullopt;  // another subscription's
    parsed.push_back(id);
  }
  return parsed;
}

void Subscription::Ack(absl::Span<const std::string* const> ack_ids, AckDone done) {
  StatusOr<std::vector<std::optional<AckId>>> parsed = Parse(ack_ids);
  if (!parsed.ok()) return done(parsed.status(), {});
  AckResult result;
  uint64_t acked = 0;
  bool strict = false;
  bool new_acks = false;
  Status closed;
  {
    MutexLock lock(&mutex_);
    closed = closed_;
    if (closed.ok()) {
      strict = config_.enable_exactly_once_delivery();
      if (strict) ExpireLocked();
      for (size_t i = 0; i < parsed->size(); ++i) {
        const std::optional<AckId>& id = (*parsed)[i];
        const AckOutcome outcome =
            id.has_value() ? table_->Ack(id->seq, id->attempt, strict) : AckOutcome::kUnknown;
        if (outcome == AckOutcome::kAcked) ++acked;
        if (!strict) continue;
        const bool accepted = outcome == AckOutcome::kAcked || outcome == AckOutcome::kAlreadyAcked;
        (accepted ? result.accepted : result.refused).push_back(*ack_ids[i]);
      }
      WakeWaiters();
      new_acks = table_->has_new_acks();
      if (strict) {
        awaiting_flush_.push_back(
            [result, done = std::move(done)](const Status& status) { done(status, result); });
      }
    }
  }
  if (!closed.ok()) return done(closed, {});
  counters_.acked_messages.fetch_add(acked, std::memory_order_relaxed);
  if (strict || new_acks) environment_.flusher->Request(shared_from_this(), strict);
  if (!strict) done(absl::OkStatus(), result);
}

StatusOr<Subscription::AckResult> Subscription::ModifyDeadlines(
    absl::Span<const std::string* const> ack_ids, absl::Span<const int> seconds) {
  HB_CHECK(seconds.size() == 1 || seconds.size() == ack_ids.size());
  HB_ASSIGN_OR_RETURN(const std::vector<std::optional<AckId>> parsed, Parse(ack_ids));
  AckResult result;
  uint64_t nacked = 0;
  MutexLock lock(&mutex_);
  if (!closed_.ok()) return closed_;
  ExpireLocked();
  const int64_t now_us = environment_.clock->MonotonicMicros();
  const bool strict = config_.enable_exactly_once_delivery();
  for (size_t i = 0; i < parsed.size(); ++i) {
    const int s = seconds.size() == 1 ? seconds[0] : seconds[i];
    bool applied = false;
    if (parsed[i].has_value()) {
      const AckId& id = *parsed[i];
      applied = s == 0 ? table_->Nack(id.seq, id.attempt)
                       : table_->ExtendLease(id.seq, id.attempt, now_us + s * kSecondUs);
      if (applied && s == 0) ++nacked;
    }
    if (strict) (applied ? result.accepted : result.refused).push_back(*ack_ids[i]);
  }
  counters_.nacked_messages.fetch_add(nacked, std::memory_order_relaxed);
  if (nacked > 0) WakeWaiters();
  return result;
}

void Subscription::ExpireLocked() {
  if (!table_.has_value()) return;
  const uint64_t before = table_->available();
  table_->Expire(environment_.clock->MonotonicMicros());
  counters_.expired_leases.fetch_add(table_->available() - before, std::memory_order_relaxed);
}

std::optional<int64_t> Subscription::ExpireLeases() {
  MutexLock lock(&mutex_);
  if (!table_.has_value()) return std::nullopt;
  const uint64_t before = table_->available();
  ExpireLocked();
  if (table_->available() != before) WakeWaiters();
  return table_->NextExpiry();
}

void Subscription::Close(Status why) {
  MutexLock lock(&mutex_);
  closed_ = std::move(why);
  WakeWaiters();
}

void Subscription::OnPublished(Seq end) {
  MutexLock lock(&mutex_);
  if (!table_.has_value()) return;  // Start looks at the end itself
  table_->ExtendTo(end);
  WakeWaiters();
}

void Subscription::Flush() {
  AckState delta;
  AckState full;
  bool rewrite = false;
  bool append = false;
  std::vector<std::function<void(const Status&)>> awaiting;
  {
    MutexLock lock(&mutex_);
    if (ack_log_ == nullptr) return;
    awaiting.swap(awaiting_flush_);
    rewrite = ack_log_->WantsRewrite();
    append = table_->has_new_acks();
    delta = table_->TakeNewAcks();
    if (rewrite) full = table_->FullAckState();
  }
  Status status;
  if (rewrite) {
    status = ack_log_->Rewrite(full);
  } else if (append) {
    status = ack_log_->Append(delta);
  }
  if (status.ok()) {
    durable_floor_.store(delta.floor, std::memory_order_release);
    topic_->Flush();
  } else {
    if (!flush_failed_) {
      LogError(absl::StrCat(
          "acknowledgements could not be written, so their messages may be delivered again: ",
          status.message()));
    }
    environment_.flusher->Request(shared_from_this(), false);
  }
  flush_failed_ = !status.ok();
  for (const std::function<void(const Status&)>& done : awaiting) done(status);
}

int64_t Subscription::unacked_messages() const {
  MutexLock lock(&mutex_);
  return table_.has_value() ? static_cast<int64_t>(table_->unacked()) : 0;
}

int64_t Subscription::backlog_bytes() const {
  Seq floor = 0;
  Seq end = 0;
  uint64_t acked_bytes = 0;
  {
    MutexLock lock(&mutex_);
    if (!table_.has_value() || table_->unacked() == 0) return 0;
    floor = table_->floor();
    end = table_->end();
    acked_bytes = table_->acked_bytes_above_floor();
  }
  const uint64_t span = topic_->log()->BytesBefore(end) - topic_->log()->BytesBefore(floor);
  return static_cast<int64_t>(span > acked_bytes ? span - acked_bytes : 0);
}

int64_t Subscription::OldestUnackedAgeMs() const {
  Seq floor = 0;
  {
    MutexLock lock(&mutex_);
    if (!table_.has_value() || table_->unacked() == 0) return 0;
    floor = table_->floor();
  }
  const StatusOr<std::shared_ptr<const Run>> run = topic_->log()->Find(floor);
  if (!run.ok()) return 0;  // it has been acknowledged and dropped meanwhile
  return std::max<int64_t>(
      0, (environment_.clock->NowMicros() - (*run)->Get(floor).publish_time_us) / 1000);
}

}  // namespace hornbeam::services::pubsub
