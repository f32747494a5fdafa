#include "services/pubsub/store/ack_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr std::string_view kMagic = "HBPACK01";
constexpr size_t kRecordHeaderBytes = 8;
constexpr uint64_t kMinRewriteBytes = 1u << 20;

// The record at the front of `bytes`: its length, or 0 when it is not intact.
size_t ReadRecord(std::string_view bytes, AckState* state) {
  if (bytes.size() < kRecordHeaderBytes) return 0;
  ByteReader header(bytes);
  const uint32_t checksum = header.Fixed32();
  const uint32_t body_bytes = header.Fixed32();
  if (body_bytes > header.remaining()) return 0;
  if (Checksum(bytes.substr(4, 4 + size_t{body_bytes})) != checksum) return 0;
  ByteReader body(bytes.substr(kRecordHeaderBytes, body_bytes));
  AckState delta;
  delta.floor = body.Varint();
  const uint64_t count = body.Varint();
  Seq at = delta.floor;
  for (uint64_t i = 0; i < count && body.ok(); ++i) {
    at += static_cast<Seq>(body.Signed());
    const uint64_t length = body.Varint();
    if (length == 0 || at + length < at) return 0;
    delta.ranges.push_back({at, at + length});
    at += length;
  }
  if (!body.ok() || !body.done()) return 0;
  state->floor = std::max(state->floor, delta.floor);
  state->ranges.insert(state->ranges.end(), delta.ranges.begin(), delta.ranges.end());
  if (state->ranges.size() > 4096) state->Normalise();
  return kRecordHeaderBytes + body_bytes;
}

}  // namespace

void AckState::Normalise() {
  std::sort(ranges.begin(), ranges.end(),
            [](const SeqRange& a, const SeqRange& b) { return a.first < b.first; });
  std::vector<SeqRange> joined;
  for (const SeqRange& range : ranges) {
    if (range.first <= floor) {
      floor = std::max(floor, range.end);
    } else if (!joined.empty() && range.first <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
}

void AppendAckFileHeader(std::string* out) {
  out->append(kMagic);
  PutFixed32(out, Checksum(kMagic));
  PutFixed32(out, 0);
}

void AppendAckRecord(std::string* out, const AckState& delta) {
  std::string body;
  PutVarint(&body, delta.floor);
  PutVarint(&body, delta.ranges.size());
  Seq at = delta.floor;
  for (const SeqRange& range : delta.ranges) {
    PutSigned(&body, static_cast<int64_t>(range.first - at));
    PutVarint(&body, range.size());
    at = range.end;
  }
  std::string sized;
  PutFixed32(&sized, static_cast<uint32_t>(body.size()));
  sized += body;
  PutFixed32(out, Checksum(sized));
  *out += sized;
}

StatusOr<size_t> ReadAckFile(std::string_view content, AckState* state) {
  std::string header;
  AppendAckFileHeader(&header);
  if (content.size() < header.size()) return 0;
  if (content.substr(0, header.size()) != header)
    return absl::DataLossError("its header is not an ack file's");
  size_t at = header.size();
  while (at < content.size()) {
    const size_t length = ReadRecord(content.substr(at), state);
    if (length == 0) break;
    at += length;
  }
  if (at < content.size()) {
    AckState ignored;
    for (size_t probe = at + 1; probe + kRecordHeaderBytes < content.size(); ++probe) {
      if (ReadRecord(content.substr(probe), &ignored) != 0) {
        return absl::DataLossError(
            absl::StrCat("the record at byte ", at, " is bad and an intact one follows"));
      }
    }
  }
  state->Normalise();
  return at;
}

StatusOr<std::unique_ptr<AckLog>> AckLog::Open(FileSystem* fs, std::string path, Seq start,
                                               AckState* state) {
  state->floor = start;
  std::unique_ptr<AckLog> log(new AckLog(fs, std::move(path)));
  if (fs->Exists(log->path_)) {
    HB_ASSIGN_OR_RETURN(const std::string content, ReadFile(*fs, log->path_));
    if (const StatusOr<size_t> good = ReadAckFile(content, state); !good.ok()) {
      return absl::DataLossError(
          absl::StrCat("Pub/Sub ack file '", log->path_, "' is damaged (", good.status().message(),
                       "): restore it from a copy, or delete it to have every message again"));
    }
  }
  // One record of what was found, which also drops a torn tail.
  HB_RETURN_IF_ERROR(log->Rewrite(*state));
  return log;
}

AckLog::~AckLog() {
  if (file_ != nullptr) file_->Close().IgnoreError();  // what was promised is already synced
}

Status AckLog::Append(const AckState& delta) {
  if (file_ == nullptr)
    return absl::UnavailableError(absl::StrCat("ack file '", path_, "' is closed after an error"));
  std::string record;
  AppendAckRecord(&record, delta);
  Status status = file_->Append(record);
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) {
    file_->Close().IgnoreError();
    file_ = nullptr;
  }
  return status;
}

bool AckLog::WantsRewrite() const {
  return file_ == nullptr || file_->size() > std::max(kMinRewriteBytes, 4 * rewritten_bytes_);
}

Status AckLog::Rewrite(const AckState& full) {
  std::string content;
  AppendAckFileHeader(&content);
  AppendAckRecord(&content, full);
  if (file_ != nullptr) file_->Close().IgnoreError();
  file_ = nullptr;
  HB_RETURN_IF_ERROR(WriteFileAtomically(*fs_, path_, content));
  HB_ASSIGN_OR_RETURN(file_, fs_->OpenForAppend(path_));
  rewritten_bytes_ = content.size();
  return absl::OkStatus();
}

}  // namespace hornbeam::services::pubsub
