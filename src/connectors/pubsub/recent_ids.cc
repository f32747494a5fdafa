#include "connectors/pubsub/recent_ids.h"

#include <utility>

namespace hornbeam::connectors {
namespace {

void AppendIds(uint64_t bucket, const std::vector<model::KeyHash>& ids, std::string* out) {
  PutVarint(out, bucket);
  PutVarint(out, ids.size());
  static_assert(sizeof(model::KeyHash) == 16);
  out->append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(model::KeyHash));
}

}  // namespace

size_t RecentIds::Bucket::size() const {
  size_t sum = 0;
  for (const auto& part : parts) sum += part.size();
  return sum;
}

RecentIds::Bucket* RecentIds::Open(uint64_t number) {
  auto bucket = std::make_unique<Bucket>();
  bucket->number = number;
  bucket->opened_us = pulled_us_;
  if (!buckets_.empty()) {
    // A steady stream fills each bucket alike: no table needs to grow.
    for (size_t i = 0; i < kParts; ++i) bucket->parts[i].reserve(buckets_.back()->parts[i].size());
  }
  next_number_ = number + 1;
  buckets_.push_back(std::move(bucket));
  return buckets_.back().get();
}

bool RecentIds::Insert(const model::KeyHash& id, uint64_t sequence) {
  if (buckets_.empty() || pulled_us_ - buckets_.back()->opened_us >= options_.bucket.us) {
    Open(next_number_);
  }
  Bucket* const last = buckets_.back().get();
  last->last_sequence = sequence;
  last->confirmed_us = -1;
  if (!last->Part(id).insert(id).second) return false;
  if (delta_.empty() || delta_.back().bucket != last->number) delta_.push_back({last->number, {}});
  delta_.back().ids.push_back(id);
  for (size_t i = buckets_.size() - 1; i-- > 0;) {
    if (buckets_[i]->Part(id).contains(id)) return false;  // it lives on in the newest bucket
  }
  return true;
}

void RecentIds::Prefetch(const model::KeyHash& id) const {
  for (const auto& bucket : buckets_) bucket->Part(id).prefetch(id);
}

void RecentIds::Age(model::Duration pulled, uint64_t confirmed) {
  pulled_us_ = pulled.us;
  for (const auto& bucket : buckets_) {
    if (bucket->confirmed_us < 0 && bucket->last_sequence < confirmed) {
      bucket->confirmed_us = pulled_us_;
    }
  }
  while (!buckets_.empty()) {
    const Bucket& oldest = *buckets_.front();
    const bool closed = pulled_us_ - oldest.opened_us >= options_.bucket.us;
    if (!closed || oldest.confirmed_us < 0) return;
    if (pulled_us_ - oldest.confirmed_us < options_.keep.us) return;
    buckets_.pop_front();
  }
}

void RecentIds::AppendDelta(std::string* out) {
  PutVarint(out, oldest());
  PutVarint(out, delta_.size());
  for (const Added& added : delta_) AppendIds(added.bucket, added.ids, out);
  delta_.clear();
  recorded_oldest_ = oldest();
}

void RecentIds::AppendAll(std::string* out) {
  PutVarint(out, oldest());
  PutVarint(out, buckets_.size());
  std::vector<model::KeyHash> ids;
  for (const auto& bucket : buckets_) {
    ids.clear();
    for (const auto& part : bucket->parts) ids.insert(ids.end(), part.begin(), part.end());
    AppendIds(bucket->number, ids, out);
  }
  delta_.clear();
  recorded_oldest_ = oldest();
}

bool RecentIds::Restore(ByteReader* in) {
  const uint64_t oldest_number = in->Varint();
  while (!buckets_.empty() && buckets_.front()->number < oldest_number) buckets_.pop_front();
  if (next_number_ < oldest_number) next_number_ = oldest_number;
  for (uint64_t left = in->Varint(); left > 0 && in->ok(); --left) {
    const uint64_t number = in->Varint();
    const uint64_t count = in->Varint();
    if (count > in->remaining() / sizeof(model::KeyHash)) return false;
    if (buckets_.empty() || buckets_.back()->number < number) Open(number);
    Bucket* const bucket = buckets_.back().get();
    if (bucket->number != number) {
      // A bucket that has been dropped since; its ids are no longer wanted.
      in->Raw(count * sizeof(model::KeyHash));
      continue;
    }
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t low = in->Fixed64();
      const model::KeyHash id{low, in->Fixed64()};
      bucket->Part(id).insert(id);
    }
    bucket->confirmed_us = pulled_us_;
  }
  recorded_oldest_ = oldest();
  return in->ok();
}

void RecentIds::Clear() {
  buckets_.clear();
  delta_.clear();
  next_number_ = 0;
  recorded_oldest_ = 0;
}

size_t RecentIds::size() const {
  size_t sum = 0;
  for (const auto& bucket : buckets_) sum += bucket->size();
  return sum;
}

}  // namespace hornbeam::connectors
