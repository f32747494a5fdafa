#include "hornbeam/io/csv_io.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/formats/csv_record_reader.h"
#include "connectors/files/read/read_files.h"

namespace hornbeam::io {
namespace {

using connectors::CsvRecord;

CsvRow ParseRow(const CsvRecord& record, char separator) {
  CsvRow row{record.columns, {}};
  if (const Status status = ParseCsvRecord(record.text.bytes, separator, &row.values);
      !status.ok()) {
    throw std::runtime_error(absl::StrCat(record.text.Place(), ", ", status.message()));
  }
  if (row.values.size() != row.columns->size()) {
    throw std::runtime_error(absl::StrCat(record.text.Place(), ": a row of ", row.values.size(),
                                          " fields in a file with ", row.columns->size(),
                                          " columns: ", record.text.bytes.substr(0, 200)));
  }
  return row;
}

}  // namespace

PCollectionTuple<CsvRow> ReadCsv::Expand(Pipeline& pipeline, const std::string& name) const {
  const connectors::FilesToRead files{
      {pattern_, empty_, watch_}, compression_, connectors::Splitting::kWholeFiles};
  const auto records = connectors::ReadFiles<CsvRecord>(
      pipeline, absl::StrCat(name, "/Read"), "hornbeam:transform:read_csv:v1", files,
      [columns = columns_, separator = separator_] {
        return std::make_unique<connectors::CsvRecordReader>(columns, separator);
      });
  return records.Apply(name, ParDo<CsvRow>([separator = separator_](const CsvRecord& record,
                                                                    OutputReceiver<CsvRow>& out) {
                               out.Output(ParseRow(record, separator));
                             }).WithFailures());
}

FileFormat<std::vector<std::string>> CsvFormat(std::vector<std::string> columns, char separator) {
  FileFormat<std::vector<std::string>> format;
  format.suffix = ".csv";
  TextFormatOptions text;
  text.delimiter = "\r\n";
  text.header = FormatCsvRecord(columns, separator);
  format.sink = TextFormat(std::move(text)).sink;
  format.encode = [count = columns.size(), separator](const std::vector<std::string>& fields,
                                                      std::string* record) -> Status {
    if (fields.size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("a row of ", fields.size(), " fields for a file with ", count, " columns"));
    }
    *record = FormatCsvRecord(fields, separator);
    return absl::OkStatus();
  };
  return format;
}

}  // namespace hornbeam::io
