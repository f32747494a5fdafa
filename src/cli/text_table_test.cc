#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace hornbeam::cli {
namespace {

TEST(TextTableTest, AlignsColumnsByTheirWidestCell) {
  TextTable table({{"origin"}, {"flights", true}});
  table.Add({"EWR", "120835"});
  table.Add({"LaGuardia", "7"});
  EXPECT_EQ(table.ToString("  "),
            "  origin     flights\n"
            "  ─────────  ───────\n"
            "  EWR         120835\n"
            "  LaGuardia        7\n");
}

TEST(TextTableTest, CountsCodePointsAndKeepsRowsOnOneLine) {
  TextTable table({{"a"}, {"b"}});
  table.Add({"é", "x\ny"});
  table.Add({"ab", "z"});
  EXPECT_EQ(table.ToString(),
            "a   b\n"
            "──  ────\n"
            "é   x\\ny\n"
            "ab  z\n");
}

TEST(TextTableTest, CommandsNoTerminal) {
  TextTable table({{"a\x1b"}});
  table.Add({std::string("\x1b[31m\x7f\0\xc2\x9b é", 12)});
  EXPECT_EQ(table.ToString(),
            "a\\x1b\n"
            "──────────────────────\n"
            "\\x1b[31m\\x7f\\x00\\x9b é\n");
}

TEST(GroupedTest, PutsACommaBetweenThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(-1234567), "-1,234,567");
  EXPECT_EQ(Grouped(-123), "-123");
}

}  // namespace
}  // namespace hornbeam::cli
