// Writes the panes of windows to files (Beam's WriteFiles, TextIO.Write.withWindowedWrites).
//
//   lines | "Window" >> WindowInto(FixedWindows(Minutes(5)))
//         | "Write" >> io::WriteFiles<std::string>("out/orders", io::TextFormat()).WithShards(2)
//
// Each pane of each window and shard is a file:
// out/orders2013-01-01T05:00:00.000Z-2013-01-01T05:05:00.000Z-pane-0-last-00000-of-00002.txt. Which
// shard an element goes to follows from its record alone. A pane without elements makes no file
// (Beam makes empty ones). Bounded input needs no windows. Unbounded input in the global window
// needs a trigger that fires.
//
// Exactly-once: a file's bytes are sealed with the epoch before any of them is written. It is seen
// whole or not at all, and written again with the same bytes after a crash. A file of that name
// with other content fails the job (its name says why), unless ReplaceExisting is asked for. In
// at-least-once mode a crash may write a pane anew, with what came again, over the first.
//
// A pane of a shard is put together in memory, and its bytes go through the job's log: choose
// windows, triggers (AfterCount) and shards so that it fits. The order of records in a file is that
// of their arrival.
#ifndef HORNBEAM_IO_WRITE_FILES_H_
#define HORNBEAM_IO_WRITE_FILES_H_

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hornbeam/io/compression.h"
#include "hornbeam/io/file_format.h"
#include "hornbeam/io/file_naming.h"
#include "hornbeam/io/file_result.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {

struct WrittenFiles {
  PCollection<FileResult> files;        // once they are there; need not be read
  PCollection<FailedElement> failures;  // elements that have no record in the format
};

struct WriteFilesSettings {
  std::string output;
  std::string suffix;
  std::string shard_template;
  FileNaming naming = nullptr;
  int64_t shards = 1;
  Compression compression = Compression::kUncompressed;
  bool replace_existing = false;
};

namespace internal {

using ShardedRecord = KV<int64_t, std::string>;

// Where a record goes: by its bytes.
int64_t ShardOf(const std::string& record, int64_t shards);
// Groups the records by shard and writes the panes.
PCollection<FileResult> WriteShards(const PCollection<ShardedRecord>& records,
                                    const std::string& name, std::shared_ptr<const FileSink> sink,
                                    const WriteFilesSettings& settings);

}  // namespace internal

template <typename T>
class WriteFiles : public PTransform {
 public:
  // Files are named by DefaultFileNaming(output, suffix of the format).
  WriteFiles(std::string output, FileFormat<T> format) : format_(std::move(format)) {
    settings_.output = std::move(output);
    settings_.suffix = format_.suffix;
  }

  WriteFiles WithShards(int64_t shards) const {
    return With([&](auto& s) { s.shards = shards; });
  }
  // kAuto is a mistake here.
  WriteFiles WithCompression(Compression compression) const {
    return With([&](auto& s) { s.compression = compression; });
  }
  WriteFiles WithSuffix(std::string suffix) const {
    return With([&](auto& s) { s.suffix = std::move(suffix); });
  }
  // As DefaultFileNaming has it.
  WriteFiles WithShardTemplate(std::string shard_template) const {
    return With([&](auto& s) { s.shard_template = std::move(shard_template); });
  }
  // Instead of all that.
  WriteFiles WithNaming(FileNaming naming) const {
    return With([&](auto& s) { s.naming = std::move(naming); });
  }
  // Files that are there already are replaced, also those that this job has written itself under
  // the same name.
  WriteFiles ReplaceExisting() const {
    return With([](auto& s) { s.replace_existing = true; });
  }

  WrittenFiles Expand(const PCollection<T>& collection, const std::string& name) const {
    const PCollection<T> input = hornbeam::internal::InEachWindow(collection, name);
    input.pipeline().NoteMistake(Annotate(format_.mistake, absl::StrCat("'", name, "'")));
    const auto encoded = input.Apply(
        absl::StrCat(name, "/Encode"),
        ParDo<internal::ShardedRecord>([encode = format_.encode, shards = settings_.shards](
                                           const T& element,
                                           OutputReceiver<internal::ShardedRecord>& out) {
          internal::ShardedRecord record;
          if (const Status status = encode(element, &record.value); !status.ok()) {
            throw std::runtime_error(std::string(status.message()));
          }
          record.key = internal::ShardOf(record.value, shards);
          out.Output(std::move(record));
        }).WithFailures());
    return {internal::WriteShards(encoded.main(), name, format_.sink, settings_),
            encoded.failures()};
  }

 private:
  template <typename F>
  WriteFiles With(F change) const {
    WriteFiles changed = *this;
    change(changed.settings_);
    return changed;
  }

  FileFormat<T> format_;
  WriteFilesSettings settings_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_WRITE_FILES_H_
