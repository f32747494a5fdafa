// Reads the records of CSV files together with their columns.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_CSV_RECORD_READER_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_CSV_RECORD_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "connectors/files/read/record_reader.h"
#include "connectors/files/read/text_record_reader.h"
#include "hornbeam/io/file_record.h"

namespace hornbeam::connectors {

// Not yet taken apart: that is for where it can fail on its own.
struct CsvRecord {
  io::FileRecord text;
  std::shared_ptr<const std::vector<std::string>> columns;
};

class CsvRecordReader final : public RecordReader<CsvRecord> {
 public:
  // No columns: each file has them as its first record.
  CsvRecordReader(std::vector<std::string> columns, char separator);

  Status Open(FileStore* store, const FilePart& part, std::string_view position) override;
  StatusOr<bool> Next(CsvRecord* record) override;
  void PutPosition(std::string* position) const override { text_.PutPosition(position); }

 private:
  Status ReadHeader();

  const char separator_;
  const bool has_header_;
  std::shared_ptr<const std::vector<std::string>> columns_;
  TextRecordReader text_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_CSV_RECORD_READER_H_
