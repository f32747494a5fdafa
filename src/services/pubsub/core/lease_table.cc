#include "services/pubsub/core/lease_table.h"

#include <algorithm>

#include "base/status.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr int64_t kTickUs = 10'000;

}  // namespace

LeaseTable::LeaseTable(const AckState& acked, Seq end, int64_t now_us, uint16_t attempt_base)
    : base_us_(now_us),
      attempt_base_(attempt_base),
      floor_(acked.floor),
      next_(acked.floor),
      end_(end),
      taken_floor_(acked.floor) {
  holders_.resize(1);
  holders_[0].open = true;
  for (const SeqRange& range : acked.ranges) {
    AdmitBelow(range.first);
    while (next_ < range.end) {
      Slot& slot = Admit();
      MarkAcked(next_ - 1, &slot);
    }
  }
  new_acks_.clear();  // these are on disk already
}

void LeaseTable::ExtendTo(Seq end) { end_ = std::max(end_, end); }

std::optional<HolderId> LeaseTable::AddHolder() {
  HolderId holder;
  if (!idle_holders_.empty()) {
    holder = idle_holders_.back();
    idle_holders_.pop_back();
  } else {
    if (holders_.size() > UINT16_MAX) return std::nullopt;
    holder = static_cast<HolderId>(holders_.size());
    holders_.emplace_back();
  }
  holders_[holder].open = true;
  return holder;
}

void LeaseTable::RemoveHolder(HolderId holder) {
  holders_[holder].open = false;
  if (holders_[holder].outstanding.messages == 0) idle_holders_.push_back(holder);
}

uint32_t LeaseTable::TickAt(int64_t deadline_us) const {
  const int64_t tick = (deadline_us - base_us_ + kTickUs - 1) / kTickUs;
  return static_cast<uint32_t>(std::clamp<int64_t>(tick, 1, kAcked - 1));
}

LeaseTable::Slot* LeaseTable::Find(Seq seq) {
  Page& page = PageOf(seq);
  return page.slots == nullptr ? nullptr : &(*page.slots)[seq % kPageSlots];
}

LeaseTable::Slot& LeaseTable::Admit() {
  const uint64_t page_index = next_ / kPageSlots - floor_ / kPageSlots;
  if (page_index == pages_.size()) {
    Page page;
    page.slots = std::make_unique<std::array<Slot, kPageSlots>>();
    page.acked = pages_.empty() ? static_cast<uint32_t>(floor_ % kPageSlots) : 0;
    pages_.push_back(std::move(page));
  }
  Slot& slot = (*pages_.back().slots)[next_ % kPageSlots];
  slot.attempt = attempt_base_;
  ++next_;
  ++free_;
  return slot;
}

void LeaseTable::AdmitBelow(Seq seq) {
  if (next_ >= seq) return;
  returned_.push_back({next_, seq});
  while (next_ < seq) Admit();
}

void LeaseTable::Lease(Seq seq, Slot* slot, HolderId holder, uint32_t tick) {
  --free_;
  slot->tick = tick;
  slot->size_bytes = 0;
  if (++slot->attempt == 0) slot->attempt = 1;
  slot->holder = holder;
  ++holders_[holder].outstanding.messages;
  ExpectExpiry(tick, seq);
}

void LeaseTable::EndLease(Slot* slot) {
  Holder& holder = holders_[slot->holder];
  --holder.outstanding.messages;
  holder.outstanding.bytes -= slot->size_bytes;
  if (!holder.open && holder.outstanding.messages == 0) idle_holders_.push_back(slot->holder);
}

void LeaseTable::Free(Seq seq, Slot* slot) {
  EndLease(slot);
  slot->tick = kFree;
  ++free_;
  if (!returned_.empty() && returned_.back().end == seq) {
    ++returned_.back().end;
  } else {
    returned_.push_back({seq, seq + 1});
  }
}

void LeaseTable::Claim(size_t max, HolderId holder, int64_t deadline_us,
                       std::vector<Claimed>* out) {
  const uint32_t tick = TickAt(deadline_us);
  size_t claimed = 0;
  while (claimed < max && !returned_.empty()) {
    SeqRange& range = returned_.front();
    range.first = std::max(range.first, floor_);
    while (claimed < max && range.first < range.end) {
      const Seq seq = range.first++;
      Slot* slot = Find(seq);
      if (slot == nullptr || slot->tick != kFree) continue;
      Lease(seq, slot, holder, tick);
      out->push_back({seq, slot->attempt});
      ++claimed;
    }
    if (range.first >= range.end) returned_.pop_front();
  }
  while (claimed < max && next_ < end_) {
    Slot& slot = Admit();
    Lease(next_ - 1, &slot, holder, tick);
    out->push_back({next_ - 1, slot.attempt});
    ++claimed;
  }
}

LeaseTable::Slot* LeaseTable::FindLease(Seq seq, uint16_t attempt) {
  if (seq < floor_ || seq >= next_) return nullptr;
  Slot* slot = Find(seq);
  return slot != nullptr && IsLeased(*slot) && slot->attempt == attempt ? slot : nullptr;
}

void LeaseTable::SetSize(const Claimed& claimed, uint32_t bytes) {
  Slot* slot = FindLease(claimed.seq, claimed.attempt);
  if (slot == nullptr) return;
  slot->size_bytes = bytes;
  holders_[slot->holder].outstanding.bytes += bytes;
}

