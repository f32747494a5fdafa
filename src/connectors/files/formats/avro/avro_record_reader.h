// Reads the records of Avro object container files.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_RECORD_READER_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_RECORD_READER_H_

#include <memory>
#include <string>

#include "base/bytes.h"
#include "connectors/files/formats/avro/avro_schema.h"
#include "connectors/files/read/byte_window.h"
#include "connectors/files/read/record_reader.h"
#include "hornbeam/io/avro_io.h"

namespace hornbeam::connectors {

class AvroRecordReader final : public RecordReader<io::Json> {
 public:
  // A block longer than this, compressed or not, is an error.
  static constexpr size_t kLongestBlockBytes = 256 << 20;

  Status Open(FileStore* store, const FilePart& part, std::string_view position) override;
  StatusOr<bool> Next(io::Json* record) override;
  // Where the block begins, and how many of its records have been read.
  void PutPosition(std::string* position) const override;

 private:
  Status ReadHeader();
  // The next block, if there is one.
  StatusOr<bool> ReadBlock();
  // Makes so many bytes the beginning of the window's view.
  Status Need(size_t bytes);
  StatusOr<int64_t> ReadLong();
  StatusOr<std::string> ReadBytes();
  Status SkipRecords(uint64_t records);
  Status Damaged(absl::string_view what) const;

  ByteWindow window_;
  std::shared_ptr<const AvroSchema> schema_;
  io::AvroCodec codec_ = io::AvroCodec::kNull;
  std::string sync_;
  std::string block_;
  ByteReader in_{{}};
  uint64_t block_offset_ = 0;  // in the file
  uint64_t records_read_ = 0;  // of the block
  uint64_t records_left_ = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_RECORD_READER_H_
