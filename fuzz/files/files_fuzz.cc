// Whatever a file holds, reading it ends in its records or in one error, never in a crash, and
// takes no more memory than its reader allows.
//
// The first byte of an input chooses what the rest is: 0 a CSV file, 1 an Avro file, 2 a gzip file
// of lines, 3 a zstd file of lines, 4 a file pattern and, behind a newline, a path, 5 an Avro
// schema.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/files/formats/avro/avro_record_reader.h"
#include "connectors/files/formats/avro/avro_schema.h"
#include "connectors/files/formats/csv_record_reader.h"
#include "connectors/files/read/text_record_reader.h"
#include "connectors/files/store/file_pattern.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/io/csv_io.h"

namespace hornbeam::connectors {
namespace {

constexpr int kMostRecords = 10'000;

// Reads the file; what was read behind any record is read again from its position.
template <typename T, typename NewReader>
int ReadAll(const std::string& content, io::Compression compression, NewReader new_reader) {
  MemoryFileStore store;
  store.Put("f", content);
  const FilePart part{{"f", content.size(), 0, ""}, compression};
  auto reader = new_reader();
  if (!reader->Open(&store, part, "").ok()) return 0;
  int records = 0;
  std::string middle;
  while (records < kMostRecords) {
    T record;
    const StatusOr<bool> more = reader->Next(&record);
    if (!more.ok()) return records;
    if (!*more) break;
    if (++records == 3) reader->PutPosition(&middle);
  }
  if (records < 3 || records == kMostRecords) return records;
  auto again = new_reader();
  HB_CHECK(again->Open(&store, part, middle).ok());
  int rest = 0;
  for (T record; *again->Next(&record);) ++rest;
  HB_CHECK(rest == records - 3);
  return records;
}

void ReadCsvFile(const std::string& content) {
  MemoryFileStore store;
  store.Put("f", content);
  ReadAll<CsvRecord>(content, io::Compression::kUncompressed, [] {
    return std::make_unique<CsvRecordReader>(std::vector<std::string>{}, ',');
  });
  // What can be taken apart is written, and taken apart again, to the same fields.
  std::vector<std::string> fields, again;
  if (!io::ParseCsvRecord(content, ',', &fields).ok()) return;
  HB_CHECK(io::ParseCsvRecord(io::FormatCsvRecord(fields, ','), ',', &again).ok());
  HB_CHECK(fields == again);
}

void MatchPattern(std::string_view text) {
  const size_t newline = std::min(text.find('\n'), text.size());
  const StatusOr<FilePattern> pattern = FilePattern::Parse(std::string(text.substr(0, newline)));
  if (!pattern.ok()) return;
  const std::string_view path =
      newline < text.size() ? text.substr(newline + 1) : std::string_view();
  if (pattern->Matches(path)) HB_CHECK(path.starts_with(pattern->prefix()));
  if (pattern->is_literal()) HB_CHECK(pattern->Matches(pattern->prefix()));
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos && pattern->Matches(path))
    HB_CHECK(pattern->CanMatchBelow(path.substr(0, slash + 1)));
}

}  // namespace
}  // namespace hornbeam::connectors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hornbeam;
  using namespace hornbeam::connectors;
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto new_text = [] {
    TextSplit split;
    split.longest_record_bytes = 1 << 20;
    return std::make_unique<TextRecordReader>(split);
  };
  switch (data[0] % 6) {
    case 0: ReadCsvFile(rest); break;
    case 1:
      ReadAll<io::Json>(rest, io::Compression::kUncompressed,
                        [] { return std::make_unique<AvroRecordReader>(); });
      break;
    case 2: ReadAll<io::FileRecord>(rest, io::Compression::kGzip, new_text); break;
    case 3: ReadAll<io::FileRecord>(rest, io::Compression::kZstd, new_text); break;
    case 4: MatchPattern(rest); break;
    default:
      if (const auto schema = AvroSchema::Parse(rest); schema.ok())
        HB_CHECK((*schema)->json() == rest);
  }
  return 0;
}
