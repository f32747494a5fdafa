#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "connectors/files/formats/avro/avro_codec.h"
#include "connectors/files/formats/avro/avro_datum.h"
#include "connectors/files/formats/avro/avro_logical.h"
#include "connectors/files/formats/avro/avro_record_reader.h"
#include "connectors/files/formats/avro/avro_schema.h"
#include "connectors/files/store/file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/avro_io.h"
#include "hornbeam/io/write_files.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

using connectors::AvroSchema;
using connectors::MemoryFileStore;
using io::Json;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr char kOrder[] = R"({"type":"record","name":"Order","namespace":"example","fields":[
  {"name":"id","type":"string"},
  {"name":"count","type":["null","int"]},
  {"name":"big","type":"long"},
  {"name":"price","type":"double"},
  {"name":"ok","type":"boolean"},
  {"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}},
  {"name":"hash","type":{"type":"fixed","name":"Hash","size":3}},
  {"name":"raw","type":"bytes"},
  {"name":"tags","type":{"type":"array","items":"string"}},
  {"name":"attributes","type":{"type":"map","values":"long"}},
  {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
  {"name":"at_ms","type":{"type":"long","logicalType":"timestamp-millis"}},
  {"name":"day","type":{"type":"int","logicalType":"date"}},
  {"name":"total","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
  {"name":"next","type":["null","Order"]}]})";

std::shared_ptr<const AvroSchema> Parse(const std::string& json) {
  auto schema = AvroSchema::Parse(json);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return *schema;
}

Json AnOrder(const std::string& id) {
  Json order = {{"id", id},
                {"count", nullptr},
                {"big", INT64_MIN},
                {"price", 1.25},
                {"ok", true},
                {"kind", "B"},
                {"tags", {"x", ""}},
                {"attributes", {{"k", -1}}},
                {"at", "1969-12-31T23:59:59.999999Z"},
                {"at_ms", "2013-01-01T05:00:00.5Z"},
                {"day", "2013-01-31"},
                {"total", "-12.50"},
                {"next", nullptr}};
  order["hash"] = Json::binary({1, 2, 3});
  order["raw"] = Json::binary({0, 255});
  return order;
}

std::string Encoded(const std::string& schema, const Json& value) {
  std::string bytes;
  const Status status = connectors::EncodeAvro(Parse(schema)->root(), value, &bytes);
  EXPECT_TRUE(status.ok()) << status;
  return bytes;
}

Json Decoded(const std::string& schema, const std::string& bytes) {
  Json value;
  ByteReader in(bytes);
  const auto parsed = Parse(schema);
  const Status status = connectors::DecodeAvro(parsed->root(), in, &value);
  EXPECT_TRUE(status.ok() && in.done()) << status;
  return value;
}

// The encodings that Avro's specification spells out.
TEST(AvroTest, BytesOfTheSpecification) {
  EXPECT_EQ(Encoded("\"long\"", -64), "\x7f");
  EXPECT_EQ(Encoded("\"long\"", 64), std::string("\x80\x01"));
  EXPECT_EQ(Encoded("\"string\"", "foo"),
            "\x06"
            "foo");
  const std::string record =
      R"({"type":"record","name":"test","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]})";
  EXPECT_EQ(Encoded(record, {{"a", 27}, {"b", "foo"}}),
            "\x36\x06"
            "foo");
  EXPECT_EQ(Encoded(R"({"type":"array","items":"long"})", {3, 27}),
            std::string("\x04\x06\x36\x00", 4));
  EXPECT_EQ(Encoded(R"(["null","string"])", nullptr), std::string("\x00", 1));
  EXPECT_EQ(Encoded(R"(["null","string"])", "a"),
            "\x02\x02"
            "a");
  EXPECT_EQ(Encoded("\"boolean\"", true), "\x01");
  EXPECT_EQ(Encoded("\"float\"", 1.0), std::string("\x00\x00\x80\x3f", 4));
}

TEST(AvroTest, ThereAndBack) {
  Json order = AnOrder("1");
  order["next"] = AnOrder("2");
  EXPECT_EQ(Decoded(kOrder, Encoded(kOrder, order)), order);
  order.erase("count");  // null, where it may be
  EXPECT_EQ(Decoded(kOrder, Encoded(kOrder, order))["count"], nullptr);
  for (const Json& number : {Json(0.1), Json("NaN"), Json("-Infinity")})
    EXPECT_EQ(Decoded("\"double\"", Encoded("\"double\"", number)), number);
  // Items in blocks that tell their length, as other writers make them.
  EXPECT_EQ(
      Decoded(R"({"type":"array","items":"long"})", std::string("\x03\x04\x06\x36\x02\x02\x00", 7)),
      Json({3, 27, 1}));
}

