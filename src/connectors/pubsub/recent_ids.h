// The ids of the messages that a subscription gave lately, so that one that comes again is known.
//
// An id is a 128-bit fingerprint. Ids lie in buckets in the order in which they came, a minute to a
// bucket, and a bucket is dropped as a whole when ten minutes have passed in which the source was
// pulling, counted from when every message in it was confirmed to be acknowledged. While the source
// does not pull nothing ages: a redelivery that waited out an outage still meets its id.
//
// Not thread-safe. Pure: times are given. The state's format is in docs/connectors.md.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_RECENT_IDS_H_
#define HORNBEAM_CONNECTORS_PUBSUB_RECENT_IDS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/bytes.h"
#include "model/key_hash.h"
#include "model/time.h"

namespace hornbeam::connectors {

class RecentIds {
 public:
  struct Options {
    model::Duration bucket = model::Minutes(1);
    model::Duration keep = model::Minutes(10);
  };

  RecentIds() : RecentIds(Options{}) {}
  explicit RecentIds(const Options& options) : options_(options) {}

  // Takes note of the id of message number `sequence` (ascending from call to call). False: it was
  // there already; it then stays for as long as if it were new.
  bool Insert(const model::KeyHash& id, uint64_t sequence);
  // Brings the memory that Insert(id) will look at nearer.
  void Prefetch(const model::KeyHash& id) const;

  // The source has been pulling for `pulled` in all (it does not go back), and every message up to
  // number `confirmed`, that one not included, is acknowledged for certain. Drops what is old.
  void Age(model::Duration pulled, uint64_t confirmed);

  // Appends what has changed since the last AppendDelta or AppendAll to *out.
  void AppendDelta(std::string* out);
  // Appends everything.
  void AppendAll(std::string* out);
  // Adds what one of the two above wrote; in the order in which they were written. What is restored
  // is kept as if it had just been confirmed.
  [[nodiscard]] bool Restore(ByteReader* in);
  void Clear();

  bool changed() const { return !delta_.empty() || oldest() != recorded_oldest_; }
  size_t size() const;
  size_t buckets() const { return buckets_.size(); }

 private:
  // A hash table that grows in one step stops the pipeline for that long; many small ones do not.
  static constexpr size_t kParts = 32;
  struct Bucket {
    uint64_t number = 0;
    uint64_t last_sequence = 0;  // of the messages in it
    int64_t opened_us = 0;       // in time pulled
    int64_t confirmed_us = -1;   // in time pulled; -1: not all are
    std::array<absl::flat_hash_set<model::KeyHash>, kParts> parts;

    absl::flat_hash_set<model::KeyHash>& Part(const model::KeyHash& id) {
      return parts[(id.high >> 32) % kParts];
    }
    const absl::flat_hash_set<model::KeyHash>& Part(const model::KeyHash& id) const {
      return parts[(id.high >> 32) % kParts];
    }
    size_t size() const;
  };

  uint64_t oldest() const { return buckets_.empty() ? next_number_ : buckets_.front()->number; }
  Bucket* Open(uint64_t number);

  const Options options_;
  std::deque<std::unique_ptr<Bucket>> buckets_;  // ascending numbers; new ids go into the last
  uint64_t next_number_ = 0;
  int64_t pulled_us_ = 0;
  // Not yet recorded: the ids that were added, by bucket.
  struct Added {
    uint64_t bucket = 0;
    std::vector<model::KeyHash> ids;
  };
  std::vector<Added> delta_;
  uint64_t recorded_oldest_ = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_RECENT_IDS_H_
