// Replays the fuzzer's corpus without a fuzzer, and every prefix and some mutations of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_system.h"
#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hornbeam {
namespace {

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

TEST(JobLogCorpusTest, NothingInTheCorpusCrashes) {
  int files = 0;
  Rng rng(1);
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS_DIR)) {
    const std::string input = *ReadFile(*FileSystem::Posix(), entry.path());
    ++files;
    for (size_t size = 0; size <= input.size(); ++size) Try(input.substr(0, size));
    for (int round = 0; round < 300 && !input.empty(); ++round) {
      std::string mutated = input;
      for (uint64_t n = 1 + rng.Below(3); n > 0; --n) {
        mutated[rng.Below(mutated.size())] = static_cast<char>(rng.Next());
      }
      Try(mutated);
    }
  }
  EXPECT_GE(files, 4);
}

}  // namespace
}  // namespace hornbeam