TEST(AvroTest, WhatDoesNotFitIsNamed) {
  const auto message = [](const std::string& field, const Json& value) {
    Json order = AnOrder("1");
    order[field] = value;
    std::string bytes;
    return std::string(connectors::EncodeAvro(Parse(kOrder)->root(), order, &bytes).message());
  };
  EXPECT_EQ(message("id", 7), "field 'id': 7 is no string");
  EXPECT_EQ(message("count", int64_t{1} << 40), "field 'count': 1099511627776 is no int");
  EXPECT_EQ(message("kind", "C"), "field 'kind': \"C\" is no enum example.Kind");
  EXPECT_EQ(message("hash", "toolong"),
            "field 'hash': it has 7 bytes, and a fixed example.Hash has 3");
  EXPECT_EQ(message("at", "yesterday"), "field 'at': \"yesterday\" is no long");
  EXPECT_EQ(message("total", "1.234"),
            "field 'total': \"1.234\" is no decimal with 2 digits behind the point");
  EXPECT_EQ(message("surplus", 1), "the record example.Order has no field 'surplus'");
  EXPECT_EQ(message("next", {{"id", 1}}), "field 'next': field 'id': 1 is no string");
}

TEST(AvroTest, BadSchemas) {
  for (const auto& [schema, problem] :
       {std::pair<const char*, const char*>{"{", "is no JSON"},
        {"7", "neither a name, nor an object, nor a list"},
        {"\"order\"", "uses a type 'order' that it has not defined before"},
        {R"({"type":"record","name":"r"})", "has no list of 'fields' in 'r'"},
        {R"({"type":"record","name":"r","fields":[{"name":"a"}]})",
         "has a field without a type in 'r'"},
        {R"({"type":"array"})", "has a type array without 'items'"},
        {R"({"type":"fixed","name":"f","size":-1})", "has a 'size' of -1"},
        {"[]", "union of nothing"}}) {
    const Status status = AvroSchema::Parse(schema).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << schema;
    EXPECT_THAT(std::string(status.message()), HasSubstr(problem));
  }
  std::string deep = "\"long\"";
  for (int i = 0; i < 200; ++i) deep = absl::StrCat(R"({"type":"array","items":)", deep, "}");
  EXPECT_THAT(std::string(AvroSchema::Parse(deep).status().message()),
              HasSubstr("deeper than 100"));
}

TEST(AvroTest, Decimals) {
  for (const char* const text : {"0.00", "-0.01", "1.28", "-1.28",
                                 "12345678901234567890123456789012345.67", "-99999999.99"}) {
    const auto bytes = connectors::ParseDecimal(text, 2);
    ASSERT_TRUE(bytes.has_value()) << text;
    EXPECT_EQ(connectors::FormatDecimal(*bytes, 2), text);
  }
  EXPECT_EQ(connectors::ParseDecimal("1.28", 2), std::string("\x00\x80", 2));
  EXPECT_EQ(connectors::ParseDecimal("-1.28", 2), "\x80");
  EXPECT_EQ(connectors::ParseDecimal("5", 2), connectors::ParseDecimal("5.00", 2));
  for (const char* const text :
       {"", "-", ".5", "5.", "1e3", "1.234", "123456789012345678901234567890123456789"}) {
    EXPECT_FALSE(connectors::ParseDecimal(text, 2).has_value()) << text;
  }
}

