// Reading text, JSON lines and CSV: in every mode, and what is said of bad files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "connectors/files/compression/compress.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/csv_io.h"
#include "hornbeam/io/json_io.h"
#include "hornbeam/io/text_io.h"
#include "hornbeam/io/write_files.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

using connectors::FileStore;
using connectors::MemoryFileStore;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

class TextFormatsTest : public testing::Test {
 protected:
  TextFormatsTest() {
    connectors::RegisterFileStore("tf", [this]() -> StatusOr<std::shared_ptr<FileStore>> {
      return std::shared_ptr<FileStore>(&store_, [](FileStore*) {});
    });
  }
  MemoryFileStore store_;
};

std::string Gzip(const std::string& content) {
  return *connectors::Compress(content, io::Compression::kGzip);
}

TEST_F(TextFormatsTest, LinesOfManyFilesInEveryMode) {
  std::vector<std::string> expected;
  for (int file = 0; file < 6; ++file) {
    std::string content;
    for (int line = 0; line < 30; ++line) {
      expected.push_back(absl::StrCat("file ", file, " line ", line));
      absl::StrAppend(&content, expected.back(), "\n");
    }
    const std::string path = absl::StrCat("tf://in/", file, ".txt");
    file % 2 == 0 ? store_.Put(path, content) : store_.Put(path + ".gz", Gzip(content));
  }
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> lines;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Read" >> io::ReadText("tf://in/*.txt*") | "Collect" >> Collect(&lines);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(lines.values(), UnorderedElementsAreArray(expected));
  });
}

TEST_F(TextFormatsTest, AStoreThatIsAwayNowAndThenInEveryMode) {
  std::vector<std::string> expected;
  std::string content;
  for (int line = 0; line < 100; ++line) {
    expected.push_back(absl::StrCat("line ", line));
    absl::StrAppend(&content, expected.back(), "\n");
  }
  store_.Put("tf://a", content);
  store_.Put("tf://b.gz", Gzip(content));
  const std::vector<std::string> once = expected;
  expected.insert(expected.end(), once.begin(), once.end());
  int64_t faults = 0;
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    connectors::FaultyFileStore faulty(&store_, 4, mode.seed);
    connectors::RegisterFileStore("tf", [&faulty]() -> StatusOr<std::shared_ptr<FileStore>> {
      return std::shared_ptr<FileStore>(&faulty, [](FileStore*) {});
    });
    Collector<std::string> lines;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Read" >> io::ReadText("tf://*") | "Collect" >> Collect(&lines);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(lines.values(), UnorderedElementsAreArray(expected));
    faults += faulty.faults();
  });
  EXPECT_GT(faults, 20);
}

TEST_F(TextFormatsTest, HeadersAndDelimiters) {
  store_.Put("tf://a", "header;1;2;");
  Collector<std::string> values;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Read" >> io::ReadText("tf://a").WithDelimiter(";").WithSkipHeaderLines(1) |
        "Collect" >> Collect(&values);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(values.values(), UnorderedElementsAre("1", "2"));
}

std::string MessageOf(const std::string& pattern, const io::ReadText& read) {
  return std::string(
      RunInMode({}, [&](Pipeline& pipeline) { pipeline | "Read" >> read; }).message());
}

TEST_F(TextFormatsTest, BadFilesAreNamed) {
  store_.Put("tf://cut.gz", Gzip(std::string(1000, 'x')).substr(0, 20));
  store_.Put("tf://no.gz", "text");
  store_.Put("tf://a.bz2", "x");
  EXPECT_THAT(
      MessageOf("", io::ReadText("tf://cut.gz")),
      HasSubstr("'tf://cut.gz' is cut off: its gzip data has no end; the file stops at byte 20"));
  EXPECT_THAT(MessageOf("", io::ReadText("tf://no.gz")), HasSubstr("'tf://no.gz' is no gzip file"));
  EXPECT_THAT(MessageOf("", io::ReadText("tf://a.bz2")),
              HasSubstr("files that end with .bz2 cannot be read"));
  EXPECT_THAT(MessageOf("", io::ReadText("tf://none*")), HasSubstr("no file matches 'tf://none*'"));
  EXPECT_THAT(MessageOf("", io::ReadText("missing/none*")),
              HasSubstr("no file matches 'missing/none*': the directory 'missing' does not exist"));
}

