#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "connectors/files/store/file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/parquet_io.h"
#include "hornbeam/io/write_files.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

using io::ColumnMode;
using io::ColumnType;
using io::Json;
using io::TableSchema;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

class ParquetTest : public testing::Test {
 protected:
  ParquetTest() {
    connectors::RegisterFileStore(
        "parquet", [this]() -> StatusOr<std::shared_ptr<connectors::FileStore>> {
          return std::shared_ptr<connectors::FileStore>(&store_, [](connectors::FileStore*) {});
        });
  }
  static Status Write(const std::vector<Json>& rows, const TableSchema& schema,
                      const std::string& output = "parquet://w/o") {
    return RunInMode({}, [&](Pipeline& pipeline) {
      pipeline | "Rows" >> Create<Json>(rows) |
          "Write" >> io::WriteFiles<Json>(output, io::ParquetFormat(schema));
    });
  }
  connectors::MemoryFileStore store_;
};

TableSchema AllTypes() {
  return {{{"s", ColumnType::kString},
           {"i", ColumnType::kInt64, ColumnMode::kRequired},
           {"f", ColumnType::kFloat64},
           {"o", ColumnType::kBool},
           {"b", ColumnType::kBytes},
           {"t", ColumnType::kTimestamp},
           {"d", ColumnType::kDate},
           {"c", ColumnType::kTime},
           {"dt", ColumnType::kDatetime},
           {"n", ColumnType::kNumeric},
           {"the \"list\"", ColumnType::kString, ColumnMode::kRepeated},
           {"r", ColumnType::kRecord, ColumnMode::kNullable, {{"x", ColumnType::kInt64}}}}};
}

Json FullRow(int64_t i) {
  return {{"s", "it's \n \"text\""},
          {"i", i},
          {"f", 0.1},
          {"o", true},
          {"b", "AP8="},
          {"t", "2013-01-01T05:00:00.5Z"},
          {"d", "2013-01-31"},
          {"c", "05:06:07"},
          {"dt", "2013-01-01 05:00:00"},
          {"n", "12.500000000"},
          {"the \"list\"", {"a", "b"}},
          {"r", {{"x", 7}}}};
}

TEST_F(ParquetTest, WrittenAndReadInEveryMode) {
  std::vector<Json> rows;
  std::vector<std::string> expected;
  for (int64_t i = 0; i < 60; ++i) {
    rows.push_back(FullRow(i));
    expected.push_back(rows.back().dump());
  }
  rows.push_back({{"i", -1}, {"f", "Infinity"}});
  expected.push_back(
      R"({"b":null,"c":null,"d":null,"dt":null,"f":"Infinity","i":-1,"n":null,"o":null,"r":null,"s":null,"t":null,"the \"list\"":null})");
  const Status written = Write(rows, AllTypes());
  ASSERT_TRUE(written.ok()) << written;
  ASSERT_TRUE(store_.contents().contains("parquet://w/o-00000-of-00001.parquet"));
  ForEachMode(1, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> read;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Read" >> io::ReadParquet("parquet://w/*.parquet") |
          "Text" >> Map([](const Json& row) { return row.dump(); }) | "Collect" >> Collect(&read);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(read.values(), UnorderedElementsAreArray(expected));
  });
}

TEST_F(ParquetTest, AFileOnTheDiskIsReadInPlace) {
  ASSERT_TRUE(Write({FullRow(1)}, AllTypes()).ok());
  const std::string path =
      absl::StrCat(testing::TempDir(), "/it's a file.", ::getpid(), ".parquet");
  ASSERT_TRUE(
      WriteFileAtomically(*FileSystem::Posix(), path, store_.contents().begin()->second).ok());
  PipelineOptions options;
  options.workers = 1;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  Collector<Json> rows;
  pipeline | "Read" >> io::ReadParquet(path) | "Collect" >> Collect(&rows);
  const Status status = pipeline.Run();
  std::filesystem::remove(path);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.values().size(), 1u);
  EXPECT_EQ(rows.values()[0], FullRow(1));
}

TEST_F(ParquetTest, WhatDoesNotFitIsAFailureThatNamesTheColumn) {
  std::vector<Json> rows;
  std::vector<std::string> errors;
  const auto add = [&](const std::string& column, const Json& value, const std::string& error) {
    rows.push_back(FullRow(1));
    rows.back()[column] = value;
    errors.push_back(error);
  };
  add("i", "7", "column 'i' is INT64 and cannot hold \"7\"");
  add("i", nullptr, "column 'i' is REQUIRED and not set");
  add("b", "%", "column 'b' is BYTES and cannot hold \"%\"");
  add("t", "yesterday", "column 't' is TIMESTAMP and cannot hold \"yesterday\"");
  add("d", "2013-02-30x", "column 'd' is DATE and cannot hold \"2013-02-30x\"");
  add("n", "1.0000000001", "column 'n' is NUMERIC and cannot hold \"1.0000000001\"");
  add("the \"list\"", "a", "column 'the \"list\"' is REPEATED and has no list");
  add("r", {{"x", true}}, "column 'r': column 'x' is INT64 and cannot hold true");
  add("surplus", 1, "there is no column 'surplus'");
  Collector<FailedElement> failures;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto written =
        pipeline | "Rows" >> Create<Json>(rows) |
        "Write" >> io::WriteFiles<Json>("parquet://f/o", io::ParquetFormat(AllTypes()));
    written.failures | "Failures" >> Collect(&failures);
  });
  ASSERT_TRUE(status.ok()) << status;
  std::vector<std::string> said;
  for (const FailedElement& failure : failures.values()) said.push_back(failure.error);
  EXPECT_THAT(said, UnorderedElementsAreArray(errors));
  EXPECT_TRUE(store_.contents().empty());
}

TEST_F(ParquetTest, BadFilesAreNamed) {
  const auto message = [&](const std::string& content) {
    store_.Put("parquet://bad.parquet", content);
    return std::string(RunInMode({}, [](Pipeline& pipeline) {
                         pipeline | "Read" >> io::ReadParquet("parquet://bad.parquet");
                       }).message());
  };
  ASSERT_TRUE(Write({FullRow(1)}, AllTypes()).ok());
  const std::string good = store_.contents().begin()->second;
  EXPECT_EQ(message(good), "");
  EXPECT_THAT(message("id,amount\n"),
              HasSubstr("'parquet://bad.parquet' is no Parquet file: it does not begin as one"));
  EXPECT_THAT(message(""), HasSubstr("is no Parquet file"));
  EXPECT_THAT(message(good.substr(0, good.size() / 2)),
              HasSubstr("'parquet://bad.parquet' cannot be read as Parquet: "));
}

TEST_F(ParquetTest, ColumnsThatCannotBeAreMistakes) {
  EXPECT_THAT(std::string(Write({}, {{{"g", ColumnType::kGeography}}}).message()),
              HasSubstr("'Write': column 'g' is GEOGRAPHY, which cannot be written"));
  EXPECT_THAT(
      std::string(Write({}, {{{"b", ColumnType::kBytes, ColumnMode::kRepeated}}}).message()),
      HasSubstr("column 'b' is BYTES in a list or record"));
  EXPECT_THAT(std::string(Write({}, {}).message()), HasSubstr("needs a column"));
}

}  // namespace
}  // namespace hornbeam
