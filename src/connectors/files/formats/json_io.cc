#include "hornbeam/io/json_io.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

void hornbeam::model::Coder<hornbeam::io::Json>::Encode(const io::Json& v, std::string* out) {
  const std::vector<uint8_t> cbor = io::Json::to_cbor(v);
  PutBytes(out, {reinterpret_cast<const char*>(cbor.data()), cbor.size()});
}

bool hornbeam::model::Coder<hornbeam::io::Json>::Decode(ByteReader& in, io::Json* v) {
  const std::string_view cbor = in.Bytes();
  if (!in.ok()) return false;
  *v = io::Json::from_cbor(cbor.begin(), cbor.end(), true, false);
  return !v->is_discarded();
}

namespace hornbeam::io {
namespace {

// Nested deeper than this a value could exhaust the stack of whoever takes it apart.
constexpr int kDeepest = 500;

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool IsTooDeep(std::string_view line) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// What nlohmann says has its own prefix: "[json.exception.parse_error.101] parse error at line 1,
// column 3: ...".
std::string Plain(const char* what) {
  const std::string text = what;
  const size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json ParseLine(const FileRecord& record) {
  if (IsTooDeep(record.bytes))
    throw std::runtime_error(
        absl::StrCat(record.Place(), ": JSON nested deeper than ", kDeepest, " levels"));
  try {
    return Json::parse(record.bytes);
  } catch (const Json::exception& error) {
    throw std::runtime_error(
        absl::StrCat(record.Place(), ": this is no JSON: ", Plain(error.what())));
  }
}

}  // namespace

PCollectionTuple<Json> ReadJsonLines::Expand(Pipeline& pipeline, const std::string& name) const {
  return read_.ExpandRecords(pipeline, absl::StrCat(name, "/Read"))
      .Apply(name, ParDo<Json>([](const FileRecord& record, OutputReceiver<Json>& out) {
                     if (!IsBlank(record.bytes)) out.Output(ParseLine(record));
                   }).WithFailures());
}

FileFormat<Json> JsonLinesFormat() {
  FileFormat<Json> format;
  format.suffix = ".jsonl";
  format.sink = TextFormat().sink;
  format.encode = [](const Json& value, std::string* record) -> Status {
    try {
      *record = value.dump();
    } catch (const Json::exception& error) {
      return absl::InvalidArgumentError(Plain(error.what()));
    }
    return absl::OkStatus();
  };
  return format;
}

}  // namespace hornbeam::io
