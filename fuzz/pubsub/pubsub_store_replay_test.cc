// The fuzz target on good inputs, their prefixes and mutations, without a fuzzer.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/rng.h"
#include "services/pubsub/core/ack_id.h"
#include "services/pubsub/store/ack_log.h"
#include "services/pubsub/store/block.h"
#include "services/pubsub/store/catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hornbeam::services::pubsub {
namespace {

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::vector<std::string> Seeds() {
  std::string payload;
  PutBytes(&payload, "one");
  PutBytes(&payload, "");
  BlockHeader header;
  header.starts_commit = true;
  header.message_count = 2;
  std::string segment(1, 0);
  AppendSegmentHeader(&segment, 0);
  AppendBlock(&segment, header, payload);
  header.first_seq = 2;
  AppendBlock(&segment, header, payload);
  std::string block(1, 1);
  block += std::string("\2", 1) + payload;
  std::string acks(1, 2);
  AppendAckFileHeader(&acks);
  AppendAckRecord(&acks, {5, {{7, 9}, {600, 1700}}});
  AppendAckRecord(&acks, {6, {{9, 10}}});
  Catalog catalog;
  catalog.topics[1] = {false, "topic"};
  catalog.subscriptions[2] = {3, 1, 4, "subscription"};
  std::string ack_id(1 + kAckIdChars, 4);
  EncodeAckId({1, 2, 3}, ack_id.data() + 1);
  return {segment, block, acks, std::string(1, 3) + EncodeCatalog(catalog), ack_id};
}

TEST(PubSubStoreReplayTest, NothingCrashes) {
  Rng rng(1);
  for (const std::string& seed : Seeds()) {
    for (size_t size = 0; size <= seed.size(); ++size) Try(seed.substr(0, size));
    for (int round = 0; round < 2000; ++round) {
      std::string mutated = seed;
      for (uint64_t n = 1 + rng.Below(4); n > 0; --n) {
        mutated[1 + rng.Below(mutated.size() - 1)] = static_cast<char>(rng.Next());
      }
      Try(mutated);
    }
  }
}

}  // namespace
}  // namespace hornbeam::services::pubsub
