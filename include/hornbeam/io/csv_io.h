// Files of comma-separated values (RFC 4180).
//
//   const auto orders = pipeline | "Read" >> io::ReadCsv("in/*.csv");
//   orders.main() | "Parse" >> Map([](const io::CsvRow& row) { return Order{row.Get("id"), ...};
//   }); orders.failures() | "Bad rows" >> ...;         // read them, or a bad row fails the job
//
// A field may stand in quotes; then it may hold separators, newlines, and quotes, written twice.
// Records end with a newline, with a carriage return before it or not. An empty line is no record,
// where there is more than one column. Columns have names: those of each file's first record, or
// those that are told. A row with more or fewer fields than columns, or with misplaced quotes, is a
// failed element whose error names the file and the line. A file is read whole, by one worker.
#ifndef HORNBEAM_IO_CSV_IO_H_
#define HORNBEAM_IO_CSV_IO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hornbeam/io/compression.h"
#include "hornbeam/io/file_format.h"
#include "hornbeam/io/file_io.h"
#include "hornbeam/io/watch.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {

struct CsvRow {
  std::shared_ptr<const std::vector<std::string>>
      columns;                      // shared by the rows of a file; never null
  std::vector<std::string> values;  // as many

  // The value of a column; nothing where there is no such column.
  const std::string* Find(std::string_view column) const;
  // The same; throws std::out_of_range with a sentence that names the column.
  const std::string& Get(std::string_view column) const;

  friend bool operator==(const CsvRow& a, const CsvRow& b) {
    return *a.columns == *b.columns && a.values == b.values;
  }
};

// The fields of one record, without the newline at its end, appended to *fields. INVALID_ARGUMENT
// says what is wrong at which character.
Status ParseCsvRecord(std::string_view record, char separator, std::vector<std::string>* fields);
// The record of fields, in quotes where they need to be, without a newline.
std::string FormatCsvRecord(const std::vector<std::string>& fields, char separator);

class ReadCsv : public PTransform {
 public:
  explicit ReadCsv(std::string pattern) : pattern_(std::move(pattern)) {}

  // The files have no header: these are the columns.
  ReadCsv WithColumns(std::vector<std::string> columns) const {
    return With([&](ReadCsv& r) { r.columns_ = std::move(columns); });
  }
  ReadCsv WithSeparator(char separator) const {
    return With([&](ReadCsv& r) { r.separator_ = separator; });
  }
  ReadCsv WithCompression(Compression c) const {
    return With([&](ReadCsv& r) { r.compression_ = c; });
  }
  ReadCsv WithEmptyMatchTreatment(EmptyMatchTreatment e) const {
    return With([&](ReadCsv& r) { r.empty_ = e; });
  }
  ReadCsv WatchForNewFiles(Watch watch) const {
    return With([&](ReadCsv& r) { r.watch_ = watch; });
  }

  PCollectionTuple<CsvRow> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  template <typename F>
  ReadCsv With(F change) const {
    ReadCsv changed = *this;
    change(changed);
    return changed;
  }

  std::string pattern_;
  std::vector<std::string> columns_;
  char separator_ = ',';
  Compression compression_ = Compression::kAuto;
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kDisallow;
  std::optional<Watch> watch_;
};

// Files with a header; an element has a field for each column.
FileFormat<std::vector<std::string>> CsvFormat(std::vector<std::string> columns,
                                               char separator = ',');

}  // namespace hornbeam::io

template <>
struct hornbeam::model::Coder<hornbeam::io::CsvRow> {
  static void Encode(const io::CsvRow& v, std::string* out) {
    Coder<std::vector<std::string>>::Encode(*v.columns, out);
    Coder<std::vector<std::string>>::Encode(v.values, out);
  }
  static bool Decode(ByteReader& in, io::CsvRow* v) {
    auto columns = std::make_shared<std::vector<std::string>>();
    const bool good = Coder<std::vector<std::string>>::Decode(in, columns.get()) &&
                      Coder<std::vector<std::string>>::Decode(in, &v->values) &&
                      columns->size() == v->values.size();
    v->columns = std::move(columns);
    return good;
  }
};

#endif  // HORNBEAM_IO_CSV_IO_H_
