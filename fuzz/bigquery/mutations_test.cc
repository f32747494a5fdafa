// Without a fuzzer: the seeds, every prefix of them, and some thousands of mutations.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/rng.h"
#include "fuzz_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hornbeam::services::bigquery {
namespace {

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

TEST(RowDecoderMutations, NothingCrashes) {
  Rng rng(1);
  for (const std::string& seed : Seeds()) {
    for (size_t size = 0; size <= seed.size(); ++size) Try(seed.substr(0, size));
    for (int round = 0; round < 3000; ++round) {
      std::string mutated = seed;
      for (uint64_t n = 1 + rng.Below(4); n > 0; --n)
        mutated[rng.Below(mutated.size())] = static_cast<char>(rng.Next());
      Try(mutated);
    }
  }
}

}  // namespace
}  // namespace hornbeam::services::bigquery