TEST(AvroTest, Blocks) {
  const std::string block(200'000, 'x');
  for (const io::AvroCodec codec :
       {io::AvroCodec::kNull, io::AvroCodec::kDeflate, io::AvroCodec::kZstandard}) {
    const std::string compressed = *connectors::CompressAvroBlock(block, codec);
    EXPECT_EQ(*connectors::DecompressAvroBlock(compressed, codec, 1 << 20), block);
    if (codec == io::AvroCodec::kNull) continue;
    EXPECT_TRUE(absl::IsResourceExhausted(
        connectors::DecompressAvroBlock(compressed, codec, 1000).status()));
    EXPECT_TRUE(absl::IsDataLoss(
        connectors::DecompressAvroBlock(compressed.substr(0, compressed.size() / 2), codec, 1 << 20)
            .status()));
    EXPECT_FALSE(connectors::DecompressAvroBlock("no such data", codec, 1 << 20).ok());
  }
}

class AvroFilesTest : public testing::Test {
 protected:
  AvroFilesTest() {
    connectors::RegisterFileStore(
        "avro", [this]() -> StatusOr<std::shared_ptr<connectors::FileStore>> {
          return std::shared_ptr<connectors::FileStore>(&store_, [](connectors::FileStore*) {});
        });
  }
  Status Write(const std::vector<Json>& values, io::AvroCodec codec,
               const std::string& schema = kOrder) {
    return RunInMode({}, [&](Pipeline& pipeline) {
      pipeline | "Values" >> Create<Json>(values) |
          "Write" >> io::WriteFiles<Json>("avro://w/o", io::AvroFormat(schema, codec));
    });
  }
  std::string MessageOfReading(const std::string& content) {
    store_.Put("avro://bad.avro", content);
    return std::string(RunInMode({}, [](Pipeline& pipeline) {
                         pipeline | "Read" >> io::ReadAvro("avro://bad.avro");
                       }).message());
  }

  MemoryFileStore store_;
};

TEST_F(AvroFilesTest, WrittenAndReadInEveryModeWithEveryCodec) {
  std::vector<Json> orders;
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    orders.push_back(AnOrder(std::string(static_cast<size_t>(i * 200), 'x') +
                             absl::StrCat(i)));  // several blocks
    expected.push_back(orders.back()["id"].get<std::string>());
  }
  for (const io::AvroCodec codec :
       {io::AvroCodec::kNull, io::AvroCodec::kDeflate, io::AvroCodec::kZstandard}) {
    store_.Delete("avro://w/o-00000-of-00001.avro").IgnoreError();
    const Status written = Write(orders, codec);
    ASSERT_TRUE(written.ok()) << written;
    ForEachMode(1, [&](const TestMode& mode) {
      SCOPED_TRACE(ToString(mode));
      Collector<std::string> ids;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        pipeline | "Read" >> io::ReadAvro("avro://w/*.avro") |
            "Id" >> Map([](const Json& order) { return order["id"].get<std::string>(); }) |
            "Collect" >> Collect(&ids);
      });
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(ids.values(), UnorderedElementsAreArray(expected));
    });
  }
}

TEST_F(AvroFilesTest, BadFilesAreNamed) {
  ASSERT_TRUE(Write({AnOrder("1"), AnOrder("2")}, io::AvroCodec::kNull).ok());
  const std::string good = store_.contents().begin()->second;
  EXPECT_EQ(MessageOfReading(good), "");
  EXPECT_THAT(MessageOfReading("PAR1..."),
              HasSubstr("'avro://bad.avro' is no Avro file: it does not begin as one"));
  EXPECT_THAT(MessageOfReading(""), HasSubstr("'avro://bad.avro' is no Avro file"));
  EXPECT_THAT(MessageOfReading(good.substr(0, good.size() - 5)),
              HasSubstr("'avro://bad.avro' is cut off: the Avro file has no end, at byte"));
  std::string other = good;
  other[good.size() - 1] ^= 1;
  EXPECT_THAT(MessageOfReading(other),
              HasSubstr("'avro://bad.avro' has a block that does not end as the file's blocks do"));
  std::string snappy = good;
  snappy.replace(snappy.find("null"), 4, "lzma");
  EXPECT_THAT(MessageOfReading(snappy),
              HasSubstr("'avro://bad.avro': its codec 'lzma' is not supported"));
}

TEST_F(AvroFilesTest, WhatDoesNotFitIsAFailure) {
  Collector<FailedElement> failures;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto written =
        pipeline | "Values" >> Create<Json>(std::vector<Json>{"text", 7}) |
        "Write" >> io::WriteFiles<Json>("avro://f/o", io::AvroFormat("\"string\""));
    written.failures | "Failures" >> Collect(&failures);
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(failures.values().size(), 1u);
  EXPECT_THAT(failures.values()[0].error, HasSubstr("7 is no string"));
}

TEST_F(AvroFilesTest, ABadSchemaIsAMistake) {
  EXPECT_THAT(std::string(Write({}, io::AvroCodec::kNull, "\"what\"").message()),
              HasSubstr("'Write': the Avro schema uses a type 'what'"));
}

}  // namespace
}  // namespace hornbeam
