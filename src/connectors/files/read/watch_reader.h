// Gives the files that a watch finds, as elements.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_WATCH_READER_H_
#define HORNBEAM_CONNECTORS_FILES_READ_WATCH_READER_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "connectors/files/read/file_watch.h"
#include "engine/source/reader.h"

namespace hornbeam::connectors {

// Its state is what the watch has seen, and of that what is still to be given.
class WatchReader final : public engine::Reader {
 public:
  explicit WatchReader(FileSearch search) : search_(std::move(search)) {}

  Status Open(const engine::ReaderContext& context) override;
  Status Restore(bool replaces, std::string_view payload) override;
  StatusOr<engine::Polled> Poll(size_t max_elements) override;
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override;
  Status Rewrite(engine::ReaderRecords* records) override;
  void Drain() override { drained_ = true; }

 private:
  Status Look();
  // The watch's part, then what is still to be given.
  void PutPending(std::string* out) const;

  const FileSearch search_;
  engine::ReaderContext context_;
  std::unique_ptr<FileWatch> watch_;
  std::deque<io::FileMetadata> pending_;  // all found by the last look
  bool changed_ = false;                  // since the last record
  bool recorded_any_ = false;
  bool drained_ = false;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_WATCH_READER_H_
