// Reads the rows of Parquet files.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_PARQUET_RECORD_READER_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_PARQUET_RECORD_READER_H_

#include <memory>
#include <string>

#include "connectors/files/formats/parquet/duckdb_session.h"
#include "connectors/files/formats/parquet/temporary_file.h"
#include "connectors/files/read/record_reader.h"
#include "hornbeam/io/json_io.h"

namespace hornbeam::connectors {

// A position is the number of rows read.
class ParquetRecordReader final : public RecordReader<io::Json> {
 public:
  Status Open(FileStore* store, const FilePart& part, std::string_view position) override;
  StatusOr<bool> Next(io::Json* record) override;
  void PutPosition(std::string* position) const override;

 private:
  // Where DuckDB finds the file: itself, or a copy.
  StatusOr<std::string> OnDisk(FileStore* store, const FilePart& part);
  // DuckDB's words, with the file's own name.
  Status Explain(const Status& status) const;

  std::string path_;
  std::string disk_path_;
  std::unique_ptr<TemporaryFile> copy_;
  std::unique_ptr<DuckDbSession> session_;
  std::unique_ptr<DuckDbSession::TextRows> rows_;  // before its session
  uint64_t read_ = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_PARQUET_RECORD_READER_H_
