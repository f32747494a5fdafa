// Appends lines to a file, so that it holds each once or, in at-least-once mode, at least once.
#ifndef HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_
#define HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_

#include <memory>
#include <string>

#include "base/file_system.h"
#include "engine/job/job_options.h"
#include "engine/sink/sink_writer.h"

namespace hornbeam::connectors {

// After a crash, what follows the last delivery that is known to be confirmed is written again. In
// exactly-once mode it is cut off before. In at-least-once mode it stays, since what the crash made
// the job forget may have been acknowledged at the source: only a last line that has no end is cut.
class LineWriter final : public engine::SinkWriter {
 public:
  LineWriter(FileSystem* fs, std::string path, engine::ProcessingMode mode)
      : fs_(fs), path_(std::move(path)), mode_(mode) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override;
  Status Deliver(const engine::Delivery& delivery) override;

 private:
  // The state: how long the file is, in bytes, with all confirmed deliveries in it; and a byte, the
  // mode in which it was written: 0 exactly-once, 1 at-least-once.
  std::string EncodeState() const;
  Status Create();
  // Of a file of `size` bytes: the end of its last whole line behind confirmed_bytes_.
  StatusOr<uint64_t> EndOfLines(const RandomAccessFile& file, uint64_t size) const;

  FileSystem* const fs_;
  const std::string path_;
  const engine::ProcessingMode mode_;
  engine::SinkJournal* journal_ = nullptr;
  std::unique_ptr<WritableFile> file_;
  uint64_t confirmed_bytes_ = 0;
  std::string buffer_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_