TEST_F(TextFormatsTest, JsonLines) {
  store_.Put("tf://a.jsonl",
             "{\"id\":1,\"tags\":[\"x\"]}\n\n{\"id\":2}\n{\"id\":\n[3.5,null,true,\"\\u00e4\"]\n");
  ForEachMode(1, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<io::Json> values;
    Collector<FailedElement> failures;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto read = pipeline | "Read" >> io::ReadJsonLines("tf://a.jsonl");
      read.main() | "Values" >> Collect(&values);
      read.failures() | "Failures" >> Collect(&failures);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(values.values(), UnorderedElementsAre(io::Json::parse(R"({"id":1,"tags":["x"]})"),
                                                      io::Json::parse(R"({"id":2})"),
                                                      io::Json::parse(R"([3.5,null,true,"ä"])")));
    ASSERT_EQ(failures.values().size(), 1u);
    EXPECT_THAT(failures.values()[0].error,
                HasSubstr("'tf://a.jsonl' line 4: this is no JSON: parse error"));
  });
}

TEST_F(TextFormatsTest, ABadLineThatNobodyReadsFailsTheJob) {
  store_.Put("tf://a.jsonl", "{}\n" + std::string(2000, '[') + "\n");
  const Status status = RunInMode(
      {}, [&](Pipeline& pipeline) { pipeline | "Read" >> io::ReadJsonLines("tf://a.jsonl"); });
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'tf://a.jsonl' line 2: JSON nested deeper than 500 levels"));
}

TEST_F(TextFormatsTest, CsvInEveryMode) {
  std::string content = "\xEF\xBB\xBFid,name,\"the \"\"note\"\"\"\r\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&content, i, ",\"a,b\n", i, "\",\r\n");
    expected.push_back(absl::StrCat(i, "|a,b\n", i, "|"));
  }
  store_.Put("tf://a.csv", content);
  store_.Put("tf://b.csv", "id,name,\"the \"\"note\"\"\"\n100,x,\"y\"\"\"\n\n");
  expected.push_back("100|x|y\"");
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> rows;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      (pipeline | "Read" >> io::ReadCsv("tf://*.csv")).main() |
          "Row" >> Map([](const io::CsvRow& row) {
            return absl::StrCat(row.Get("id"), "|", row.Get("name"), "|", row.Get("the \"note\""));
          }) |
          "Collect" >> Collect(&rows);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(rows.values(), UnorderedElementsAreArray(expected));
  });
}

TEST_F(TextFormatsTest, BadRowsAreFailuresThatNameFileAndLine) {
  store_.Put("tf://a.csv", "id,name\n1,one\n2\n3,three,more\n4,fo\"ur\n\"5\"x,five\n6,\"six\n");
  Collector<io::CsvRow> rows;
  Collector<FailedElement> failures;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto read = pipeline | "Read" >> io::ReadCsv("tf://a.csv");
    read.main() | "Rows" >> Collect(&rows);
    read.failures() | "Failures" >> Collect(&failures);
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.values().size(), 1u);
  EXPECT_EQ(rows.values()[0].Get("name"), "one");
  EXPECT_EQ(rows.values()[0].Find("nothing"), nullptr);
  EXPECT_THROW(rows.values()[0].Get("nothing"), std::out_of_range);
  std::vector<std::string> errors;
  for (const FailedElement& failure : failures.values()) errors.push_back(failure.error);
  EXPECT_THAT(
      errors,
      UnorderedElementsAre(
          HasSubstr("'tf://a.csv' line 3: a row of 1 fields in a file with 2 columns: 2"),
          HasSubstr("'tf://a.csv' line 4: a row of 3 fields in a file with 2 columns"),
          HasSubstr(
              "'tf://a.csv' line 5, character 5: a quote in a field that does not begin with one"),
          HasSubstr("'tf://a.csv' line 6, character 4: a field goes on after its closing quote"),
          HasSubstr("'tf://a.csv' line 7, character 3: a quote is not closed")));
}

