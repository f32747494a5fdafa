#include "connectors/pubsub/lease_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace hornbeam::connectors {
namespace {

// Pub/Sub takes 512 KiB a request.
constexpr size_t kMaxRequestBytes = 400 << 10;
constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr std::chrono::milliseconds kTick{1'000};
constexpr std::chrono::milliseconds kFirstBackoff{20};
constexpr std::chrono::milliseconds kLongestBackoff{2'000};
constexpr std::chrono::milliseconds kFinalTimeout{5'000};

// How long a call may take that must be over at `deadline`; 0: it is too late.
std::chrono::milliseconds TimeFor(std::chrono::steady_clock::time_point deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return std::chrono::milliseconds{0};
  return std::min(kTimeout, std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now));
}

// The end of the request that begins with id number `begin`.
size_t RequestEnd(const AckIds& ids, size_t begin) {
  size_t bytes = 0;
  size_t end = begin;
  while (end < ids.size() && (end == begin || bytes + ids[end].size() + 4 <= kMaxRequestBytes)) {
    bytes += ids[end++].size() + 4;
  }
  return end;
}

}  // namespace

LeaseKeeper::LeaseKeeper(SubscriptionClient* client, AckLedger* ledger, ReaderMark* mark,
                         const Clock* clock, int lease_seconds, std::function<void()> wake)
    : client_(client),
      ledger_(ledger),
      mark_(mark),
      clock_(clock),
      lease_seconds_(lease_seconds),
      wake_(std::move(wake)),
      mark_renewed_{clock->NowMicros()} {}

LeaseKeeper::~LeaseKeeper() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
}

void LeaseKeeper::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void LeaseKeeper::Nudge() {
  {
    MutexLock lock(&mutex_);
    nudged_ = true;
  }
  changed_.Signal();
}

void LeaseKeeper::GiveBackUnpolled() {
  give_back_.store(true, std::memory_order_release);
  Nudge();
}

void LeaseKeeper::Run() {
  std::chrono::milliseconds backoff{0};
  while (true) {
    bool tick = false;
    {
      MutexLock lock(&mutex_);
      if (backoff.count() > 0 && !stopping_) {
        changed_.WaitFor(&mutex_, backoff);
      } else if (!nudged_ && !stopping_) {
        changed_.WaitFor(&mutex_, kTick);
      }
      if (stopping_) break;
      tick = !nudged_;
      nudged_ = false;
    }
    backoff = SendAcks(Deadline::max()) ? std::chrono::milliseconds{0}
                         : std::clamp(backoff * 2, kFirstBackoff, kLongestBackoff);
    if (give_back_.load(std::memory_order_acquire)) {
      GiveBack(ledger_->TakeUnpolled(), std::chrono::steady_clock::now() + kFinalTimeout);
    }
    ExtendLeases();
    RenewMark();
    if (tick) wake_();
  }
  const Deadline give_up = std::chrono::steady_clock::now() + kFinalTimeout;
  while (!SendAcks(give_up) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kFirstBackoff);  // nobody is left who could signal
  }
  GiveBack(ledger_->TakeUnsealed(), give_up);
  if (mark_ != nullptr) mark_->Remove();
}

bool LeaseKeeper::SendAcks(Deadline deadline) {
  while (true) {
    const AckLedger::Acks acks = ledger_->TakeAcks(kMaxRequestBytes);
    if (acks.ids.empty()) {
      last_problem_.clear();
      return true;
    }
    const std::chrono::milliseconds timeout = TimeFor(deadline);
    if (timeout.count() == 0) {
      ledger_->Returned();
      return false;
    }
    const Status status = client_->Acknowledge(acks.ids, 0, acks.ids.size(), timeout);
    if (status.ok()) {
      ledger_->Confirm(acks.through);
      continue;
    }
    if (last_problem_ != status.message()) {
      last_problem_ = std::string(status.message());
      LogWarning(absl::StrCat("acknowledging: ", last_problem_));
    }
    if (IsTransient(status)) {
      ledger_->Returned();
      return false;
    }
    // Refused for good, as an ack id can be that is too old. The message comes again, is known by
    // its id, and is acknowledged by its new ack id.
    ledger_->Confirm(acks.through);
  }
}

void LeaseKeeper::ExtendLeases() {
  const AckIds ids = ledger_->TakeExtensions({clock_->NowMicros()});
  for (size_t begin = 0; begin < ids.size();) {
    const size_t end = RequestEnd(ids, begin);
    // A lease that could not be extended lapses, and its message comes again: no harm.
    client_->ModifyAckDeadline(ids, begin, end, lease_seconds_, kTimeout).IgnoreError();
    begin = end;
  }
}

void LeaseKeeper::GiveBack(const AckIds& ids, Deadline deadline) {
  for (size_t begin = 0; begin < ids.size();) {
    const size_t end = RequestEnd(ids, begin);
    const std::chrono::milliseconds timeout = TimeFor(deadline);
    if (timeout.count() == 0) return;  // the leases lapse
    if (!client_->ModifyAckDeadline(ids, begin, end, 0, timeout).ok()) return;
    begin = end;
  }
}

void LeaseKeeper::RenewMark() {
  const model::ProcessingTime now{clock_->NowMicros()};
  if (mark_ == nullptr || now - mark_renewed_ < ReaderMark::kRenewEvery) return;
  mark_renewed_ = now;
  mark_->Put(now).IgnoreError();  // others will not be warned
}

}  // namespace hornbeam::connectors
