// Parquet files, by DuckDB.
//
//   pipeline | "Read" >> io::ReadParquet("in/*.parquet")                              //
//   PCollection<io::Json> orders | "Write" >> io::WriteFiles<io::Json>("out/orders",
//   io::ParquetFormat({{{"id", io::ColumnType::kString}, ...}}))
//
// A row is a JSON object. Its columns: whole numbers, numbers (of what is none: "NaN", "Infinity",
// "-Infinity"), true and false, text; BLOB as base64 text, DECIMAL as text ("12.50"), a TIMESTAMP
// that is adjusted to UTC as RFC 3339 text, one that is not as "2013-01-01 05:00:00.5", DATE as
// "2013-01-31", TIME as "05:00:00", lists and structs as lists and objects. Inside of lists and
// structs DuckDB's own JSON is what there is: a DECIMAL is a number there, a BLOB escaped text. A
// file is read whole, by one worker, row group after row group; one that is not on this machine's
// disk is first copied to it.
//
// A file that is no Parquet file or is damaged fails the job with a sentence that names it.
#ifndef HORNBEAM_IO_PARQUET_IO_H_
#define HORNBEAM_IO_PARQUET_IO_H_

#include <optional>
#include <string>

#include "hornbeam/io/bigquery_schema.h"
#include "hornbeam/io/file_format.h"
#include "hornbeam/io/json_io.h"

namespace hornbeam::io {

class ReadParquet : public PTransform {
 public:
  explicit ReadParquet(std::string pattern) : pattern_(std::move(pattern)) {}

  ReadParquet WithEmptyMatchTreatment(EmptyMatchTreatment empty) const {
    ReadParquet changed = *this;
    changed.empty_ = empty;
    return changed;
  }
  ReadParquet WatchForNewFiles(Watch watch) const {
    ReadParquet changed = *this;
    changed.watch_ = watch;
    return changed;
  }
  PCollection<Json> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  std::string pattern_;
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kDisallow;
  std::optional<Watch> watch_;
};

// Files with these columns, compressed inside with zstd. Values are as for reading; a TIMESTAMP is
// RFC 3339 text. BYTES are base64 text, in columns that are neither REPEATED nor in a RECORD;
// BIGNUMERIC and GEOGRAPHY are not possible: a mistake, which Run reports. A value that does not
// fit its column, a column that there is not, and a REQUIRED one that is not set make a failed
// element.
FileFormat<Json> ParquetFormat(TableSchema schema);

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_PARQUET_IO_H_