TEST_F(TextFormatsTest, BadHeadersFailTheJob) {
  const auto message = [&](const std::string& content) {
    store_.Put("tf://h.csv", content);
    return std::string(RunInMode({}, [](Pipeline& pipeline) {
                         pipeline | "Read" >> io::ReadCsv("tf://h.csv");
                       }).message());
  };
  EXPECT_THAT(message("id,id\n"),
              HasSubstr("'tf://h.csv' line 1: the header has the column 'id' twice"));
  EXPECT_THAT(message("id,a\"b\n"), HasSubstr("'tf://h.csv' line 1: the header: character 5"));
  EXPECT_EQ(message(""), "");  // an empty file has no rows
}

TEST_F(TextFormatsTest, CsvWithoutHeaderAndWithSeparator) {
  store_.Put("tf://a.csv", "1;\"x;y\"\n");
  Collector<io::CsvRow> rows;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    (pipeline | "Read" >> io::ReadCsv("tf://a.csv").WithColumns({"id", "name"}).WithSeparator(';'))
            .main() |
        "Rows" >> Collect(&rows);
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.values().size(), 1u);
  EXPECT_EQ(rows.values()[0].Get("name"), "x;y");
}

TEST(CsvRecordTest, ThereAndBack) {
  for (const std::vector<std::string>& fields :
       std::vector<std::vector<std::string>>{{"a", "b"},
                                             {""},
                                             {"", ""},
                                             {"a,b", "c\"d", "e\nf", "g\r"},
                                             {"\"", "\"\""},
                                             {" a ", "x"}}) {
    std::vector<std::string> parsed;
    const std::string record = io::FormatCsvRecord(fields, ',');
    EXPECT_TRUE(io::ParseCsvRecord(record, ',', &parsed).ok());
    EXPECT_EQ(parsed, fields) << record;
  }
}

TEST_F(TextFormatsTest, WhatIsWrittenIsReadAgain) {
  const Status written = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline |
        "Rows" >> Create<std::vector<std::string>>(
                      std::vector<std::vector<std::string>>{{"1", "a\r\n\"b\""}, {"2", ""}}) |
        "Csv" >>
            io::WriteFiles<std::vector<std::string>>("tf://w/csv", io::CsvFormat({"id", "text"}))
                .WithCompression(io::Compression::kGzip);
    pipeline | "Values" >> Create<io::Json>(std::vector<io::Json>{{{"a", 1}}, nullptr, "text\n"}) |
        "Json" >> io::WriteFiles<io::Json>("tf://w/json", io::JsonLinesFormat());
  });
  ASSERT_TRUE(written.ok()) << written;
  Collector<std::string> rows, values;
  const Status read = RunInMode({}, [&](Pipeline& pipeline) {
    (pipeline | "Csv" >> io::ReadCsv("tf://w/csv*")).main() |
        "Row" >> Map([](const io::CsvRow& row) { return row.Get("id") + row.Get("text"); }) |
        "Rows" >> Collect(&rows);
    (pipeline | "Json" >> io::ReadJsonLines("tf://w/json*.jsonl")).main() |
        "Value" >> Map([](const io::Json& value) { return value.dump(); }) |
        "Values" >> Collect(&values);
  });
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_THAT(rows.values(), UnorderedElementsAre("1a\r\n\"b\"", "2"));
  EXPECT_THAT(values.values(), UnorderedElementsAre("{\"a\":1}", "null", "\"text\\n\""));
}

}  // namespace
}  // namespace hornbeam
