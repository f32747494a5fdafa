// Files as elements: finding them, and reading them as a whole (Beam's FileIO).
//
//   pipeline | "Match" >> io::MatchFiles("in/**.json.gz")     // PCollection<io::FileMetadata>
//            | "Open" >> io::ReadMatches()                     // PCollection<io::ReadableFile>
//            | "Parse" >> ParDo<Doc>([](const io::ReadableFile& file, OutputReceiver<Doc>& out) {
//                StatusOr<std::string> content = file.ReadFully();
//                ...
//              });
//
// For files of records see text_io.h, csv_io.h, json_io.h, avro_io.h and parquet_io.h, which read
// them piece by piece.
//
// Patterns: '*' any characters but '/', '**' any characters, '?' one character, '[a-c]' and
// '[!a-c]' one of a set, '\' takes the next character as it is. A path without a scheme is a local
// one.
#ifndef HORNBEAM_IO_FILE_IO_H_
#define HORNBEAM_IO_FILE_IO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "hornbeam/io/compression.h"
#include "hornbeam/io/file_metadata.h"
#include "hornbeam/io/watch.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/types.h"

namespace hornbeam::io {

// What a pattern that matches nothing is.
enum class EmptyMatchTreatment {
  kAllow,            // no file
  kDisallow,         // an error
  kAllowIfWildcard,  // an error where it is one path without a wildcard
};

// The files that match now, by ascending path. NOT_FOUND, which says why, where there are none and
// `empty` does not allow that.
StatusOr<std::vector<FileMetadata>> FindFiles(const std::string& pattern, EmptyMatchTreatment empty,
                                              FileSystem* fs);

// Looks for the files that match when the job starts. An error, also of a pattern that matches
// nothing, fails the job.
class MatchFiles : public PTransform {
 public:
  explicit MatchFiles(std::string pattern) : pattern_(std::move(pattern)) {}
  // kDisallow where nothing is said.
  MatchFiles WithEmptyMatchTreatment(EmptyMatchTreatment empty) const {
    MatchFiles changed = *this;
    changed.empty_ = empty;
    return changed;
  }
  // Looks again every interval and gives each file when it is found first, once, also over
  // restarts; the result is unbounded. A file's element has the time of the look that found it, and
  // the watermark is that of the last look. The pattern may match nothing. What was found is
  // remembered for ever: 16 bytes a file. A file should come to its name whole, as all that is
  // written here does.
  MatchFiles Continuously(Watch watch) const {
    MatchFiles changed = *this;
    changed.watch_ = watch;
    return changed;
  }
  PCollection<FileMetadata> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  std::string pattern_;
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kDisallow;
  std::optional<Watch> watch_;
};

// The files that match each pattern of a collection; one that matches several is there several
// times.
class MatchAll : public PTransform {
 public:
  // kAllowIfWildcard where nothing is said.
  MatchAll WithEmptyMatchTreatment(EmptyMatchTreatment empty) const {
    MatchAll changed = *this;
    changed.empty_ = empty;
    return changed;
  }
  PCollection<FileMetadata> Expand(const PCollection<std::string>& patterns,
                                   const std::string& name) const;

 private:
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kAllowIfWildcard;
};

// A file that can be read, decompressed.
class ReadableFile {
 public:
  ReadableFile() = default;
  ReadableFile(FileMetadata metadata, Compression compression, FileSystem* fs)
      : metadata_(std::move(metadata)), compression_(compression), fs_(fs) {}

  const FileMetadata& metadata() const { return metadata_; }
  Compression compression() const { return compression_; }

  // The whole content. RESOURCE_EXHAUSTED where it is longer than `limit_bytes`: a small compressed
  // file may hold any amount.
  StatusOr<std::string> ReadFully(uint64_t limit_bytes = uint64_t{1} << 30) const;

 private:
  FileMetadata metadata_;
  Compression compression_ = Compression::kAuto;
  FileSystem* fs_ = FileSystem::Posix();
};

// Files to be read by what follows: spread over all workers, each file to one.
class ReadMatches : public PTransform {
 public:
  ReadMatches WithCompression(Compression compression) const {
    ReadMatches changed = *this;
    changed.compression_ = compression;
    return changed;
  }
  PCollection<ReadableFile> Expand(const PCollection<FileMetadata>& files,
                                   const std::string& name) const;

 private:
  Compression compression_ = Compression::kAuto;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_FILE_IO_H_
