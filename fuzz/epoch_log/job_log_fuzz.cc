// Whatever a segment holds, opening and replaying it ends in state or in one error, never in a
// crash.
//
// The first byte of an input chooses: 0 the rest is a whole segment file; 1 the rest is a list of
// frames (kind, number, length, body) that get correct headers and checksums, so that the fuzzer
// reaches what lies behind them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/memory_file_system.h"
#include "engine/epoch/job_log.h"
#include "engine/epoch/log_format.h"

namespace hornbeam::engine {
namespace {

class Ignore final : public ReplayVisitor {
 public:
  Status OnRecord(EpochId, OperatorId, uint32_t, bool, std::string_view) override {
    return absl::OkStatus();
  }
  Status OnNote(OperatorId, uint32_t, bool, std::string_view) override { return absl::OkStatus(); }
};

std::string WithFrames(std::string_view script) {
  const SegmentHeader header = {.salt = 1, .segment = 1, .first_needed_segment = 1, .job_id = "j"};
  std::string segment = header.Encode();
  ByteReader in(script);
  while (in.ok() && !in.done()) {
    FrameHeader frame;
    frame.kind = static_cast<FrameKind>(in.Byte());
    frame.number = in.Byte();
    frame.synced = in.Byte();
    const std::string_view body = in.Raw(in.Byte());
    frame.body_size = static_cast<uint32_t>(body.size());
    frame.body_checksum = Checksum(body);
    frame.offset = segment.size();
    frame.salt = header.salt;
    frame.AppendTo(&segment);
    segment.append(body);
    segment.resize(PaddedSize(segment.size()), '\0');
  }
  return segment;
}

void OpenAndReplay(std::string_view segment) {
  MemoryFileSystem fs;
  HB_CHECK(fs.CreateDirectories("/job").ok());
  HB_CHECK(WriteFileAtomically(fs, "/job/0000000001.log", segment).ok());
  const JobLogOptions options = {.job_id = "j", .seed = 1};
  for (int round = 0; round < 2; ++round) {
    const StatusOr<std::unique_ptr<JobLog>> log = JobLog::Open(&fs, "/job", options);
    if (!log.ok()) {
      HB_CHECK(round == 0);  // what was opened once has been repaired for good
      return;
    }
    Ignore ignore;
    HB_CHECK((*log)->Recover(&ignore).ok());
    HB_CHECK((*log)->last_sealed() == UINT64_MAX ||
             (*log)->Seal((*log)->last_sealed() + 1, {}).ok());
  }
}

}  // namespace
}  // namespace hornbeam::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  if (input.front() == 0) {
    hornbeam::engine::OpenAndReplay(input.substr(1));
  } else {
    hornbeam::engine::OpenAndReplay(hornbeam::engine::WithFrames(input.substr(1)));
  }
  return 0;
}
