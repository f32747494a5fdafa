#include "services/pubsub/core/ack_id.h"

#include <string>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

std::string Encode(const AckId& id) {
  std::string text(kAckIdChars, '\0');
  EncodeAckId(id, text.data());
  return text;
}

TEST(AckIdTest, ComesBackAsItWas) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const AckId id{static_cast<uint32_t>(rng.Next()), static_cast<uint16_t>(rng.Next()),
                   rng.OneIn(2) ? rng.Next() : rng.Below(1000)};
    EXPECT_EQ(DecodeAckId(Encode(id)), id);
  }
}

TEST(AckIdTest, EveryChangedCharacterIsNoticed) {
  const std::string text = Encode({7, 1, 42});
  for (size_t i = 0; i < text.size(); ++i) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[i] = static_cast<char>(c);
      if (changed == text) continue;
      EXPECT_FALSE(DecodeAckId(changed).has_value()) << i << " " << c;
    }
  }
}

TEST(AckIdTest, OtherLengthsAreRefused) {
  const std::string text = Encode({7, 1, 42});
  EXPECT_FALSE(DecodeAckId("").has_value());
  EXPECT_FALSE(DecodeAckId("projects/p/subscriptions/s:1").has_value());
  EXPECT_FALSE(DecodeAckId(text + "A").has_value());
  EXPECT_FALSE(DecodeAckId(text.substr(1)).has_value());
}

}  // namespace
}  // namespace hornbeam::services::pubsub
