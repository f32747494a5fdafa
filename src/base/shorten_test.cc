#include "base/shorten.h"

#include <gtest/gtest.h>

namespace hornbeam {
namespace {

TEST(ShortenTest, KeepsWhatIsShortAndCutsBetweenCharacters) {
  EXPECT_EQ(Shortened("", 4), "");
  EXPECT_EQ(Shortened("abcd", 4), "abcd");
  EXPECT_EQ(Shortened("abcde", 4), "abcd... (5 bytes)");
  EXPECT_EQ(Shortened("\xe2\x82\xac\xe2\x82\xac", 4), "\xe2\x82\xac... (6 bytes)");
  EXPECT_EQ(Shortened("\x80\x80\x80", 2), "... (3 bytes)");
  EXPECT_LT(Shortened(std::string(5'000'000, 'x')).size(), 1100u);
}

}  // namespace
}  // namespace hornbeam
