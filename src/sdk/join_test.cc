// CoGroupByKey and the joins on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/co_group_by_key.h"
#include "hornbeam/transforms/create.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Sale = KV<std::string, int64_t>;
using Name = KV<std::string, std::string>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

const std::vector<Sale> kSales = {{"a", 1}, {"a", 2}, {"c", 3}};
const std::vector<Name> kNames = {{"a", "Anna"}, {"b", "Bob"}, {"a", "Anton"}};

TEST(CoGroupByKeyTest, HasTheValuesOfEachInput) {
  using Group = KV<std::string, std::tuple<std::vector<int64_t>, std::vector<std::string>, std::vector<int64_t>>>;
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Group> groups;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto sales = pipeline | "Sales" >> Create<Sale>(kSales);
      const auto names = pipeline | "Names" >> Create<Name>(kNames);
      const auto more = pipeline | "More" >> Create<Sale>(std::vector<Sale>{{"b", 9}});  // of a type that there is already
      std::tuple(sales, names, more) | "Group" >> CoGroupByKey() | "Collect" >> Collect(&groups);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<Group> sorted = groups.values();
    for (Group& group : sorted) {
      std::sort(std::get<0>(group.value).begin(), std::get<0>(group.value).end());
      std::sort(std::get<1>(group.value).begin(), std::get<1>(group.value).end());
    }
    EXPECT_THAT(sorted, UnorderedElementsAre(Group{"a", {{1, 2}, {"Anna", "Anton"}, {}}}, Group{"b", {{}, {"Bob"}, {9}}},
                                             Group{"c", {{3}, {}, {}}}));
  });
}

template <typename Joined, typename Join>
std::vector<std::string> Pairs(const TestMode& mode, Join join) {
  Collector<Joined> pairs;
  const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
    const auto sales = pipeline | "Sales" >> Create<Sale>(kSales);
    const auto names = pipeline | "Names" >> Create<Name>(kNames);
    std::tuple(sales, names) | "Join" >> join | "Collect" >> Collect(&pairs);
  });
  EXPECT_TRUE(status.ok()) << status;
  const auto amount = [](const auto& left) {
    if constexpr (std::is_same_v<std::decay_t<decltype(left)>, int64_t>) return absl::StrCat(left);
    else return left ? absl::StrCat(*left) : "-";
  };
  const auto name = [](const auto& right) -> std::string {
    if constexpr (std::is_same_v<std::decay_t<decltype(right)>, std::string>) return right;
    else return right.value_or("-");
  };
  std::vector<std::string> all;
  for (const Joined& pair : pairs.values()) {
    all.push_back(absl::StrCat(pair.key, " ", amount(pair.value.key), " ", name(pair.value.value)));
  }
  return all;
}

TEST(JoinTest, InnerLeftRightAndFull) {
  using Maybe = std::optional<int64_t>;
  using MaybeName = std::optional<std::string>;
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    EXPECT_THAT((Pairs<KV<std::string, KV<int64_t, std::string>>>(mode, InnerJoin())),
                UnorderedElementsAre("a 1 Anna", "a 2 Anna", "a 1 Anton", "a 2 Anton"));
    EXPECT_THAT((Pairs<KV<std::string, KV<int64_t, MaybeName>>>(mode, LeftOuterJoin())),
                UnorderedElementsAre("a 1 Anna", "a 2 Anna", "a 1 Anton", "a 2 Anton", "c 3 -"));
    EXPECT_THAT((Pairs<KV<std::string, KV<Maybe, std::string>>>(mode, RightOuterJoin())),
                UnorderedElementsAre("a 1 Anna", "a 2 Anna", "a 1 Anton", "a 2 Anton", "b - Bob"));
    EXPECT_THAT((Pairs<KV<std::string, KV<Maybe, MaybeName>>>(mode, FullOuterJoin())),
                UnorderedElementsAre("a 1 Anna", "a 2 Anna", "a 1 Anton", "a 2 Anton", "b - Bob", "c 3 -"));
  });
}

// Values meet within their window only; a late one meets all that there was where panes accumulate.
TEST(JoinTest, IsByWindowAndPane) {
  using Joined = KV<std::string, KV<int64_t, std::string>>;
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Joined> pairs;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto windowing = WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(60)).AccumulatingFiredPanes();
      const auto sales = pipeline | "Sales" >> TestStream<Sale>()
                                                   .AddTimestamped({{{"a", 1}, At(1)}, {{"a", 2}, At(11)}})
                                                   .AdvanceWatermarkTo(At(30))
                                                   .AddTimestamped({{{"a", 3}, At(2)}})
                                                   .AdvanceWatermarkToInfinity() |
                         "SalesWindow" >> windowing;
      const auto names = pipeline | "Names" >> Create<Name>({{{"a", "Anna"}, At(5)}, {{"a", "Anton"}, At(25)}}) |
                         "NamesWindow" >> windowing;
      std::tuple(sales, names) | "Join" >> InnerJoin() | "Collect" >> Collect(&pairs);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> all;
    for (const auto& c : pairs.elements()) {
      all.push_back(absl::StrCat(c.value.value.key, " ", c.value.value.value, " ", c.pane.index, " ",
                                 c.pane.timing == PaneTiming::kLate ? "late" : "on time"));
    }
    EXPECT_THAT(all, UnorderedElementsAre("1 Anna 0 on time", "1 Anna 1 late", "3 Anna 1 late"));
  });
}

TEST(JoinTest, CollectionsInDifferentWindowsAreRefused) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto sales = pipeline | "Sales" >> Create<Sale>(kSales) | "W" >> WindowInto(FixedWindows(Seconds(10)));
    const auto names = pipeline | "Names" >> Create<Name>(kNames);
    std::tuple(sales, names) | "Join" >> InnerJoin();
  });
  EXPECT_THAT(status.message(), HasSubstr("'Join/Group' joins collections in different windows, "));
  EXPECT_THAT(status.message(), HasSubstr("give them the same with WindowInto"));
}

}  // namespace
}  // namespace hornbeam
