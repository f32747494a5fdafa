// Text files, a line an element.
//
//   pipeline | "Read" >> io::ReadLines("orders.jsonl")      // PCollection<Slice>: views of the file's blocks, no copies
//            | "Parse" >> ParDo<Order>(...)
//   lines | "Write" >> io::WriteLines("out.txt")            // exactly-once: the file holds each line of a sealed epoch once
//
// ReadLines: every worker reads its share of the file's blocks, in order; a line is what stands between newlines, without
// them; an empty last line does not count. Elements have the least timestamp (see WithWatermark). A job that goes on from its
// state needs as many workers as it began with. Errors at start: a file that is missing or cannot be read.
//
// WriteLines: creates or, when the job begins anew, empties the file; in at-least-once mode a crash may repeat lines.
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
  void Expand(const PCollection<std::string>& input, const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_TEXT_IO_H_
