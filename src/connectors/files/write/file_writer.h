// Puts files where they belong: each row is a file.
#ifndef HORNBEAM_CONNECTORS_FILES_WRITE_FILE_WRITER_H_
#define HORNBEAM_CONNECTORS_FILES_WRITE_FILE_WRITER_H_

#include <memory>
#include <string>

#include "connectors/files/store/file_store.h"
#include "engine/sink/sink_writer.h"
#include "hornbeam/io/file_result.h"

namespace hornbeam::connectors {

// The row of a file: what it is (its path among it), then its bytes.
void PutFileRow(std::string* row, const io::FileResult& file, std::string_view content);

// It keeps no state: a delivery that is made again finds its files there, with the same bytes.
class FileWriter final : public engine::SinkWriter {
 public:
  FileWriter(std::string output, FileSystem* fs, IfExists if_exists)
      : output_(std::move(output)), fs_(fs), if_exists_(if_exists) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override;
  Status Deliver(const engine::Delivery& delivery) override;

 private:
  const std::string output_;
  FileSystem* const fs_;
  const IfExists if_exists_;
  engine::SinkJournal* journal_ = nullptr;
  std::shared_ptr<FileStore> store_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_WRITE_FILE_WRITER_H_
