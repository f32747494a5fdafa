// Whatever a file of the Pub/Sub store holds, and whatever a client sends as an ack id, reading it
// ends in a result or in one error, never in a crash.
//
// The first byte of an input chooses what the rest is: 0 a segment, 1 the payload of one block that
// gets a correct header, 2 an ack file, 3 a catalog, 4 an ack id.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory_file_system.h"
#include "base/status.h"
#include "services/pubsub/core/ack_id.h"
#include "services/pubsub/core/lease_table.h"
#include "services/pubsub/store/ack_log.h"
#include "services/pubsub/store/block.h"
#include "services/pubsub/store/catalog.h"
#include "services/pubsub/store/topic_log.h"

namespace hornbeam::services::pubsub {
namespace {

void OpenSegment(std::string_view content) {
  MemoryFileSystem fs;
  HB_CHECK(fs.CreateDirectories("t").ok());
  HB_CHECK(WriteFileAtomically(fs, "t/00000000000000000000.seg", content).ok());
  const StatusOr<std::unique_ptr<TopicLog>> log = TopicLog::Open(&fs, "t");
  if (!log.ok()) return;
  // What opened is readable as a whole, and can be written to.
  for (Seq seq = (*log)->begin(); seq < (*log)->end(); ++seq) {
    const auto run = (*log)->Find(seq);
    HB_CHECK(run.ok());
    (*run)->Get(seq);
  }
  const Seq end = (*log)->end();
  const EncodedMessages one{std::string("\1x"), 1};
  const EncodedMessages* pointer = &one;
  HB_CHECK((*log)->Append({&pointer, 1}, 1, 1).ok());
  HB_CHECK((*log)->end() == end + 1);
}

void ReadAcks(std::string_view content) {
  AckState state;
  const StatusOr<size_t> good = ReadAckFile(content, &state);
  if (!good.ok()) return;
  HB_CHECK(*good <= content.size());
  Seq at = state.floor;
  for (const SeqRange& range : state.ranges) {
    HB_CHECK(range.first > at && range.end > range.first);
    at = range.end;
  }
  if (at > 100'000) return;
  const LeaseTable table(state, at, 0);
  HB_CHECK(table.FullAckState().ranges == state.ranges);
}

}  // namespace
}  // namespace hornbeam::services::pubsub

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hornbeam::services::pubsub;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: OpenSegment(rest); break;
    case 1: {
      if (rest.empty()) break;
      std::string content;
      AppendSegmentHeader(&content, 0);
      BlockHeader header;
      header.starts_commit = true;
      header.message_count = static_cast<uint8_t>(rest[0]);
      AppendBlock(&content, header, rest.substr(1));
      OpenSegment(content);
      break;
    }
    case 2: ReadAcks(rest); break;
    case 3:
      if (const auto catalog = DecodeCatalog(rest); catalog.ok())
        HB_CHECK(EncodeCatalog(*catalog).size() <= rest.size());
      break;
    default:
      if (const std::optional<AckId> id = DecodeAckId(rest)) {
        char text[kAckIdChars];
        EncodeAckId(*id, text);
        HB_CHECK(std::string_view(text, kAckIdChars) == rest);
      }
  }
  return 0;
}
