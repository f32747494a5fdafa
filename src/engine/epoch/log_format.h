// Bytes of the job log: docs/formats/job_log.md.
#ifndef HORNBEAM_ENGINE_EPOCH_LOG_FORMAT_H_
#define HORNBEAM_ENGINE_EPOCH_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/epoch/ids.h"

namespace hornbeam::engine {

inline constexpr size_t kLogAlignment = 8;
inline constexpr uint64_t PaddedSize(uint64_t size) {
  return (size + kLogAlignment - 1) / kLogAlignment * kLogAlignment;
}

// "0000000001.log"; nullopt for any other kind of name.
std::string SegmentName(uint64_t segment);
std::optional<uint64_t> SegmentOfName(std::string_view name);

struct SegmentHeader {
  static constexpr size_t kFixedBytes = 24;  // all up to the body

  uint64_t salt = 0;
  uint64_t segment = 0;
  EpochId last_sealed = 0;  // before this segment
  uint64_t next_note = 1;
  uint64_t first_needed_segment = 0;
  std::string job_id;

  // With padding.
  std::string Encode() const;
};

// `bytes` is the start of a segment, up to all of it. Sets *size to the header's with padding.
// DATA_LOSS when it is not a valid header, UNIMPLEMENTED when it is of another version; the
// messages start where the name of the file ends.
StatusOr<SegmentHeader> DecodeSegmentHeader(std::string_view bytes, size_t* size);

enum class FrameKind : uint8_t { kRecords = 1, kSeal = 2, kNotes = 3, kClose = 4 };

struct FrameHeader {
  static constexpr size_t kBytes = 48;

  FrameKind kind{};
  uint32_t body_size = 0;
  uint32_t body_checksum = 0;
  uint64_t offset = 0;
  uint64_t number = 0;  // epoch or number of the note
  uint64_t synced = 0;
  uint64_t salt = 0;

  void AppendTo(std::string* out) const;
  uint64_t end() const { return offset + kBytes + PaddedSize(body_size); }
};

// `bytes` has kBytes. Nullopt when it is no frame header of this place.
std::optional<FrameHeader> DecodeFrameHeader(std::string_view bytes, uint64_t offset,
                                             uint64_t salt);

struct SealBody {
  uint32_t frame_count = 0;
  uint64_t body_bytes = 0;
  uint64_t first_needed_segment = 0;

  std::string Encode() const;
  static std::optional<SealBody> Decode(std::string_view body);
};

struct NotesBody {
  UnitKey key;
  bool replaces = false;
  std::vector<std::string_view> payloads;

  std::string Encode() const;
  // The payloads point into `body`.
  static std::optional<NotesBody> Decode(std::string_view body);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_LOG_FORMAT_H_
