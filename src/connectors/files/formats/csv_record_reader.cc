#include "connectors/files/formats/csv_record_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hornbeam/io/csv_io.h"

namespace hornbeam::connectors {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

TextSplit SplitOf(char separator) {
  TextSplit split;
  split.quote = '"';
  split.separator = separator;
  return split;
}

}  // namespace

CsvRecordReader::CsvRecordReader(std::vector<std::string> columns, char separator)
    : separator_(separator),
      has_header_(columns.empty()),
      columns_(std::make_shared<const std::vector<std::string>>(std::move(columns))),
      text_(SplitOf(separator)) {}

Status CsvRecordReader::Open(FileStore* store, const FilePart& part, std::string_view position) {
  if (!has_header_) return text_.Open(store, part, position);
  HB_RETURN_IF_ERROR(text_.Open(store, part, ""));
  HB_RETURN_IF_ERROR(ReadHeader());
  return position.empty() ? absl::OkStatus() : text_.Open(store, part, position);
}

Status CsvRecordReader::ReadHeader() {
  io::FileRecord header;
  HB_ASSIGN_OR_RETURN(const bool any, text_.Next(&header));
  std::vector<std::string> columns;
  if (any) {
    std::string_view text = header.bytes;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    HB_RETURN_IF_ERROR(Annotate(io::ParseCsvRecord(text, separator_, &columns),
                                absl::StrCat(header.Place(), ": the header")));
    std::vector<std::string> sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(header.Place(), ": the header has the column '", *twice, "' twice"));
    }
  }
  columns_ = std::make_shared<const std::vector<std::string>>(std::move(columns));
  return absl::OkStatus();
}

StatusOr<bool> CsvRecordReader::Next(CsvRecord* record) {
  do {
    HB_ASSIGN_OR_RETURN(const bool more, text_.Next(&record->text));
    if (!more) return false;
  } while (record->text.bytes.empty() && columns_->size() > 1);
  record->columns = columns_;
  return true;
}

}  // namespace hornbeam::connectors
