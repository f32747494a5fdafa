#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/rng.h"
#include "connectors/files/compression/compress.h"
#include "connectors/files/compression/decompress.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/memory_file_store.h"

namespace hornbeam::connectors {
namespace {

using io::Compression;
using testing::HasSubstr;

StatusOr<std::string> Decompressed(const std::string& compressed, Compression compression,
                                   bool short_reads = false) {
  MemoryFileStore store;
  store.Put("f.z", compressed);
  FaultyFileStore faulty(&store, 0, 5);
  HB_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> bytes,
                      short_reads ? faulty.OpenForRead("f.z", 0) : store.OpenForRead("f.z", 0));
  const auto content = Decompress(std::move(bytes), compression, "f.z");
  return ReadAllBytes(*content, 100 << 20);
}

std::string Content(size_t size) {
  Rng rng(size);
  std::string content;
  while (content.size() < size)
    content += rng.OneIn(3) ? "the same again " : std::string(1, static_cast<char>(rng.Next()));
  content.resize(size);
  return content;
}

std::string Compressed(const std::string& content, Compression compression) {
  const StatusOr<std::string> compressed = Compress(content, compression);
  EXPECT_TRUE(compressed.ok());
  return *compressed;
}

TEST(CompressionTest, ThereAndBack) {
  for (const Compression compression :
       {Compression::kGzip, Compression::kZstd, Compression::kUncompressed}) {
    for (const size_t size : {0, 1, 100, 70'000, 1'000'000}) {
      SCOPED_TRACE(testing::Message() << ToString(compression) << " " << size);
      const std::string content = Content(size);
      const std::string compressed = Compressed(content, compression);
      EXPECT_EQ(compressed, Compressed(content, compression));
      for (const bool short_reads : {false, true}) {
        const StatusOr<std::string> again =
            Decompressed(compressed, compression, short_reads && size < 100'000);
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_TRUE(*again == content);
      }
    }
  }
}

TEST(CompressionTest, WhatIsConcatenatedIsReadAsOne) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    for (const bool short_reads : {false, true}) {
      const std::string two = Compressed("one, ", compression) + Compressed("", compression) +
                              Compressed("two", compression);
      EXPECT_EQ(*Decompressed(two, compression, short_reads), "one, two");
    }
  }
  EXPECT_EQ(*Decompressed(Compressed("one", Compression::kGzip) + std::string(500, '\0'),
                          Compression::kGzip),
            "one");
}

TEST(CompressionTest, WhatIsCutOffIsAnErrorThatNamesFileAndPlace) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string compressed = Compressed(Content(5000), compression);
    for (size_t size = 0; size < compressed.size(); ++size) {
      const StatusOr<std::string> content = Decompressed(compressed.substr(0, size), compression);
      ASSERT_TRUE(absl::IsDataLoss(content.status())) << size;
      ASSERT_THAT(std::string(content.status().message()), HasSubstr("'f.z'"));
      if (size > 0) {
        ASSERT_THAT(std::string(content.status().message()), HasSubstr(absl::StrCat("cut off")));
        ASSERT_THAT(std::string(content.status().message()),
                    HasSubstr(absl::StrCat("stops at byte ", size)));
      }
    }
    // Also where a whole member stands before it.
    EXPECT_TRUE(absl::IsDataLoss(
        Decompressed(compressed + compressed.substr(0, 30), compression).status()));
  }
}

TEST(CompressionTest, WhatIsSomethingElseIsAnError) {
  const Status gzip = Decompressed("id,amount\n1,2\n", Compression::kGzip).status();
  EXPECT_THAT(std::string(gzip.message()),
              HasSubstr("'f.z' is no gzip file: it does not begin as one at byte 0"));
  const Status zstd = Decompressed("id,amount\n1,2\n", Compression::kZstd).status();
  EXPECT_TRUE(absl::IsDataLoss(zstd));
  EXPECT_THAT(std::string(zstd.message()), HasSubstr("'f.z' holds no good zstd data"));
  const Status after =
      Decompressed(Compressed("one", Compression::kGzip) + "garbage", Compression::kGzip).status();
  EXPECT_THAT(std::string(after.message()),
              HasSubstr("bytes that are not gzip after its compressed content"));
}

TEST(CompressionTest, DamageIsFound) {
  const std::string gzip = Compressed(Content(5000), Compression::kGzip);
  std::string damaged = gzip;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x10);
  EXPECT_TRUE(absl::IsDataLoss(Decompressed(damaged, Compression::kGzip).status()));
  damaged = gzip;
  damaged[damaged.size() - 8] = static_cast<char>(damaged[damaged.size() - 8] ^ 1);  // the checksum
  EXPECT_TRUE(absl::IsDataLoss(Decompressed(damaged, Compression::kGzip).status()));
}

TEST(CompressionTest, ByExtension) {
  EXPECT_EQ(*io::ResolveCompression(Compression::kAuto, "a.csv.GZ"), Compression::kGzip);
  EXPECT_EQ(*io::ResolveCompression(Compression::kAuto, "a.zst"), Compression::kZstd);
  EXPECT_EQ(*io::ResolveCompression(Compression::kAuto, "a.csv"), Compression::kUncompressed);
  EXPECT_EQ(*io::ResolveCompression(Compression::kUncompressed, "a.gz"),
            Compression::kUncompressed);
  EXPECT_EQ(*io::ResolveCompression(Compression::kUncompressed, "a.bz2"),
            Compression::kUncompressed);
  const Status other = io::ResolveCompression(Compression::kAuto, "in/a.bz2").status();
  EXPECT_TRUE(absl::IsUnimplemented(other));
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("'in/a.bz2': files that end with .bz2 cannot be read"));
}

}  // namespace
}  // namespace hornbeam::connectors
