#include "connectors/pubsub/ack_ledger.h"

#include <algorithm>

namespace hornbeam::connectors {

void AckLedger::Add(AckIds ids, uint64_t bytes, model::EventTime oldest,
                    model::ProcessingTime now) {
  if (ids.empty()) return;
  MutexLock lock(&mutex_);
  Block& block = blocks_.emplace_back();
  block.first = received_;
  received_ += ids.size();
  block.ids = std::move(ids);
  block.bytes = bytes;
  bytes_ += bytes;
  block.oldest = oldest;
  block.leased_at = now;
}

void AckLedger::Polled(uint64_t count) {
  MutexLock lock(&mutex_);
  polled_ = count;
}

void AckLedger::Mark(engine::EpochId epoch) {
  MutexLock lock(&mutex_);
  const uint64_t marked = marks_.empty() ? sealed_ : marks_.back().second;
  if (polled_ > marked) marks_.emplace_back(epoch, polled_);
}

bool AckLedger::Seal(engine::EpochId epoch) {
  MutexLock lock(&mutex_);
  const uint64_t before = sealed_;
  while (!marks_.empty() && marks_.front().first <= epoch) {
    sealed_ = marks_.front().second;
    marks_.pop_front();
  }
  return sealed_ > before;
}

AckLedger::Acks AckLedger::TakeAcks(size_t max_bytes) {
  MutexLock lock(&mutex_);
  Acks acks;
  acks.through = taken_;
  for (const Block& block : blocks_) {
    if (block.first >= sealed_) break;
    const uint64_t end = std::min(block.end(), sealed_);
    for (uint64_t n = std::max(block.first, taken_); n < end; ++n) {
      const std::string_view id = block.ids[n - block.first];
      // Each id also has a tag and a length in the request.
      if (!acks.ids.empty() && acks.ids.bytes() + 4 * acks.ids.size() + id.size() > max_bytes) {
        taken_ = acks.through;
        return acks;
      }
      acks.ids.Add(id);
      acks.through = n + 1;
    }
  }
  taken_ = acks.through;
  return acks;
}

void AckLedger::Confirm(uint64_t through) {
  MutexLock lock(&mutex_);
  confirmed_ = std::max(confirmed_, through);
  while (!blocks_.empty() && blocks_.front().end() <= confirmed_) {
    bytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }
}

void AckLedger::Returned() {
  MutexLock lock(&mutex_);
  taken_ = confirmed_;
}

AckIds AckLedger::TakeExtensions(model::ProcessingTime now) {
  MutexLock lock(&mutex_);
  AckIds due;
  for (Block& block : blocks_) {
    if (block.end() <= sealed_) continue;
    if (now - block.leased_at < model::Duration{lease_.us / 2}) continue;
    block.leased_at = now;
    for (uint64_t n = std::max(block.first, sealed_); n < block.end(); ++n) {
      due.Add(block.ids[n - block.first]);
    }
  }
  return due;
}

model::ProcessingTime AckLedger::NextExtension() const {
  MutexLock lock(&mutex_);
  model::ProcessingTime next = model::ProcessingTime::Never();
  for (const Block& block : blocks_) {
    if (block.end() <= sealed_) continue;
    next = std::min(next, block.leased_at + model::Duration{lease_.us / 2});
  }
  return next;
}

AckIds AckLedger::TakeFrom(uint64_t from) {
  AckIds ids;
  for (const Block& block : blocks_) {
    for (uint64_t n = std::max(block.first, from); n < block.end(); ++n) {
      ids.Add(block.ids[n - block.first]);
    }
  }
  while (!blocks_.empty() && blocks_.back().first >= from) {
    bytes_ -= blocks_.back().bytes;
    blocks_.pop_back();
  }
  if (!blocks_.empty() && blocks_.back().end() > from) {
    AckIds kept;
    for (uint64_t n = blocks_.back().first; n < from; ++n)
      kept.Add(blocks_.back().ids[n - blocks_.back().first]);
    blocks_.back().ids = std::move(kept);
  }
  received_ = from;
  return ids;
}

AckIds AckLedger::TakeUnpolled() {
  MutexLock lock(&mutex_);
  return TakeFrom(polled_);
}

AckIds AckLedger::TakeUnsealed() {
  MutexLock lock(&mutex_);
  marks_.clear();
  polled_ = sealed_;
  return TakeFrom(sealed_);
}

uint64_t AckLedger::confirmed() const {
  MutexLock lock(&mutex_);
  return confirmed_;
}

uint64_t AckLedger::received() const {
  MutexLock lock(&mutex_);
  return received_;
}

uint64_t AckLedger::outstanding_bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

uint64_t AckLedger::outstanding() const {
  MutexLock lock(&mutex_);
  return received_ - confirmed_;
}

model::EventTime AckLedger::oldest() const {
  MutexLock lock(&mutex_);
  model::EventTime least = model::EventTime::Max();
  for (const Block& block : blocks_) least = std::min(least, block.oldest);
  return least;
}

}  // namespace hornbeam::connectors
