#include "services/bigquery/core/decimal.h"

#include <gtest/gtest.h>

namespace hornbeam::services::bigquery {
namespace {

std::string Text(std::string_view in) {
  const auto value = ParseDecimal(in, 9);
  if (!value) return "refused";
  std::string out;
  AppendDecimal(*value, 9, &out);
  return out;
}

TEST(DecimalTest, ParsesAndPrints) {
  EXPECT_EQ(Text("1.50"), "1.5");
  EXPECT_EQ(Text("-0.000000001"), "-0.000000001");
  EXPECT_EQ(Text("0"), "0");
  EXPECT_EQ(Text("12e2"), "1200");
  EXPECT_EQ(Text("1.25E-3"), "0.00125");
  EXPECT_EQ(Text("0.0000000005"), "0.000000001");
  EXPECT_EQ(Text("0.00000000049"), "0");
  EXPECT_EQ(Text("99999999999999999999999999999.999999999"),
            "99999999999999999999999999999.999999999");
  for (const char* bad :
       {"", "-", "x", "1x", "1e", "100000000000000000000000000000", "1e40", "."}) {
    EXPECT_EQ(Text(bad), "refused") << bad;
  }
}

TEST(DecimalTest, Bytes) {
  EXPECT_EQ(DecimalFromBytes(std::string("\x01\x02", 2), 9, 9), Int128{0x0201});
  EXPECT_EQ(DecimalFromBytes("\xff", 9, 9), Int128{-1});
  // 1 at BIGNUMERIC's scale of 38, kept at 18: 10^38 little-endian.
  std::string one(17, '\0');
  unsigned __int128 power = 1;
  for (int i = 0; i < 38; ++i) power *= 10;
  for (int i = 0; i < 16; ++i) one[static_cast<size_t>(i)] = static_cast<char>(power >> (8 * i));
  const auto value = DecimalFromBytes(one, 38, 18);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Int128{1'000'000'000'000'000'000});
  one[0] = static_cast<char>(one[0] + 1);
  EXPECT_EQ(DecimalFromBytes(one, 38, 18), std::nullopt);  // would lose a digit
  EXPECT_EQ(DecimalFromBytes(std::string(40, '\x7f'), 9, 9), std::nullopt);
}

}  // namespace
}  // namespace hornbeam::services::bigquery
