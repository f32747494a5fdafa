#include "connectors/files/formats/avro/avro_record_reader.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/formats/avro/avro_codec.h"
#include "connectors/files/formats/avro/avro_datum.h"

namespace hornbeam::connectors {
namespace {

constexpr std::string_view kMagic{"Obj\1", 4};
constexpr size_t kSyncBytes = 16;
constexpr size_t kLongestVarint = 10;
constexpr size_t kMostMetadata = 1000;
constexpr uint64_t kMostEmptyRecords = 1 << 20;  // of a block

}  // namespace

Status AvroRecordReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat("'", window_.path(), "' ", what, ", at byte ", window_.offset()));
}

Status AvroRecordReader::Need(size_t bytes) {
  if (bytes > kLongestBlockBytes)
    return Damaged(absl::StrCat("has a part of ", bytes, " bytes, longer than can be"));
  while (window_.view().size() < bytes) {
    HB_ASSIGN_OR_RETURN(const bool more, window_.Grow());
    if (!more) return Damaged("is cut off: the Avro file has no end");
  }
  return absl::OkStatus();
}

StatusOr<int64_t> AvroRecordReader::ReadLong() {
  HB_RETURN_IF_ERROR(Need(1));
  while (window_.view().size() < kLongestVarint) {
    HB_ASSIGN_OR_RETURN(const bool more, window_.Grow());
    if (!more) break;
  }
  ByteReader in(window_.view());
  const size_t had = in.remaining();
  const int64_t value = in.Signed();
  if (!in.ok()) return Damaged("has a malformed number");
  window_.Consume(had - in.remaining());
  return value;
}

StatusOr<std::string> AvroRecordReader::ReadBytes() {
  HB_ASSIGN_OR_RETURN(const int64_t size, ReadLong());
  if (size < 0) return Damaged("has a length that is negative");
  HB_RETURN_IF_ERROR(Need(static_cast<size_t>(size)));
  std::string bytes(window_.view().substr(0, static_cast<size_t>(size)));
  window_.Consume(static_cast<size_t>(size));
  return bytes;
}

Status AvroRecordReader::ReadHeader() {
  if (!Need(kMagic.size()).ok() || !window_.view().starts_with(kMagic))
    return Damaged("is no Avro file: it does not begin as one");
  window_.Consume(kMagic.size());
  std::map<std::string, std::string> metadata;
  while (true) {
    HB_ASSIGN_OR_RETURN(int64_t count, ReadLong());
    if (count == 0) break;
    if (count < 0) HB_RETURN_IF_ERROR(ReadLong().status());  // how long it is
    for (count = count < 0 ? -(count + 1) + 1 : count; count > 0; --count) {
      HB_ASSIGN_OR_RETURN(std::string key, ReadBytes());
      HB_ASSIGN_OR_RETURN(metadata[key], ReadBytes());
      if (metadata.size() > kMostMetadata) return Damaged("has more metadata than can be");
    }
  }
  HB_RETURN_IF_ERROR(Need(kSyncBytes));
  sync_.assign(window_.view().substr(0, kSyncBytes));
  window_.Consume(kSyncBytes);
  const std::string where = absl::StrCat("'", window_.path(), "'");
  if (!metadata.contains("avro.schema")) return Damaged("has no schema");
  StatusOr<std::shared_ptr<const AvroSchema>> schema = AvroSchema::Parse(metadata["avro.schema"]);
  HB_RETURN_IF_ERROR(Annotate(schema.status(), where));
  schema_ = *std::move(schema);
  const StatusOr<io::AvroCodec> codec =
      metadata.contains("avro.codec") ? AvroCodecOf(metadata["avro.codec"]) : io::AvroCodec::kNull;
  HB_RETURN_IF_ERROR(Annotate(codec.status(), where));
  codec_ = *codec;
  return absl::OkStatus();
}

Status AvroRecordReader::Open(FileStore* store, const FilePart& part, std::string_view position) {
  HB_RETURN_IF_ERROR(window_.Open(store, part, 0));
  HB_RETURN_IF_ERROR(ReadHeader());
  records_left_ = records_read_ = 0;
  block_offset_ = window_.offset();
  if (position.empty()) return absl::OkStatus();
  ByteReader in(position);
  const uint64_t offset = in.Varint();
  const uint64_t records = in.Varint();
  if (!in.ok())
    return absl::DataLossError(absl::StrCat("malformed position in '", part.file.path, "'"));
  HB_RETURN_IF_ERROR(window_.Open(store, part, offset));
  block_offset_ = offset;
  return SkipRecords(records);
}

Status AvroRecordReader::SkipRecords(uint64_t records) {
  io::Json skipped;
  for (; records > 0; --records) {
    HB_ASSIGN_OR_RETURN(const bool more, Next(&skipped));
    if (!more) return Damaged("became shorter while it was read");
  }
  return absl::OkStatus();
}

StatusOr<bool> AvroRecordReader::ReadBlock() {
  if (window_.view().empty()) {
    HB_ASSIGN_OR_RETURN(const bool more, window_.Grow());
    if (!more) return false;
  }
  block_offset_ = window_.offset();
  HB_ASSIGN_OR_RETURN(const int64_t records, ReadLong());
  HB_ASSIGN_OR_RETURN(const int64_t size, ReadLong());
  if (records < 0 || size < 0) return Damaged("has a block whose length is negative");
  if (static_cast<uint64_t>(size) > kLongestBlockBytes)
    return Damaged(absl::StrCat("has a block of ", size, " bytes, longer than can be"));
  HB_RETURN_IF_ERROR(Need(static_cast<size_t>(size) + kSyncBytes));
  const std::string_view block = window_.view().substr(0, static_cast<size_t>(size));
  if (window_.view().substr(block.size(), kSyncBytes) != sync_)
    return Damaged("has a block that does not end as the file's blocks do");
  StatusOr<std::string> content = DecompressAvroBlock(block, codec_, kLongestBlockBytes);
  if (!content.ok())
    return Annotate(content.status(),
                    absl::StrCat("'", window_.path(), "', block at byte ", block_offset_));
  // Records of no bytes at all cost nothing to claim.
  if (static_cast<uint64_t>(records) > content->size() + kMostEmptyRecords)
    return Damaged(
        absl::StrCat("has a block of ", records, " records in ", content->size(), " bytes"));
  block_ = *std::move(content);
  window_.Consume(block.size() + kSyncBytes);
  in_ = ByteReader(block_);
  records_left_ = static_cast<uint64_t>(records);
  records_read_ = 0;
  return true;
}

StatusOr<bool> AvroRecordReader::Next(io::Json* record) {
  while (records_left_ == 0) {
    HB_ASSIGN_OR_RETURN(const bool more, ReadBlock());
    if (!more) {
      block_offset_ = window_.offset();
      records_read_ = 0;
      return false;
    }
  }
  if (const Status status = DecodeAvro(schema_->root(), in_, record); !status.ok()) {
    return Annotate(status, absl::StrCat("'", window_.path(), "', record ", records_read_ + 1,
                                         " of the block at byte ", block_offset_));
  }
  --records_left_;
  ++records_read_;
  return true;
}

void AvroRecordReader::PutPosition(std::string* position) const {
  PutVarint(position, block_offset_);
  PutVarint(position, records_read_);
}

}  // namespace hornbeam::connectors
