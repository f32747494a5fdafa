#include "engine/operators/side_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::Window;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using View = ListView<int64_t>;

Window Tens(int64_t start_s) { return {EventTime::FromSeconds(start_s), EventTime::FromSeconds(start_s + 10)}; }
SideUpdate<View> Pane(int64_t start_s, std::vector<int64_t> values) {
  return {Tens(start_s), std::make_shared<const View>(View::Make(std::move(values)))};
}

class SideInputTest : public ::testing::Test {
 protected:
  SideInput<View> side_{model::WindowFn::Fixed(model::Seconds(10))};
};

TEST_F(SideInputTest, ThereIsNothingToSeeUntilAPaneOrTheWatermarkHasCome) {
  EXPECT_EQ(side_.Find(Tens(0)), nullptr);
  side_.Put(Pane(0, {1, 2}));
  ASSERT_NE(side_.Find(Tens(0)), nullptr);
  EXPECT_THAT(side_.Find(Tens(0))->Get(), ElementsAre(1, 2));
  EXPECT_EQ(side_.Find(Tens(10)), nullptr);
  side_.AdvanceWatermark(EventTime::FromSeconds(20));
  ASSERT_NE(side_.Find(Tens(10)), nullptr);
  EXPECT_THAT(side_.Find(Tens(10))->Get(), IsEmpty());
}

// Late side data brings a view back that nobody will ask for: it goes again, from memory and from the log.
TEST_F(SideInputTest, AViewThatComesBackAfterItWasDroppedIsDroppedAgain) {
  side_.Put(Pane(0, {1}));
  const std::string put = side_.TakeChanges();
  side_.DropBefore(EventTime::FromSeconds(50));
  const std::string dropped = side_.TakeChanges();
  side_.Put(Pane(0, {1, 2}));
  side_.DropBefore(EventTime::FromSeconds(50));
  EXPECT_EQ(side_.Find(Tens(0)), nullptr);
  EXPECT_EQ(side_.TakeChanges(), dropped);

  SideInput<View> restored(model::WindowFn::Fixed(model::Seconds(10)));
  ASSERT_TRUE(restored.Restore(put).ok());
  ASSERT_TRUE(restored.Restore(dropped).ok());
  EXPECT_EQ(restored.Find(Tens(0)), nullptr);
  std::string all;
  restored.LogAll(&all);
  EXPECT_THAT(all, IsEmpty());
}

// Panes that accumulate cost the log what they have more than the last one, also over a restart and a rewriting.
TEST_F(SideInputTest, WhatAccumulatesIsLoggedOnce) {
  std::vector<int64_t> all;
  std::vector<std::string> log;
  size_t bytes = 0;
  auto side = std::make_unique<SideInput<View>>(model::WindowFn::Fixed(model::Seconds(10)));
  for (int64_t i = 0; i < 1000; ++i) {
    all.push_back(i);
    SideUpdate<View> pane = Pane(0, all);
    pane.accumulated = std::make_shared<const std::vector<int64_t>>(all);
    side->Put(pane);
    log.push_back(side->TakeChanges());
    bytes += log.back().size();
    if (i % 100 != 50) continue;
    if (i % 200 == 50) {  // written as a whole
      log.assign(1, "");
      side->LogAll(&log[0]);
    }
    side = std::make_unique<SideInput<View>>(model::WindowFn::Fixed(model::Seconds(10)));
    for (const std::string& record : log) ASSERT_TRUE(side->Restore(record).ok());
    ASSERT_NE(side->Find(Tens(0)), nullptr);
    ASSERT_EQ(side->Find(Tens(0))->Get(), all);
  }
  EXPECT_LT(bytes, 100'000u) << "whole panes would have millions";
  side->Put(Pane(0, {7}));
  SideInput<View> replaced(model::WindowFn::Fixed(model::Seconds(10)));
  for (const std::string& record : log) ASSERT_TRUE(replaced.Restore(record).ok());
  ASSERT_TRUE(replaced.Restore(side->TakeChanges()).ok());
  EXPECT_THAT(replaced.Find(Tens(0))->Get(), ElementsAre(7)) << "a pane that does not accumulate takes the place of all";
}

// A map with a key twice is an error also when it has been restored, whichever way it was written.
TEST(SideInputOfMapTest, AKeyThatComesTwiceIsAnErrorOverRestarts) {
  using Map = MapView<int64_t, int64_t>;
  using Elements = std::vector<Map::Element>;
  const Elements first{{1, 10}, {1, 11}}, second{{1, 10}, {1, 11}, {2, 20}};
  for (const bool rewritten : {false, true}) {
    std::string log;
    SideInput<Map> side{model::WindowFn::Global()};
    for (const Elements& elements : {first, second}) {
      side.Put({Window::Global(), std::make_shared<const Map>(Map::Make(elements)), std::make_shared<const Elements>(elements)});
      log += side.TakeChanges();
      if (!rewritten) continue;
      log.clear();
      side.LogAll(&log);
    }
    SideInput<Map> restored{model::WindowFn::Global()};
    ASSERT_TRUE(restored.Restore(log).ok());
    ASSERT_NE(restored.Find(Window::Global()), nullptr);
    EXPECT_THROW(restored.Find(Window::Global())->Get(), std::invalid_argument);
  }
}

TEST_F(SideInputTest, AMalformedRecordIsAnError) {
  side_.Put(Pane(0, {1}));
  const std::string put = side_.TakeChanges();
  SideInput<View> restored(model::WindowFn::Fixed(model::Seconds(10)));
  EXPECT_TRUE(absl::IsDataLoss(restored.Restore(put.substr(0, put.size() - 1))));
  EXPECT_TRUE(absl::IsDataLoss(restored.Restore("x" + put)));
}

}  // namespace
}  // namespace hornbeam::engine
