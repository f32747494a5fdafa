#include "engine/operators/awaited_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::Window;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Window Of(int64_t start, int64_t end) { return {EventTime::FromSeconds(start), EventTime::FromSeconds(end)}; }

class AwaitedWindowsTest : public ::testing::Test {
 protected:
  std::vector<Window> Take(size_t side, const Window& awaited) {
    std::vector<Window> main;
    awaited_.Take(side, awaited, &main);
    return main;
  }
  std::vector<Window> TakePassed(size_t side, int64_t watermark_s) {
    std::vector<Window> main;
    awaited_.TakePassed(side, EventTime::FromSeconds(watermark_s), &main);
    return main;
  }

  AwaitedWindows awaited_{2};
};

TEST_F(AwaitedWindowsTest, APaneFreesWhatHasWaitedForItsWindow) {
  awaited_.Add(0, Of(0, 10), Of(0, 5));
  awaited_.Add(0, Of(0, 10), Of(5, 10));
  awaited_.Add(0, Of(10, 20), Of(10, 15));
  awaited_.Add(1, Of(0, 10), Of(1, 2));
  EXPECT_THAT(Take(0, Of(20, 30)), IsEmpty());
  EXPECT_THAT(Take(0, Of(0, 10)), ElementsAre(Of(0, 5), Of(5, 10)));
  EXPECT_THAT(Take(0, Of(0, 10)), IsEmpty()) << "it waits no longer";
  EXPECT_THAT(Take(1, Of(0, 10)), ElementsAre(Of(1, 2))) << "side inputs are apart";
}

TEST_F(AwaitedWindowsTest, AWatermarkFreesWhatHasWaitedForWindowsThatItHasPassed) {
  awaited_.Add(0, Of(5, 30), Of(0, 1));  // begins early and ends late
  awaited_.Add(0, Of(10, 20), Of(1, 2));
  awaited_.Add(0, Of(0, 10), Of(2, 3));
  EXPECT_THAT(TakePassed(0, 9), IsEmpty());
  EXPECT_THAT(TakePassed(0, 10), ElementsAre(Of(2, 3)));
  EXPECT_THAT(TakePassed(1, 100), IsEmpty());
  EXPECT_THAT(TakePassed(0, 100), ElementsAre(Of(1, 2), Of(0, 1))) << "in the order of their ends";
}

TEST_F(AwaitedWindowsTest, TheGlobalWindowIsPassedAtTheEndOfTime) {
  awaited_.Add(0, Window::Global(), Of(0, 1));
  std::vector<Window> main;
  awaited_.TakePassed(0, EventTime::EndOfGlobalWindow(), &main);
  EXPECT_THAT(main, IsEmpty());
  awaited_.TakePassed(0, EventTime::Max(), &main);
  EXPECT_THAT(main, ElementsAre(Of(0, 1)));
}

}  // namespace
}  // namespace hornbeam::engine
