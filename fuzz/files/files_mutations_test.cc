// The fuzz target on good inputs, their prefixes and mutations, without a fuzzer.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "connectors/files/compression/compress.h"
#include "hornbeam/io/avro_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hornbeam {
namespace {

constexpr char kSchema[] = R"({"type":"record","name":"r","fields":[{"name":"id","type":"string"},
  {"name":"a","type":{"type":"array","items":["null","long","r"]}},{"name":"m","type":{"type":"map","values":"double"}},
  {"name":"e","type":{"type":"enum","name":"e","symbols":["x","y"]}},{"name":"f","type":{"type":"fixed","name":"f","size":2}},
  {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]})";

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string AvroFile(io::AvroCodec codec) {
  const io::FileFormat<io::Json> format = io::AvroFormat(kSchema, codec);
  std::vector<std::string> records;
  for (int i = 0; i < 8; ++i) {
    io::Json inner = {
        {"id", "in"}, {"a", io::Json::array()}, {"m", io::Json::object()}, {"e", "x"}, {"f", "ab"},
        {"d", "1.25"}};
    io::Json value = {{"id", std::string(static_cast<size_t>(i), 'x')},
                      {"a", {nullptr, i, inner}},
                      {"m", {{"k", 0.5}}},
                      {"e", "y"},
                      {"f", "cd"},
                      {"d", "-3"}};
    EXPECT_TRUE(format.encode(value, &records.emplace_back()).ok());
  }
  return *format.sink->Content(records, 1);
}

std::vector<std::string> Seeds() {
  const std::string lines = "one\ntwo\r\n\nfour\rfive\n";
  return {std::string(1, 0) + "id,\"na\"\"me\",x\r\n1,\"a,\n\",\n2,,\n\n3,\"\"\n4,5,6\n7,8,\"9\"\n",
          std::string(1, 1) + AvroFile(io::AvroCodec::kNull),
          std::string(1, 1) + AvroFile(io::AvroCodec::kDeflate),
          std::string(1, 1) + AvroFile(io::AvroCodec::kZstandard),
          std::string(1, 2) + *connectors::Compress(lines, io::Compression::kGzip) +
              *connectors::Compress(lines, io::Compression::kGzip),
          std::string(1, 3) + *connectors::Compress(lines, io::Compression::kZstd),
          std::string(1, 4) + "in/**/x[a-c!]?*.cs\\v\nin/a/b/xabc.csv",
          std::string(1, 5) + kSchema};
}

TEST(FilesMutationsTest, NothingCrashes) {
  Rng rng(1);
  for (const std::string& seed : Seeds()) {
    for (size_t size = 0; size <= seed.size(); ++size) Try(seed.substr(0, size));
    for (int round = 0; round < 1500; ++round) {
      std::string mutated = seed;
      for (uint64_t n = 1 + rng.Below(4); n > 0; --n)
        mutated[1 + rng.Below(mutated.size() - 1)] = static_cast<char>(rng.Next());
      Try(mutated);
    }
  }
}

}  // namespace
}  // namespace hornbeam
