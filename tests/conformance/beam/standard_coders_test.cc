// Every case of Beam's standard_coders.yaml: what is encoded is the file's bytes, and the file's bytes are decoded to its value.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "model/beam/coder.h"
#include "yaml_values.h"

namespace hornbeam::model::beam {
namespace {

// Coders of the file that are not had here. A new one in the file is not in this list, and fails.
const std::set<std::string> kNotHad = {};

// How many cases of each coder there are in the file, so that none is passed over.
const std::map<std::string, int> kCases = {
    {"beam:coder:bool:v1", 2},
    {"beam:coder:bytes:v1", 5},
    {"beam:coder:custom_window:v1", 2},
    {"beam:coder:double:v1", 10},
    {"beam:coder:global_window:v1", 1},
    {"beam:coder:interval_window:v1", 4},
    {"beam:coder:iterable:v1", 14},
    {"beam:coder:kv:v1", 8},
    {"beam:coder:nullable:v1", 3},
    {"beam:coder:param_windowed_value:v1", 2},
    {"beam:coder:row:v1", 29},
    {"beam:coder:sharded_key:v1", 4},
    {"beam:coder:state_backed_iterable:v1", 19},
    {"beam:coder:string_utf8:v1", 9},
    {"beam:coder:timer:v1", 2},
    {"beam:coder:varint:v1", 7},
    {"beam:coder:windowed_value:v1", 3},
};

// Two values are the same if they have the same bytes: so one NaN is as good as another, and 0 is not -0.
std::string Encoded(const Coder& coder, const Value& value, Context context) {
  std::string bytes;
  EXPECT_TRUE(coder.Encode(value, context, &bytes));
  return bytes;
}

StateReader ReaderOf(const YAML::Node& state) {
  std::map<std::string, std::string> rest;
  for (const auto& entry : state) rest[entry.first.as<std::string>()] = BytesOf(entry.second.as<std::string>());
  return [rest](std::string_view token) -> StatusOr<std::string> {
    const auto at = rest.find(std::string(token));
    if (at == rest.end()) return absl::NotFoundError("no such token");
    return at->second;
  };
}

void ExpectCase(const YAML::Node& section, const CoderSpec& spec, const Coder& coder, const std::string& bytes, const Value& value,
                Context context) {
  SCOPED_TRACE(spec.urn + (context == Context::kNested ? " nested: " : " outer: ") + absl::CHexEscape(bytes));
  if (!section["coder"]["non_deterministic"]) {
    EXPECT_EQ(absl::CHexEscape(Encoded(coder, value, context)), absl::CHexEscape(bytes));
  }
  // In the nested context something follows, and is not touched.
  const std::string_view behind = context == Context::kNested ? "behind" : "";
  const std::string input = bytes + std::string(behind);
  ByteReader in(input);
  Value read;
  ASSERT_TRUE(coder.Decode(in, context, &read));
  EXPECT_EQ(in.remaining(), behind.size());
  EXPECT_EQ(absl::CHexEscape(Encoded(coder, read, context)), absl::CHexEscape(Encoded(coder, value, context)));
  for (size_t size = 0; context == Context::kNested && size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(coder.Decode(cut, context, &read)) << "of " << size << " bytes";
  }
}

TEST(StandardCoders, EveryCaseOfBeamPasses) {
  std::map<std::string, int> cases;
  for (const YAML::Node& section : YAML::LoadAllFromFile(HORNBEAM_STANDARD_CODERS)) {
    const CoderSpec spec = SpecOf(section["coder"]);
    if (kNotHad.contains(spec.urn)) continue;
    const auto coder = MakeCoder(spec, ReaderOf(section["coder"]["state"]));
    ASSERT_TRUE(coder.ok()) << coder.status();
    for (const auto& example : section["examples"]) {
      const std::string bytes = BytesOf(example.first.as<std::string>());
      const Value value = ValueOf(spec, example.second);
      ++cases[spec.urn];
      for (const Context context : {Context::kOuter, Context::kNested}) {
        if (section["nested"] && section["nested"].as<bool>() != (context == Context::kNested)) continue;
        ExpectCase(section, spec, **coder, bytes, value, context);
      }
    }
  }
  EXPECT_EQ(cases, kCases);
}

TEST(StandardCoders, CodersThatAreNotHadAreReallyNotHad) {
  for (const std::string& urn : kNotHad) EXPECT_FALSE(IsStandardCoder(urn)) << urn;
}

}  // namespace
}  // namespace hornbeam::model::beam
