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
  EXPECT_NE(restored.Find(Tens(0)), nullptr);
  ASSERT_TRUE(restored.Restore(dropped).ok());
  EXPECT_EQ(restored.Find(Tens(0)), nullptr);
  std::string all;
  restored.LogAll(&all);
  EXPECT_THAT(all, IsEmpty());
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
