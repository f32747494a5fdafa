#include "engine/epoch/log_format.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

constexpr std::string_view kMagic = "HBJOBLOG";
constexpr uint32_t kVersion = 1;
constexpr size_t kNameDigits = 10;
constexpr std::string_view kNameSuffix = ".log";
constexpr size_t kHeaderChecksumOffset = 16;
constexpr uint32_t kMaxHeaderBodyBytes = 1 << 16;

// Of the whole header with the field itself zeroed.
uint32_t SegmentHeaderChecksum(std::string header) {
  header.replace(kHeaderChecksumOffset, 4, 4, '\0');
  return Checksum(header);
}

void Pad(std::string* out) { out->resize(PaddedSize(out->size()), '\0'); }

}  // namespace

std::string SegmentName(uint64_t segment) { return absl::StrFormat("%010d.log", segment); }

std::optional<uint64_t> SegmentOfName(std::string_view name) {
  if (name.size() != kNameDigits + kNameSuffix.size() || !name.ends_with(kNameSuffix)) return {};
  uint64_t segment = 0;
  const char* const end = name.data() + kNameDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, segment);
  if (error != std::errc() || stop != end) return {};
  return segment;
}

std::string SegmentHeader::Encode() const {
  std::string out(kMagic);
  PutFixed32(&out, kVersion);
  PutFixed32(&out, static_cast<uint32_t>(5 * sizeof(uint64_t) + sizeof(uint32_t) + job_id.size()));
  PutFixed32(&out, 0);  // the checksum's place
  PutFixed32(&out, 0);
  PutFixed64(&out, salt);
  PutFixed64(&out, segment);
  PutFixed64(&out, last_sealed);
  PutFixed64(&out, next_note);
  PutFixed64(&out, first_needed_segment);
  PutFixed32(&out, static_cast<uint32_t>(job_id.size()));
  out.append(job_id);
  Pad(&out);
  std::string checksum;
  PutFixed32(&checksum, SegmentHeaderChecksum(out));
  return out.replace(kHeaderChecksumOffset, checksum.size(), checksum);
}

StatusOr<SegmentHeader> DecodeSegmentHeader(std::string_view bytes, size_t* size) {
  const Status damaged = absl::DataLossError("is damaged at offset 0: no valid segment header");
  ByteReader in(bytes);
  const std::string_view magic = in.Raw(kMagic.size());
  const uint32_t version = in.Fixed32();
  const uint32_t body_size = in.Fixed32();
  const uint32_t checksum = in.Fixed32();
  in.Fixed32();
  if (!in.ok() || magic != kMagic || body_size > kMaxHeaderBodyBytes) return damaged;
  *size = PaddedSize(SegmentHeader::kFixedBytes + body_size);
  if (bytes.size() < *size) return damaged;
  if (SegmentHeaderChecksum(std::string(bytes.substr(0, *size))) != checksum) return damaged;
  if (version != kVersion) {
    return absl::UnimplementedError(absl::StrCat("has format version ", version,
                                                 ", and this program reads ", kVersion,
                                                 ": use the program that wrote it"));
  }
  SegmentHeader header;
  header.salt = in.Fixed64();
  header.segment = in.Fixed64();
  header.last_sealed = in.Fixed64();
  header.next_note = in.Fixed64();
  header.first_needed_segment = in.Fixed64();
  header.job_id = std::string(in.Raw(in.Fixed32()));
  if (!in.ok()) return damaged;
  return header;
}

void FrameHeader::AppendTo(std::string* out) const {
  std::string rest;
  PutFixed32(&rest, body_checksum);
  PutFixed32(&rest, body_size);
  PutFixed32(&rest, static_cast<uint32_t>(kind));
  PutFixed64(&rest, offset);
  PutFixed64(&rest, number);
  PutFixed64(&rest, synced);
  PutFixed64(&rest, salt);
  PutFixed32(out, Checksum(rest));
  out->append(rest);
}

std::optional<FrameHeader> DecodeFrameHeader(std::string_view bytes, uint64_t offset,
                                             uint64_t salt) {
  ByteReader in(bytes.substr(0, FrameHeader::kBytes));
  const uint32_t checksum = in.Fixed32();
  FrameHeader header;
  header.body_checksum = in.Fixed32();
  header.body_size = in.Fixed32();
  const uint32_t kind = in.Fixed32();
  header.kind = static_cast<FrameKind>(kind);
  header.offset = in.Fixed64();
  header.number = in.Fixed64();
  header.synced = in.Fixed64();
  header.salt = in.Fixed64();
  if (!in.ok() || header.offset != offset || header.salt != salt) return {};
  if (kind < static_cast<uint32_t>(FrameKind::kRecords) ||
      kind > static_cast<uint32_t>(FrameKind::kClose)) {
    return {};
  }
  if (Checksum(bytes.substr(sizeof checksum, FrameHeader::kBytes - sizeof checksum)) != checksum) {
    return {};
  }
  return header;
}

std::string SealBody::Encode() const {
  std::string out;
  PutFixed32(&out, frame_count);
  PutFixed32(&out, 0);
  PutFixed64(&out, body_bytes);
  PutFixed64(&out, first_needed_segment);
  return out;
}

std::optional<SealBody> SealBody::Decode(std::string_view body) {
  ByteReader in(body);
  SealBody seal;
  seal.frame_count = in.Fixed32();
  in.Fixed32();
  seal.body_bytes = in.Fixed64();
  seal.first_needed_segment = in.Fixed64();
  if (!in.ok() || !in.done()) return {};
  return seal;
}

std::string NotesBody::Encode() const {
  std::string out;
  PutFixed32(&out, static_cast<uint32_t>(key.op));
  PutFixed32(&out, key.unit);
  PutFixed32(&out, replaces ? 1 : 0);
  PutFixed32(&out, static_cast<uint32_t>(payloads.size()));
  for (const std::string_view payload : payloads) {
    PutFixed32(&out, static_cast<uint32_t>(payload.size()));
    out.append(payload);
  }
  return out;
}

std::optional<NotesBody> NotesBody::Decode(std::string_view body) {
  ByteReader in(body);
  NotesBody notes;
  notes.key.op = OperatorId{in.Fixed32()};
  notes.key.unit = in.Fixed32();
  const uint32_t flags = in.Fixed32();
  const uint32_t count = in.Fixed32();
  notes.replaces = (flags & 1) != 0;
  for (uint32_t i = 0; i < count && in.ok(); ++i) notes.payloads.push_back(in.Raw(in.Fixed32()));
  if (!in.ok() || !in.done() || flags > 1) return {};
  return notes;
}

}  // namespace hornbeam::engine
