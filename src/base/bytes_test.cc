#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace hornbeam {
namespace {

TEST(BytesTest, WhatIsWrittenIsRead) {
  std::string out;
  PutVarint(&out, 0);
  PutVarint(&out, std::numeric_limits<uint64_t>::max());
  PutSigned(&out, std::numeric_limits<int64_t>::min());
  PutFixed32(&out, 7);
  PutFixed64(&out, 1ull << 63);
  PutBytes(&out, "text");

  ByteReader in(out);
  EXPECT_EQ(in.Varint(), 0u);
  EXPECT_EQ(in.Varint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(in.Signed(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(in.Fixed32(), 7u);
  EXPECT_EQ(in.Fixed64(), 1ull << 63);
  EXPECT_EQ(in.Bytes(), "text");
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.done());
}

TEST(BytesTest, EveryTruncationIsNoticed) {
  std::string out;
  PutVarint(&out, 300);
  PutFixed64(&out, 1);
  PutBytes(&out, "text");
  for (size_t size = 0; size < out.size(); ++size) {
    ByteReader in(std::string_view(out).substr(0, size));
    in.Varint();
    in.Fixed64();
    in.Bytes();
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(BytesTest, AnOverlongVarintIsRefused) {
  const std::string overlong(11, '\xff');
  ByteReader in(overlong);
  in.Varint();
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace hornbeam
