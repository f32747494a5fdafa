// Text files, a line an element.
//
//   pipeline | "Read" >> io::ReadLines("orders.jsonl")      // PCollection<Slice>: views of the file's blocks, no copies
//            | "Parse" >> ParDo<Order>(...)
//   auto refused = lines | "Write" >> io::WriteLines("out.txt");
//
// ReadLines: every worker reads its share of the file's blocks, in order; a line is what stands between newlines, without
// them; an empty last line does not count. Elements have the least timestamp (see WithWatermark). A job that goes on from its
// state needs as many workers as it began with. Errors at start: a file that is missing or cannot be read.
//
// WriteLines: creates the file or, when the job begins anew, empties it. In exactly-once mode it holds each line of a sealed
// epoch once. In at-least-once mode a crash may repeat lines, and a power cut may leave damaged ones among those that were
// not confirmed and are repeated. A string with a newline in it is no line: it is not written, and is given back in the
// PCollection of refused ones, in its window and with its time. Errors at start: a folder that is missing, a file that cannot
// be written, or that is shorter than what the job had written.
#ifndef HORNBEAM_IO_TEXT_IO_H_
#define HORNBEAM_IO_TEXT_IO_H_

#include <string>

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

class WriteLines : public PTransform {
 public:
  explicit WriteLines(std::string path) : path_(std::move(path)) {}
  // Gives what was refused.
  PCollection<std::string> Expand(const PCollection<std::string>& input, const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_TEXT_IO_H_
