// A small seeded generator (SplitMix64). All randomness comes through one, so that a failing test can print its seed.
#ifndef HORNBEAM_BASE_RNG_H_
#define HORNBEAM_BASE_RNG_H_

#include <cstdint>

namespace hornbeam {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// A seed that differs from run to run (from the system's entropy), for ids.
uint64_t RandomSeed();

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_RNG_H_
