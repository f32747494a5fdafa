#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/bigquery/row_descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "hornbeam/io/bigquery_row.h"

namespace hornbeam::io {
namespace {

using testing::HasSubstr;

TableSchema Schema() {
  return {{{"id", ColumnType::kString, ColumnMode::kRequired},
           {"amount", ColumnType::kInt64},
           {"price", ColumnType::kFloat64},
           {"paid", ColumnType::kBool},
           {"at", ColumnType::kTimestamp},
           {"day", ColumnType::kDate},
           {"raw", ColumnType::kBytes},
           {"exact", ColumnType::kNumeric},
           {"tags", ColumnType::kString, ColumnMode::kRepeated},
           {"store",
            ColumnType::kRecord,
            ColumnMode::kNullable,
            {{"city", ColumnType::kString, ColumnMode::kRequired}, {"floor", ColumnType::kInt64}}},
           {"lines",
            ColumnType::kRecord,
            ColumnMode::kRepeated,
            {{"sku", ColumnType::kString}, {"n", ColumnType::kInt64}}}}};
}

class RowWriterTest : public testing::Test {
 protected:
  RowWriterTest() : layout_(*RowLayout::Make(Schema())) {}
  template <typename F>
  Status Write(F&& fill) {
    row_.clear();
    RowWriter writer(layout_.get(), &row_);
    fill(writer);
    return writer.Finish();
  }
  std::string Error(const std::function<void(RowWriter&)>& fill) {
    return std::string(Write(fill).message());
  }
  std::unique_ptr<const RowLayout> layout_;
  std::string row_;
};

void FillAll(RowWriter& row) {
  row.Set("id", "o1");
  row.Set("amount", -7);
  row.Set("price", 2.5);
  row.Set("paid", true);
  row.Set("at", model::EventTime::FromSeconds(1514764800));
  row.Set("day", "2018-01-31");
  row.Set("raw", std::string("\0\xff", 2));
  row.Set("exact", "12.34");
  row.Set("tags", std::vector<std::string>{"a", "b"});
  row.SetRecord("store", [](RowWriter& store) {
    store.Set("city", std::string(200, 'x'));  // a length of two bytes
    store.Set("floor", 3);
  });
  for (int n : {1, 2}) row.SetRecord("lines", [n](RowWriter& line) { line.Set("n", n); });
}

TEST_F(RowWriterTest, WritesWhatTheDescriptorSays) {
  ASSERT_TRUE(Write(FillAll).ok());
  google::protobuf::FileDescriptorProto file;
  file.set_name("row.proto");
  connectors::DescribeRow(*layout_, file.add_message_type());
  google::protobuf::DescriptorPool pool;
  const auto* const built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> message(
      factory.GetPrototype(built->message_type(0))->New());
  ASSERT_TRUE(message->ParseFromString(row_));
  EXPECT_EQ(message->SerializeAsString(), row_);
  EXPECT_EQ(message->GetReflection()->GetUnknownFields(*message).field_count(), 0);
  const std::string text = message->ShortDebugString();
  EXPECT_THAT(text, HasSubstr("id: \"o1\" amount: -7 price: 2.5 paid: true at: 1514764800000000 "
                              "day: 17562 raw: \"\\000\\377\" exact: \"12.34\" tags: \"a\" "
                              "tags: \"b\" store { city: \"xxx"));
  EXPECT_THAT(text, HasSubstr("floor: 3 } lines { n: 1 } lines { n: 2 }"));
}

TEST_F(RowWriterTest, ShowsARowAsJson) {
  ASSERT_TRUE(Write([](RowWriter& row) {
                row.Set("id", "o\"1");
                row.Set("amount", 7);
                row.Set("at", model::EventTime::FromSeconds(1514764800));
                row.Set("day", "1969-12-31");
                row.Set("raw", "ab");
                row.Set("tags", std::vector<std::string>{"a", "b"});
                row.SetRecord("store", [](RowWriter& store) { store.Set("city", "x"); });
              }).ok());
  EXPECT_EQ(connectors::RowToJson(*layout_, row_),
            R"({"id":"o\"1","amount":7,"at":"2018-01-01T00:00:00Z","day":"1969-12-31",)"
            R"("raw":"YWI=","tags":["a","b"],"store":{"city":"x"}})");
  for (size_t cut = 0; cut < row_.size(); ++cut) {
    connectors::RowToJson(*layout_, std::string_view(row_).substr(0, cut));  // does not crash
  }
}

TEST_F(RowWriterTest, ConvertsWhatIsExact) {
  ASSERT_TRUE(Write([](RowWriter& row) {
                row.Set("id", std::string_view("x"));
                row.Set("price", 3);
                row.Set("exact", 12);
                row.Set("day", model::EventTime{-1});
                row.Set("amount", std::optional<int64_t>{});
                row.SetNull("paid");
              }).ok());
  EXPECT_EQ(connectors::RowToJson(*layout_, row_),
            R"({"id":"x","price":3.0,"exact":"12","day":"1969-12-31"})");
}

TEST_F(RowWriterTest, OrderDoesNotMatterAndNorDoesCase) {
  ASSERT_TRUE(Write([](RowWriter& row) {
                row.Set("AMOUNT", 1);
                row.Set("Id", "x");
              }).ok());
  EXPECT_EQ(connectors::RowToJson(*layout_, row_), R"({"amount":1,"id":"x"})");
}

TEST_F(RowWriterTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("amount", 1); }),
              HasSubstr("'id' is REQUIRED and was not set"));
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("id", 1); }),
              HasSubstr("'id' is STRING and was given a value of INT64"));
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("amount", "1"); }),
              HasSubstr("'amount' is INT64 and was given a value of text"));
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("amount", 1.5); }),
              HasSubstr("'amount' is INT64 and was given a value of FLOAT64"));
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("nope", 1); }), HasSubstr("no column 'nope'"));
  EXPECT_THAT(Error([](RowWriter& row) { row.Set("day", "2018-02-30"); }),
              HasSubstr("'day' is DATE and was given '2018-02-30'"));
  EXPECT_THAT(Error([](RowWriter& row) {
                row.Set("id", "a");
                row.Set("id", "b");
              }),
              HasSubstr("'id' is set twice"));
  EXPECT_THAT(Error([](RowWriter& row) {
                row.Set("id", "a");
                row.SetRecord("store", [](RowWriter& store) { store.Set("floor", 1); });
              }),
              HasSubstr("in 'store': the column 'city' is REQUIRED"));
  EXPECT_THAT(Error([](RowWriter& row) { row.SetInt64(99, 1); }), HasSubstr("column number 99"));
}

