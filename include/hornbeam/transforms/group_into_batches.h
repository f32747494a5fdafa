// GroupIntoBatches: the values of a key and window in batches, for what is called once for many.
//
//   KV<user, Event> | "Batch" >> GroupIntoBatches::OfSize(500).WithMaxBufferingDuration(Seconds(10))   // KV<user, vector<Event>>
//
// A batch comes out when it has so many elements, or bytes, when its first element has waited so long by the clock, or when its
// window expires. It has the least timestamp of its elements, at which it holds the watermark until then.
//
// WithShardedKey spreads a key over several batches that fill at once, on all workers: the result is then
// KV<ShardedKey<user>, vector<Event>>.
#ifndef HORNBEAM_TRANSFORMS_GROUP_INTO_BATCHES_H_
#define HORNBEAM_TRANSFORMS_GROUP_INTO_BATCHES_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/state.h"

namespace hornbeam {

// One of the parts that a key is spread over.
template <typename K>
struct ShardedKey {
  K key{};
  int64_t shard = 0;
  friend auto operator<=>(const ShardedKey&, const ShardedKey&) = default;
};

}  // namespace hornbeam

template <typename K>
struct hornbeam::model::Coder<hornbeam::ShardedKey<K>> {
  static void Encode(const ShardedKey<K>& v, std::string* out) {
    Coder<K>::Encode(v.key, out);
    Coder<int64_t>::Encode(v.shard, out);
  }
  static bool Decode(ByteReader& in, ShardedKey<K>* v) {
    return Coder<K>::Decode(in, &v->key) && Coder<int64_t>::Decode(in, &v->shard);
  }
};

namespace hornbeam {

struct BatchLimits {
  int64_t elements = std::numeric_limits<int64_t>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();  // as the values' coder writes them
  Duration max_buffering{};                             // 0: until it is full or its window expires
};

namespace internal {

// What a batch has so far, but for its values.
struct BatchProgress {
  int64_t bytes = 0;
  EventTime first = EventTime::Max();  // the least timestamp
};
HORNBEAM_CODER(BatchProgress, bytes, first)

template <typename K, typename V>
class BatchFn : public StatefulDoFn {
 public:
  using Batch = KV<K, std::vector<V>>;

  explicit BatchFn(BatchLimits limits) : limits_(limits) {}

  void ProcessElement(const KV<K, V>& element, const ElementContext& context, OutputReceiver<Batch>& out) {
    const int64_t bytes = BytesOf(element.value);
    // One that would make the batch too large begins the next (Beam); bytes come in lumps, a count does not.
    if (!values_.IsEmpty() && bytes > limits_.bytes - progress_.Read().bytes) Flush(element.key, out);
    Add(element.value, bytes, context);
    if (static_cast<int64_t>(values_.size()) >= limits_.elements || progress_.Read().bytes >= limits_.bytes) {
      Flush(element.key, out);
    }
  }
  void OnTimer(const K& key, const TimerContext&, OutputReceiver<Batch>& out) { Flush(key, out); }

 private:
  // Only where a limit looks at it.
  int64_t BytesOf(const V& value) const {
    if (limits_.bytes == BatchLimits{}.bytes) return 0;
    std::string encoded;
    Coder<V>::Encode(value, &encoded);
    return static_cast<int64_t>(encoded.size());
  }

  void Add(const V& value, int64_t bytes, const ElementContext& context) {
    const bool begins = values_.IsEmpty();
    BatchProgress progress = progress_.Read();
    progress.bytes += bytes;
    if (context.timestamp() < progress.first) {
      progress.first = context.timestamp();
      expiry_.WithOutputTimestamp(progress.first).SetRelative(Duration{std::numeric_limits<int64_t>::max()});
    }
    if (begins && limits_.max_buffering > Duration{}) {
      buffered_.WithoutHold().SetRelative(limits_.max_buffering);
    }
    values_.Add(value);
    progress_.Write(progress);
  }

  void Flush(const K& key, OutputReceiver<Batch>& out) {
    if (!values_.IsEmpty()) out.OutputWithTimestamp({key, values_.Take()}, progress_.Read().first);
    progress_.Clear();
    expiry_.Clear();
    buffered_.Clear();
  }

  BatchLimits limits_;
  BagState<V> values_{"values"};
  ValueState<BatchProgress> progress_{"progress"};
  EventTimer expiry_{"expiry"};  // of the window; holds the watermark at the batch's first timestamp
  ProcessingTimer buffered_{"buffered"};
};

}  // namespace internal

class ShardedGroupIntoBatches;

class GroupIntoBatches : public PTransform {
 public:
  // Batches of at most so many elements; > 0.
  static GroupIntoBatches OfSize(int64_t elements) { return GroupIntoBatches({.elements = elements}); }
  // Batches of at most so many bytes, as the values' coder writes them; > 0. A value that is larger is a batch of its own.
  static GroupIntoBatches OfByteSize(int64_t bytes) { return GroupIntoBatches({.bytes = bytes}); }

  GroupIntoBatches WithSize(int64_t elements) const { return With([&](GroupIntoBatches& g) { g.limits_.elements = elements; }); }
  GroupIntoBatches WithByteSize(int64_t bytes) const { return With([&](GroupIntoBatches& g) { g.limits_.bytes = bytes; }); }
  GroupIntoBatches WithMaxBufferingDuration(Duration d) const {
    return With([&](GroupIntoBatches& g) { g.limits_.max_buffering = d; });
  }
  // The elements of a key go to `shards` batches in turn.
  ShardedGroupIntoBatches WithShardedKey(int64_t shards = 16) const;

  template <typename K, typename V>
  PCollection<KV<K, std::vector<V>>> Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    if (limits_.elements <= 0 || limits_.bytes <= 0 || limits_.max_buffering < Duration{}) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(
          absl::StrCat("'", name, "': the size of a batch must be above zero, and its buffering duration not below")));
    }
    return input | NamedTransform{name, ParDo<KV<K, std::vector<V>>>(internal::BatchFn<K, V>(limits_))};
  }

 private:
  explicit GroupIntoBatches(BatchLimits limits) : limits_(limits) {}

  template <typename F>
  GroupIntoBatches With(F change) const {
    GroupIntoBatches changed = *this;
    change(changed);
    return changed;
  }

  BatchLimits limits_;
};

class ShardedGroupIntoBatches : public PTransform {
 public:
  ShardedGroupIntoBatches(GroupIntoBatches batches, int64_t shards) : batches_(std::move(batches)), shards_(shards) {}

  template <typename K, typename V>
  PCollection<KV<ShardedKey<K>, std::vector<V>>> Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    const auto sharded = Map([shards = std::max<int64_t>(1, shards_), next = int64_t{0}](const KV<K, V>& element) mutable {
      next = (next + 1) % shards;
      return KV<ShardedKey<K>, V>{{element.key, next}, element.value};
    });
    return input | NamedTransform{absl::StrCat(name, "/Shard"), sharded} | NamedTransform{absl::StrCat(name, "/Batch"), batches_};
  }

 private:
  GroupIntoBatches batches_;
  int64_t shards_;
};

inline ShardedGroupIntoBatches GroupIntoBatches::WithShardedKey(int64_t shards) const { return {*this, shards}; }

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_GROUP_INTO_BATCHES_H_
