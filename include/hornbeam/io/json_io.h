// Files of JSON values, one a line.
//
//   const auto orders = pipeline | "Read" >> io::ReadJsonLines("in/*.jsonl.gz");
//   orders.main() | "Total" >> Map([](const io::Json& order) { return
//   order.at("amount").get<int64_t>(); }); orders.failures() | "Bad lines" >> ...;        // read
//   them, or a bad line fails the job
//
// A line that is no JSON is a failed element whose error names the file and the line, or, where the
// file is read in parts, the byte at which it begins. Empty lines do not count. For the lines as
// they are see ReadText.
#ifndef HORNBEAM_IO_JSON_IO_H_
#define HORNBEAM_IO_JSON_IO_H_

#include <nlohmann/json.hpp>
#include <string>

#include "hornbeam/io/file_format.h"
#include "hornbeam/io/text_io.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {

using Json = nlohmann::json;

class ReadJsonLines : public PTransform {
 public:
  explicit ReadJsonLines(std::string pattern) : read_(std::move(pattern)) {}

  ReadJsonLines WithCompression(Compression c) const {
    return ReadJsonLines(read_.WithCompression(c));
  }
  ReadJsonLines WithEmptyMatchTreatment(EmptyMatchTreatment e) const {
    return ReadJsonLines(read_.WithEmptyMatchTreatment(e));
  }
  ReadJsonLines WatchForNewFiles(Watch watch) const {
    return ReadJsonLines(read_.WatchForNewFiles(watch));
  }

  PCollectionTuple<Json> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  explicit ReadJsonLines(ReadText read) : read_(std::move(read)) {}

  ReadText read_;
};

// One value a line, without spaces. Text that is not UTF-8 makes a failed element.
FileFormat<Json> JsonLinesFormat();

}  // namespace hornbeam::io

// CBOR (RFC 8949), with its length in front.
template <>
struct hornbeam::model::Coder<hornbeam::io::Json> {
  static void Encode(const io::Json& v, std::string* out);
  static bool Decode(ByteReader& in, io::Json* v);
};

#endif  // HORNBEAM_IO_JSON_IO_H_
