// Avro object container files (Apache Avro 1.11).
//
//   pipeline | "Read" >> io::ReadAvro("in/*.avro")                                    //
//   PCollection<io::Json> orders | "Write" >> io::WriteFiles<io::Json>("out/orders",
//   io::AvroFormat(kOrderSchema)).WithShards(2)
//
// Values are JSON. A record is an object; bytes and fixed are binary values; timestamp-millis and
// -micros are RFC 3339 text, a date is "2013-01-31", a decimal "12.50"; a union is its value.
// (connectors/files/formats/avro/avro_datum.h has all of it.) Other logical types are read and
// written as the types they are made of. A file is read whole, by one worker, with the schema that
// it carries.
//
// A file that is no Avro file, is damaged or cut off fails the job with a sentence that names it
// and the block's place.
#ifndef HORNBEAM_IO_AVRO_IO_H_
#define HORNBEAM_IO_AVRO_IO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "hornbeam/io/file_format.h"
#include "hornbeam/io/json_io.h"

namespace hornbeam::io {

enum class AvroCodec : uint8_t { kNull, kDeflate, kZstandard };

class ReadAvro : public PTransform {
 public:
  explicit ReadAvro(std::string pattern) : pattern_(std::move(pattern)) {}

  ReadAvro WithEmptyMatchTreatment(EmptyMatchTreatment empty) const {
    ReadAvro changed = *this;
    changed.empty_ = empty;
    return changed;
  }
  ReadAvro WatchForNewFiles(Watch watch) const {
    ReadAvro changed = *this;
    changed.watch_ = watch;
    return changed;
  }
  PCollection<Json> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  std::string pattern_;
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kDisallow;
  std::optional<Watch> watch_;
};

// Files with this schema, which is JSON text. A schema that is wrong is a mistake, which Run
// reports. A value that does not fit it is a failed element, whose error names the field.
FileFormat<Json> AvroFormat(std::string schema, AvroCodec codec = AvroCodec::kDeflate);

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_AVRO_IO_H_
