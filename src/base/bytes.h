// Encoding of integers and byte strings for disk formats: little-endian fixed width, LEB128 varints, zigzag.
#ifndef HORNBEAM_BASE_BYTES_H_
#define HORNBEAM_BASE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hornbeam {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the disk formats are read and written in place");

inline void PutFixed32(std::string* out, uint32_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }
inline void PutFixed64(std::string* out, uint64_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }

inline void PutVarint(std::string* out, uint64_t v) {
  char buffer[10];
  int n = 0;
  while (v >= 0x80) {
    buffer[n++] = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  buffer[n++] = static_cast<char>(v);
  out->append(buffer, static_cast<size_t>(n));
}

inline uint64_t ZigZag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
inline int64_t UnZigZag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }
inline void PutSigned(std::string* out, int64_t v) { PutVarint(out, ZigZag(v)); }

// A varint length, then the bytes.
inline void PutBytes(std::string* out, std::string_view v) {
  PutVarint(out, v.size());
  out->append(v);
}

// Reads what the functions above wrote. Every read past the end, or a malformed varint, makes `ok()` false for good
// and yields zero or an empty view: read a whole record, then ask once. Views point into the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool done() const { return in_.empty(); }
  size_t remaining() const { return in_.size(); }

  uint8_t Byte() {
    if (in_.empty()) return Fail();
    const uint8_t v = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }
  uint32_t Fixed32() { return Fixed<uint32_t>(); }
  uint64_t Fixed64() { return Fixed<uint64_t>(); }
  uint64_t Varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (in_.empty()) return Fail();
      const uint8_t byte = static_cast<uint8_t>(in_.front());
      in_.remove_prefix(1);
      if (shift == 63 && byte > 1) return Fail();
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return v;
    }
    return Fail();
  }
  int64_t Signed() { return UnZigZag(Varint()); }
  std::string_view Bytes() { return Raw(Varint()); }
  std::string_view Raw(size_t size) {
    if (size > in_.size()) {
      Fail();
      return {};
    }
    const std::string_view v = in_.substr(0, size);
    in_.remove_prefix(size);
    return v;
  }

 private:
  template <typename T>
  T Fixed() {
    if (in_.size() < sizeof(T)) return static_cast<T>(Fail());
    T v;
    std::memcpy(&v, in_.data(), sizeof v);
    in_.remove_prefix(sizeof v);
    return v;
  }
  uint8_t Fail() {
    ok_ = false;
    in_ = {};
    return 0;
  }

  std::string_view in_;
  bool ok_ = true;
};

// The checksum of every disk format here: the low 32 bits of XXH3-64.
uint32_t Checksum(std::string_view bytes);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_BYTES_H_
