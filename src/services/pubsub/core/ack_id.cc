#include "services/pubsub/core/ack_id.h"

#include <array>
#include <cstring>

namespace hornbeam::services::pubsub {
namespace {

// 18 bytes: seq 8, incarnation 4, attempt 2, check 4. Three bytes make four characters.
constexpr size_t kRawBytes = 18;
static_assert(kRawBytes / 3 * 4 == kAckIdChars);

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<int8_t, 256> MakeValues() {
  std::array<int8_t, 256> values{};
  for (int8_t& v : values) v = -1;
  for (int i = 0; i < 64; ++i) values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}
constexpr std::array<int8_t, 256> kValues = MakeValues();

// Not a secret: it tells a mangled id from a real one. Two multiplications, as it is made for every
// message.
uint32_t Check(const AckId& id) {
  uint64_t h = (id.seq + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  h ^= h >> 29;
  h = (h + (static_cast<uint64_t>(id.incarnation) << 16 | id.attempt)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>(h >> 32);
}

}  // namespace

void EncodeAckId(const AckId& id, char* out) {
  uint8_t raw[kRawBytes];
  const uint32_t check = Check(id);
  std::memcpy(raw, &id.seq, 8);
  std::memcpy(raw + 8, &id.incarnation, 4);
  std::memcpy(raw + 12, &id.attempt, 2);
  std::memcpy(raw + 14, &check, 4);
  for (size_t i = 0; i < kRawBytes; i += 3) {
    const uint32_t v =
        static_cast<uint32_t>(raw[i]) << 16 | static_cast<uint32_t>(raw[i + 1]) << 8 | raw[i + 2];
    *out++ = kAlphabet[v >> 18];
    *out++ = kAlphabet[v >> 12 & 63];
    *out++ = kAlphabet[v >> 6 & 63];
    *out++ = kAlphabet[v & 63];
  }
}

std::optional<AckId> DecodeAckId(std::string_view text) {
  if (text.size() != kAckIdChars) return std::nullopt;
  uint8_t raw[kRawBytes];
  for (size_t i = 0, j = 0; i < kAckIdChars; i += 4, j += 3) {
    int32_t v = 0;
    for (size_t k = 0; k < 4; ++k) {
      const int8_t value = kValues[static_cast<uint8_t>(text[i + k])];
      if (value < 0) return std::nullopt;
      v = v << 6 | value;
    }
    raw[j] = static_cast<uint8_t>(v >> 16);
    raw[j + 1] = static_cast<uint8_t>(v >> 8);
    raw[j + 2] = static_cast<uint8_t>(v);
  }
  AckId id;
  uint32_t check;
  std::memcpy(&id.seq, raw, 8);
  std::memcpy(&id.incarnation, raw + 8, 4);
  std::memcpy(&id.attempt, raw + 12, 2);
  std::memcpy(&check, raw + 14, 4);
  if (check != Check(id)) return std::nullopt;
  return id;
}

}  // namespace hornbeam::services::pubsub
