// Makes the n-th event of a Nexmark stream, for any n: of every 50, one person, three auctions and 46 bids.
//
// Proportions, sizes and hot keys are the suite's defaults (Beam's NexmarkConfiguration, which the Flink suite shares): half of
// the bids go to the newest auction of its hundred, three in four of the auctions and bids come of the newest person of its
// hundred; a person has 200 bytes, an auction 500, a bid 100, in the mean. An event's content depends on the seed and its
// number alone, so that a stream can be cut into splits and begun anywhere.
#ifndef HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_GENERATOR_H_
#define HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_GENERATOR_H_

#include <cstdint>

#include "benchmarks/nexmark/nexmark_events.h"

namespace hornbeam::benchmarks {

struct NexmarkConfig {
  uint64_t seed = 1;
  int64_t events_per_second = 10'000;  // of event time
  EventTime begin = EventTime::FromSeconds(1'436'918'400);
};

class NexmarkGenerator {
 public:
  explicit NexmarkGenerator(const NexmarkConfig& config) : config_(config) {}

  EventTime TimeOf(int64_t n) const { return config_.begin + Micros(n * 1'000'000 / config_.events_per_second); }
  Event Make(int64_t n) const;

 private:
  class Random;
  Person MakePerson(int64_t n, Random& random) const;
  Auction MakeAuction(int64_t n, Random& random) const;
  Bid MakeBid(int64_t n, Random& random) const;

  const NexmarkConfig config_;
};

}  // namespace hornbeam::benchmarks

#endif  // HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_GENERATOR_H_