void LeaseTable::Unclaim(const Claimed* first, size_t count) {
  // From the back, so that the front of the queue ends up in order.
  for (const Claimed* claimed = first + count; claimed != first;) {
    --claimed;
    Slot* slot = FindLease(claimed->seq, claimed->attempt);
    if (slot == nullptr) continue;
    EndLease(slot);
    slot->tick = kFree;
    --slot->attempt;
    ++free_;
    if (!returned_.empty() && returned_.front().first == claimed->seq + 1) {
      --returned_.front().first;
    } else {
      returned_.push_front({claimed->seq, claimed->seq + 1});
    }
  }
}

AckOutcome LeaseTable::Ack(Seq seq, uint16_t attempt, bool strict) {
  if (seq < floor_) return AckOutcome::kAlreadyAcked;
  if (seq >= end_) return AckOutcome::kUnknown;
  if (seq >= next_) {
    // Delivered by an earlier process of this server, whose leases are forgotten.
    if (strict) return AckOutcome::kNotLeased;
    AdmitBelow(seq + 1);
  }
  Slot* slot = Find(seq);
  if (slot == nullptr || slot->tick == kAcked) return AckOutcome::kAlreadyAcked;
  if (strict && (!IsLeased(*slot) || slot->attempt != attempt)) return AckOutcome::kNotLeased;
  if (IsLeased(*slot)) {
    EndLease(slot);
    ++free_;  // MarkAcked takes it from there
  }
  MarkAcked(seq, slot);
  return AckOutcome::kAcked;
}

void LeaseTable::MarkAcked(Seq seq, Slot* slot) {
  --free_;
  slot->tick = kAcked;
  ++acked_above_floor_;
  acked_bytes_above_floor_ += slot->size_bytes;
  Page& page = PageOf(seq);
  page.acked_bytes += slot->size_bytes;
  AppendSeq(&new_acks_, seq);
  if (++page.acked == kPageSlots) page.slots = nullptr;
  if (seq == floor_) AdvanceFloor();
}

void LeaseTable::AdvanceFloor() {
  while (floor_ < next_) {
    Page& page = pages_.front();
    const Seq page_end = (floor_ / kPageSlots + 1) * kPageSlots;
    if (page.slots == nullptr) {
      acked_above_floor_ -= page_end - floor_;
      acked_bytes_above_floor_ -= page.acked_bytes;
      floor_ = page_end;
    } else {
      const Slot& slot = (*page.slots)[floor_ % kPageSlots];
      if (slot.tick != kAcked) return;
      --acked_above_floor_;
      acked_bytes_above_floor_ -= slot.size_bytes;
      page.acked_bytes -= slot.size_bytes;
      ++floor_;
    }
    if (floor_ == page_end) pages_.pop_front();
  }
}

bool LeaseTable::ExtendLease(Seq seq, uint16_t attempt, int64_t deadline_us) {
  Slot* slot = FindLease(seq, attempt);
  if (slot == nullptr) return false;
  const uint32_t tick = TickAt(deadline_us);
  if (tick == slot->tick) return true;
  slot->tick = tick;
  ExpectExpiry(tick, seq);
  return true;
}

bool LeaseTable::Nack(Seq seq, uint16_t attempt) {
  Slot* slot = FindLease(seq, attempt);
  if (slot == nullptr) return false;
  Free(seq, slot);
  return true;
}

void LeaseTable::Expire(int64_t now_us) {
  while (!expiries_.empty()) {
    auto due = expiries_.begin();
    const uint32_t tick = due->first;
    if (base_us_ + static_cast<int64_t>(tick) * kTickUs > now_us) return;
    for (const SeqRange& range : due->second) {
      for (Seq seq = std::max(range.first, floor_); seq < range.end; ++seq) {
        Slot* slot = Find(seq);
        if (slot != nullptr && slot->tick == tick) Free(seq, slot);
      }
    }
    expiries_.erase(due);
  }
}

std::optional<int64_t> LeaseTable::NextExpiry() const {
  if (expiries_.empty()) return std::nullopt;
  return base_us_ + static_cast<int64_t>(expiries_.begin()->first) * kTickUs;
}

AckState LeaseTable::TakeNewAcks() {
  AckState state;
  state.floor = floor_;
  for (const SeqRange& range : new_acks_) {
    if (range.end > floor_) state.ranges.push_back(range);
  }
  new_acks_.clear();
  taken_floor_ = floor_;
  state.Normalise();
  return state;
}

AckState LeaseTable::FullAckState() const {
  AckState state;
  state.floor = floor_;
  for (Seq seq = floor_; seq < next_;) {
    const Page& page = PageOf(seq);
    const Seq page_end = std::min((seq / kPageSlots + 1) * kPageSlots, next_);
    if (page.slots == nullptr) {
      if (!state.ranges.empty() && state.ranges.back().end == seq) {
        state.ranges.back().end = page_end;
      } else {
        state.ranges.push_back({seq, page_end});
      }
    } else {
      for (Seq s = seq; s < page_end; ++s) {
        if ((*page.slots)[s % kPageSlots].tick == kAcked) AppendSeq(&state.ranges, s);
      }
    }
    seq = page_end;
  }
  return state;
}

}  // namespace hornbeam::services::pubsub
