// What Beam's own cases (tests/conformance/beam) do not say: length prefixes, panes with indices, mistakes and garbage.
#include "model/beam/coder.h"

#include <gtest/gtest.h>

#include <random>

#include "model/beam/times.h"

namespace hornbeam::model::beam {
namespace {

CoderSpec Spec(std::string name, std::vector<CoderSpec> components = {}) {
  return {"beam:coder:" + name + ":v1", "", std::move(components)};
}

std::shared_ptr<const Coder> Make(const CoderSpec& spec) { return MakeCoder(spec).value(); }

TEST(BeamCoder, ALengthPrefixTurnsAnOuterEncodingIntoANestedOne) {
  const auto coder = Make(Spec("length_prefix", {Spec("kv", {Spec("bytes"), Spec("bytes")})}));
  std::string bytes;
  ASSERT_TRUE(coder->Encode({List{{std::string("a")}, {std::string("bc")}}}, Context::kNested, &bytes));
  EXPECT_EQ(bytes, "\x04\x01" "abc");
  ByteReader in(bytes);
  Value value;
  ASSERT_TRUE(coder->Decode(in, Context::kNested, &value));
  EXPECT_EQ(*value.As<List>()->at(1).As<std::string>(), "bc");
}

TEST(BeamCoder, BytesBehindAPrefixedValueAreAMistake) {
  const auto coder = Make(Spec("length_prefix", {Spec("varint")}));
  ByteReader in("\x02\x05\x06");
  Value value;
  EXPECT_FALSE(coder->Decode(in, Context::kNested, &value));
}

TEST(BeamCoder, ValuesOfAnotherKindAreNotEncoded) {
  std::string bytes;
  EXPECT_FALSE(Make(Spec("varint"))->Encode({true}, Context::kNested, &bytes));
  EXPECT_FALSE(Make(Spec("kv", {Spec("bytes"), Spec("bytes")}))->Encode({List{{std::string("a")}}}, Context::kNested, &bytes));
  EXPECT_FALSE(Make(Spec("global_window"))->Encode({Window{EventTime{0}, EventTime{1}}}, Context::kNested, &bytes));
}

TEST(BeamCoder, UnknownCodersAndWrongComponentsAreNamed) {
  EXPECT_EQ(MakeCoder(Spec("pickled")).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(MakeCoder(Spec("kv", {Spec("bytes")})).status().message(),
            "coder beam:coder:kv:v1 has 1 components where it takes 2");
  EXPECT_FALSE(MakeCoder({"beam:coder:row:v1", "\x0a\x02garbage", {}}).ok());
  EXPECT_FALSE(MakeCoder({"beam:coder:param_windowed_value:v1", "short", {Spec("varint"), Spec("global_window")}}).ok());
}

TEST(BeamCoder, ASchemaThatDoesNotSayATypeIsRefused) {
  const std::string no_type("\n\x05\n\x03str", 7);
  const std::string array_of_nothing("\n\x08\n\x02xs\x1a\x02\x1a\0", 10);
  EXPECT_FALSE(MakeCoder({"beam:coder:row:v1", no_type, {}}).ok());
  EXPECT_FALSE(MakeCoder({"beam:coder:row:v1", array_of_nothing, {}}).ok());
}

TEST(BeamTimes, PanesComeBack) {
  for (const PaneInfo& pane : {PaneInfo{PaneTiming::kEarly, true, false, 0, -1}, PaneInfo{PaneTiming::kEarly, false, false, 7, -1},
                               PaneInfo{PaneTiming::kOnTime, true, true, 0, 0}, PaneInfo{PaneTiming::kOnTime, false, true, 3, 0},
                               PaneInfo{PaneTiming::kLate, false, true, 4, 4}, PaneInfo::NoFiring()}) {
    std::string bytes;
    PutPaneInfo(pane, &bytes);
    ByteReader in(bytes);
    PaneInfo read;
    ASSERT_TRUE(ReadPaneInfo(in, &read));
    EXPECT_EQ(read, pane);
    EXPECT_TRUE(in.done());
  }
}

TEST(BeamTimes, TheEndsOfTimeAndOfTheGlobalWindowComeBack) {
  for (const EventTime t : {EventTime::Min(), EventTime::Max(), EventTime::EndOfGlobalWindow(), EventTime{0}, EventTime{-1000}}) {
    std::string bytes;
    PutInstant(t, &bytes);
    ByteReader in(bytes);
    EXPECT_EQ(ReadInstant(in), t);
  }
}

TEST(BeamCoder, GarbageIsReadOrRefusedAndNeverMore) {
  const CoderSpec window = Spec("interval_window");
  const CoderSpec iterable = Spec("iterable", {Spec("global_window")});
  const CoderSpec kv = Spec("kv", {Spec("nullable", {Spec("double")}), Spec("state_backed_iterable", {Spec("string_utf8")})});
  const std::vector<std::shared_ptr<const Coder>> coders = {
      Make(Spec("windowed_value", {kv, window})), Make(Spec("timer", {iterable, Spec("custom_window", {window})})),
      Make(Spec("sharded_key", {Spec("length_prefix", {iterable})}))};
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? random() : random() % 3);
    for (const auto& coder : coders) {
      ByteReader in(bytes);
      Value value;
      std::string again;
      if (coder->Decode(in, Context::kNested, &value)) {
        EXPECT_TRUE(coder->Encode(value, Context::kNested, &again));
      }
    }
    (void)MakeCoder({"beam:coder:row:v1", bytes, {}});
  }
}

}  // namespace
}  // namespace hornbeam::model::beam
