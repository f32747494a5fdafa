// Text files, a line an element.
//
//   pipeline | "Read" >> io::ReadLines("orders.jsonl")      // PCollection<Slice>: views of the
//   file's blocks, no copies
//            | "Parse" >> ParDo<Order>(...)
//   pipeline | "Read" >> io::ReadText("in/*.txt.gz")         // PCollection<std::string>
//   auto refused = lines | "Write" >> io::WriteLines("out.txt");
//
// ReadLines: every worker reads its share of the file's blocks, in order; a line is what stands
// between newlines, without them; an empty last line does not count. Elements have the least
// timestamp (see WithWatermark). A job that goes on from its state needs as many workers as it
// began with. Errors at start: a file that is missing or cannot be read.
//
// WriteLines: creates the file or, when the job begins anew, empties it. In exactly-once mode it
// holds each line of a sealed epoch once. In at-least-once mode a crash may repeat lines, and a
// power cut may leave damaged ones among those that were not confirmed and are repeated. A string
// with a newline in it is no line: it is not written, and is given back in the PCollection of
// refused ones, in its window and with its time. Errors at start: a folder that is missing, a file
// that cannot be written, or that is shorter than what the job had written.
#ifndef HORNBEAM_IO_TEXT_IO_H_
#define HORNBEAM_IO_TEXT_IO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "hornbeam/io/compression.h"
#include "hornbeam/io/file_io.h"
#include "hornbeam/io/file_record.h"
#include "hornbeam/io/watch.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/types.h"

namespace hornbeam::io {

class ReadLines : public PTransform {
 public:
  explicit ReadLines(std::string path) : path_(std::move(path)) {}
  PCollection<Slice> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  std::string path_;
};

// Reads the files of a pattern (io/file_io.h), of any length and number: files that are not
// compressed, have one-character delimiters and no header are read in parts, all others whole,
// spread over all workers. Records are what stands between delimiters: a newline, a carriage
// return, or both, where nothing else is said; an empty last one does not count. Elements have the
// least timestamp. A job that goes on from its state may have another number of workers; a file
// that was being read must not have changed. A file that cannot be read fails the job with a
// sentence that names it.
//
// To write files see io/write_files.h.
class ReadText : public PTransform {
 public:
  explicit ReadText(std::string pattern) : pattern_(std::move(pattern)) {}

  ReadText WithCompression(Compression c) const {
    return With([&](ReadText& r) { r.compression_ = c; });
  }
  ReadText WithDelimiter(std::string d) const {
    return With([&](ReadText& r) { r.delimiter_ = std::move(d); });
  }
  // So many lines at the beginning of each file are left out.
  ReadText WithSkipHeaderLines(int64_t lines) const {
    return With([&](ReadText& r) { r.skip_header_lines_ = lines; });
  }
  ReadText WithEmptyMatchTreatment(EmptyMatchTreatment e) const {
    return With([&](ReadText& r) { r.empty_ = e; });
  }
  // Goes on looking for new files; elements have the time at which their file was found.
  ReadText WatchForNewFiles(Watch watch) const {
    return With([&](ReadText& r) { r.watch_ = watch; });
  }

  PCollection<std::string> Expand(Pipeline& pipeline, const std::string& name) const;
  // With where each record stood.
  PCollection<FileRecord> ExpandRecords(Pipeline& pipeline, const std::string& name) const;

 private:
  template <typename F>
  ReadText With(F change) const {
    ReadText changed = *this;
    change(changed);
    return changed;
  }

  std::string pattern_;
  Compression compression_ = Compression::kAuto;
  std::string delimiter_;
  int64_t skip_header_lines_ = 0;
  EmptyMatchTreatment empty_ = EmptyMatchTreatment::kDisallow;
  std::optional<Watch> watch_;
};

class WriteLines : public PTransform {
 public:
  explicit WriteLines(std::string path) : path_(std::move(path)) {}
  // Gives what was refused.
  PCollection<std::string> Expand(const PCollection<std::string>& input,
                                  const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_TEXT_IO_H_
