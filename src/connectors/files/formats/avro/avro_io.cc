#include "hornbeam/io/avro_io.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "connectors/files/formats/avro/avro_codec.h"
#include "connectors/files/formats/avro/avro_datum.h"
#include "connectors/files/formats/avro/avro_record_reader.h"
#include "connectors/files/formats/avro/avro_schema.h"
#include "connectors/files/read/read_files.h"
#include "model/key_hash.h"

namespace hornbeam::io {
namespace {

using connectors::AvroSchema;

constexpr size_t kBlockBytes = 64 << 10;  // before compression

// A container file of records that are encoded already.
class AvroSink final : public FileSink {
 public:
  AvroSink(std::shared_ptr<const AvroSchema> schema, AvroCodec codec)
      : schema_(std::move(schema)), codec_(codec) {}

  StatusOr<std::string> Content(const std::vector<std::string>& records,
                                uint64_t seed) const override {
    const std::string sync = SyncOf(seed);
    std::string content = "Obj\1";
    PutSigned(&content, 2);
    PutText("avro.codec", &content);
    PutText(connectors::ToString(codec_), &content);
    PutText("avro.schema", &content);
    PutText(schema_->json(), &content);
    PutSigned(&content, 0);
    content += sync;
    for (size_t next = 0; next < records.size();)
      HB_RETURN_IF_ERROR(PutBlock(records, sync, &next, &content));
    return content;
  }

 private:
  static std::string SyncOf(uint64_t seed) {
    std::string bytes;
    PutFixed64(&bytes, seed);
    const model::KeyHash hash = model::HashKeyBytes(bytes);
    std::string sync;
    PutFixed64(&sync, hash.low);
    PutFixed64(&sync, hash.high);
    return sync;
  }
  static void PutText(std::string_view text, std::string* out) {
    PutSigned(out, static_cast<int64_t>(text.size()));
    out->append(text);
  }
  Status PutBlock(const std::vector<std::string>& records, const std::string& sync, size_t* next,
                  std::string* content) const {
    std::string block;
    int64_t count = 0;
    for (; *next < records.size() && block.size() < kBlockBytes; ++*next, ++count)
      block += records[*next];
    HB_ASSIGN_OR_RETURN(block, connectors::CompressAvroBlock(std::move(block), codec_));
    PutSigned(content, count);
    PutText(block, content);
    content->append(sync);
    return absl::OkStatus();
  }

  const std::shared_ptr<const AvroSchema> schema_;
  const AvroCodec codec_;
};

}  // namespace

PCollection<Json> ReadAvro::Expand(Pipeline& pipeline, const std::string& name) const {
  return connectors::ReadFiles<Json>(
      pipeline, name, "hornbeam:transform:read_avro:v1",
      {{pattern_, empty_, watch_}, Compression::kAuto, connectors::Splitting::kWholeFiles},
      [] { return std::make_unique<connectors::AvroRecordReader>(); });
}

FileFormat<Json> AvroFormat(std::string schema, AvroCodec codec) {
  FileFormat<Json> format;
  format.suffix = ".avro";
  StatusOr<std::shared_ptr<const AvroSchema>> parsed = AvroSchema::Parse(schema);
  if (!parsed.ok()) {
    format.mistake = parsed.status();
    return format;
  }
  format.sink = std::make_shared<AvroSink>(*parsed, codec);
  format.encode = [schema = *parsed](const Json& value, std::string* record) {
    return connectors::EncodeAvro(schema->root(), value, record);
  };
  return format;
}

}  // namespace hornbeam::io
