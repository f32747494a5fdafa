#include "engine/state/key_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>

#include "base/rng.h"
#include "model/coder.h"

namespace hornbeam::engine {
namespace {

// Against std::unordered_map, over random additions. Few distinct hashes make many collisions.
void CompareWithMap(uint64_t seed, uint64_t distinct_hashes) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << distinct_hashes << " hashes");
  Rng rng(seed);
  const auto hash_of = [&](int64_t key) {
    model::KeyHash hash = model::HashKey(key);
    hash.low %= distinct_hashes;
    return hash;
  };
  KeyTable<int64_t, int64_t> table;
  std::unordered_map<int64_t, int64_t> expected;
  for (int step = 0; step < 4000; ++step) {
    const int64_t key = static_cast<int64_t>(rng.Below(500));
    table[table.FindOrAdd(hash_of(key), key)].cell += step;
    expected[key] += step;
  }
  ASSERT_EQ(table.size(), expected.size());
  for (const auto& entry : table.entries()) {
    EXPECT_EQ(entry.cell, expected.at(entry.key)) << entry.key;
    EXPECT_EQ(table[table.FindOrAdd(hash_of(entry.key), entry.key)].key, entry.key);
  }
}

TEST(KeyTableTest, BehavesLikeAMap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CompareWithMap(seed, UINT64_MAX);
    CompareWithMap(seed, 16);
    CompareWithMap(seed, 1);
  }
}

TEST(KeyTableTest, EntriesKeepTheOrderOfTheirKeys) {
  KeyTable<int64_t, int64_t> table;
  for (int64_t key = 100; key > 0; --key) table.FindOrAdd(model::HashKey(key), key);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(table[i].key, 100 - static_cast<int64_t>(i));
}

}  // namespace
}  // namespace hornbeam::engine
