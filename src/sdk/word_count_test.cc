#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAre;

TEST(WordCountTest, CountsTheSameInEveryMode) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Lines" >> Create<std::string>(std::vector<std::string>{"a b a", "c a", "", "b"})
               | "Words" >> ParDo<std::string>([](const std::string& line, OutputReceiver<std::string>& out) {
                   for (char c : line) {
                     if (c != ' ') out.Output(std::string(1, c));
                   }
                 })
               | "Pair" >> Map([](const std::string& word) { return KV<std::string, int64_t>{word, 1}; })
               | "Count" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    using Count = KV<std::string, int64_t>;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Count{"a", 3}, Count{"b", 2}, Count{"c", 1}));
  });
}

}  // namespace
}  // namespace hornbeam
