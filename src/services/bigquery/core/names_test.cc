#include "services/bigquery/core/names.h"

#include <gtest/gtest.h>

namespace hornbeam::services::bigquery {
namespace {

TEST(NamesTest, PhysicalNamesTellCasesApart) {
  EXPECT_EQ(PhysicalName("orders"), "orders");
  EXPECT_EQ(PhysicalName("Orders"), "Orders~10");
  EXPECT_EQ(PhysicalName("ORDERS"), "ORDERS~f3");
  EXPECT_NE(PhysicalName("oRders"), PhysicalName("orDers"));
  EXPECT_EQ(PhysicalTable({"example.com:p", "d", "we\"ird"}), "\"example.com:p.d\".\"we\"\"ird\"");
}

TEST(NamesTest, Resources) {
  const auto table = ParseTableResource("projects/p/datasets/d/tables/t");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->ToString(), "p:d.t");
  EXPECT_EQ(table->ResourceName(), "projects/p/datasets/d/tables/t");
  for (const char* name : {"projects/p/datasets/d/tables/t/_default",
                           "projects/p/datasets/d/tables/t/streams/_default"}) {
    const auto stream = ParseStreamResource(name);
    ASSERT_TRUE(stream.ok()) << name;
    EXPECT_TRUE(stream->is_default());
  }
  EXPECT_FALSE(ParseStreamResource("projects/p/datasets/d/tables/t").ok());
  EXPECT_FALSE(ParseTableResource("projects//datasets/d/tables/t").ok());
}

TEST(NamesTest, Ids) {
  EXPECT_TRUE(CheckDatasetId("a_1").ok());
  EXPECT_FALSE(CheckDatasetId("a-1").ok());
  EXPECT_FALSE(CheckDatasetId("").ok());
  EXPECT_TRUE(CheckTableId("a-1 b").ok());
  EXPECT_FALSE(CheckTableId("a.b").ok());
}

}  // namespace
}  // namespace hornbeam::services::bigquery
