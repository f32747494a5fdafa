// Appends lines to a file so that it holds each once: what was written past the last confirmed delivery is cut off before it is
// written again.
#ifndef HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_
#define HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_

#include <memory>
#include <string>

#include "base/file_system.h"
#include "engine/sink/sink_writer.h"

namespace hornbeam::connectors {

class LineWriter final : public engine::SinkWriter {
 public:
  LineWriter(FileSystem* fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override;
  Status Deliver(const engine::Delivery& delivery) override;

 private:
  // The state: how long the file is, in bytes, with all confirmed deliveries in it.
  std::string EncodeState() const;

  FileSystem* const fs_;
  const std::string path_;
  engine::SinkJournal* journal_ = nullptr;
  std::unique_ptr<WritableFile> file_;
  uint64_t confirmed_bytes_ = 0;
  std::string buffer_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_LINE_WRITER_H_