TEST(RowLayoutTest, RefusesWhatBigQueryWould) {
  const auto error = [](TableSchema schema) {
    return std::string(RowLayout::Make(schema).status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("no columns"));
  EXPECT_THAT(error({{{"a b"}}}), HasSubstr("'a b' must consist of"));
  EXPECT_THAT(error({{{"a"}, {"A"}}}), HasSubstr("'A' twice"));
  EXPECT_THAT(error({{{"r", ColumnType::kRecord}}}), HasSubstr("record 'r'"));
}

TEST_F(RowWriterTest, AnUnsignedNumberThatIsTooGreatFailsTheRow) {
  static constexpr uint64_t kMost = INT64_MAX;
  ASSERT_TRUE(Write([](RowWriter& row) {
                row.Set("id", "x");
                row.Set("amount", kMost);
              }).ok());
  EXPECT_EQ(connectors::RowToJson(*layout_, row_), R"({"id":"x","amount":9223372036854775807})");
  for (const char* column : {"amount", "exact", "price"}) {
    EXPECT_THAT(Error([&](RowWriter& row) {
                  row.Set("id", "x");
                  row.Set(column, kMost + 1);
                }),
                testing::AllOf(HasSubstr(column), HasSubstr("9223372036854775808")));
  }
  EXPECT_THAT(Error([](RowWriter& row) {
                row.Set("id", "x");
                row.SetRecord("store", [](RowWriter& store) {
                  store.Set("city", "x");
                  store.Set("floor", std::optional<uint64_t>(UINT64_MAX));
                });
              }),
              HasSubstr("'floor'"));
}

}  // namespace
}  // namespace hornbeam::io
