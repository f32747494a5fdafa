// Which messages of a subscription are acknowledged, leased, or free to deliver: the rules of
// delivery as a pure state machine. Time is a parameter; there are no locks and no I/O.
//
// Memory follows what is between the oldest unacknowledged message and the newest one ever
// delivered (12 bytes each, none for a stretch of 512 that is acknowledged); the backlog that was
// never delivered costs nothing.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_LEASE_TABLE_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_LEASE_TABLE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "services/pubsub/store/ack_log.h"
#include "services/pubsub/store/seq_range.h"

namespace hornbeam::services::pubsub {

// Who holds leases: a stream, for its flow control. Holder 0 is everyone who pulls one by one.
using HolderId = uint16_t;

enum class AckOutcome {
  kAcked,
  kAlreadyAcked,
  kNotLeased,  // strict only: the lease has run out, or belongs to a later delivery
  kUnknown,    // no such message yet
};

// Not thread-safe. Times are microseconds of the monotonic clock, rounded up to 10 ms.
class LeaseTable {
 public:
  struct Claimed {
    Seq seq;
    uint16_t attempt;
  };
  struct Outstanding {
    uint64_t messages = 0;
    uint64_t bytes = 0;
  };

  // Starts with what is durably acknowledged and the topic's end. Attempts count up from
  // `attempt_base`, which should differ from process to process so that an attempt of an earlier
  // one is not taken for one of ours. REQUIRES: `acked` is normalised and below `end`.
  LeaseTable(const AckState& acked, Seq end, int64_t now_us, uint16_t attempt_base = 0);

  // The topic has grown to `end`.
  void ExtendTo(Seq end);

  Seq floor() const { return floor_; }
  Seq end() const { return end_; }
  // Messages that could be delivered now.
  uint64_t available() const { return free_ + (end_ - next_); }
  uint64_t unacked() const { return end_ - floor_ - acked_above_floor_; }
  // Of the acknowledged messages above the floor, as far as their sizes are known.
  uint64_t acked_bytes_above_floor() const { return acked_bytes_above_floor_; }

  // Nothing when 65,535 are in use.
  std::optional<HolderId> AddHolder();
  // Its leases run on; the id is used again when the last has ended.
  void RemoveHolder(HolderId holder);
  Outstanding outstanding(HolderId holder) const { return holders_[holder].outstanding; }

  // Leases up to `max` messages until `deadline_us`: first those that came back, then new ones.
  void Claim(size_t max, HolderId holder, int64_t deadline_us, std::vector<Claimed>* out);
  // The size of a claimed message, for flow control.
  void SetSize(const Claimed& claimed, uint32_t bytes);
  // Gives back, as if never claimed, the messages that were not delivered after all.
  void Unclaim(const Claimed* first, size_t count);

  // Acknowledges. Not strict: whatever has become of the lease. Strict: only under the lease of
  // this very attempt.
  AckOutcome Ack(Seq seq, uint16_t attempt, bool strict);
  // Moves the end of the lease; false when this attempt no longer holds one.
  bool ExtendLease(Seq seq, uint16_t attempt, int64_t deadline_us);
  // Ends the lease, so that the message is delivered again; false as above.
  bool Nack(Seq seq, uint16_t attempt);

  // Ends the leases whose deadline is not after `now_us`.
  void Expire(int64_t now_us);
  // When Expire has something to do at the earliest.
  std::optional<int64_t> NextExpiry() const;

  bool has_new_acks() const { return floor_ != taken_floor_ || !new_acks_.empty(); }
  // What was acknowledged since the last call.
  AckState TakeNewAcks();
  AckState FullAckState() const;

 private:
  static constexpr uint64_t kPageSlots = 512;
  // Values of Slot::tick that are not a deadline.
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kAcked = UINT32_MAX;

  struct Slot {
    uint32_t tick = kFree;  // the lease's deadline
    uint32_t size_bytes = 0;
    uint16_t attempt = 0;
    HolderId holder = 0;
  };
  struct Page {
    std::unique_ptr<std::array<Slot, kPageSlots>> slots;  // null when all are acknowledged
    uint32_t acked = 0;
    uint64_t acked_bytes = 0;  // at and above the floor
  };
  struct Holder {
    Outstanding outstanding;
    bool open = false;
  };

  static bool IsLeased(const Slot& slot) { return slot.tick != kFree && slot.tick != kAcked; }
  uint32_t TickAt(int64_t deadline_us) const;
  Page& PageOf(Seq seq) { return pages_[seq / kPageSlots - floor_ / kPageSlots]; }
  const Page& PageOf(Seq seq) const { return pages_[seq / kPageSlots - floor_ / kPageSlots]; }
  // Null when acknowledged together with its page. REQUIRES: floor_ <= seq < next_.
  Slot* Find(Seq seq);
  // Makes the slot of next_, which becomes seq + 1.
  Slot& Admit();
  // Lets every seq below `seq` have a slot, free to deliver.
  void AdmitBelow(Seq seq);
  void Lease(Seq seq, Slot* slot, HolderId holder, uint32_t tick);
  void EndLease(Slot* slot);
  void Free(Seq seq, Slot* slot);
  void MarkAcked(Seq seq, Slot* slot);
  void AdvanceFloor();
  void ExpectExpiry(uint32_t tick, Seq seq) { AppendSeq(&expiries_[tick], seq); }
  // The slot of a live lease of this attempt, or null.
  Slot* FindLease(Seq seq, uint16_t attempt);

  const int64_t base_us_;
  const uint16_t attempt_base_;
  Seq floor_;  // everything below is acknowledged
  Seq next_;   // everything below has been delivered, or come back, at least once
  Seq end_;
  std::deque<Page> pages_;         // from the floor's to next_'s
  std::deque<SeqRange> returned_;  // free to deliver again, in order; acknowledged ones may linger
  uint64_t free_ = 0;              // slots that are kFree
  uint64_t acked_above_floor_ = 0;
  uint64_t acked_bytes_above_floor_ = 0;
  std::map<uint32_t, std::vector<SeqRange>> expiries_;  // by tick; ended leases linger
  std::vector<Holder> holders_;
  std::vector<HolderId> idle_holders_;
  std::vector<SeqRange> new_acks_;
  Seq taken_floor_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_LEASE_TABLE_H_
