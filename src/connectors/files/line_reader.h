// Reads the lines of one worker's share of a file: of its blocks, every n-th.
#ifndef HORNBEAM_CONNECTORS_FILES_LINE_READER_H_
#define HORNBEAM_CONNECTORS_FILES_LINE_READER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "engine/source/reader.h"

namespace hornbeam::connectors {

// A line belongs to the block in which it starts. Blocks are read whole, into buffers that go round: a batch holds the one
// its lines point into, and when no batch does it is read into again. So memory is bounded by what is under way.
class LineReader final : public engine::Reader {
 public:
  static constexpr size_t kBlockBytes = 1 << 20;
  // After each line so many bytes may be read, as parsers do that look ahead.
  static constexpr size_t kPadding = 64;

  // Split `split` of `splits` has the blocks whose number is `split` modulo `splits`.
  LineReader(FileSystem* fs, std::string path, uint32_t splits, size_t block_bytes = kBlockBytes)
      : fs_(fs), path_(std::move(path)), splits_(splits), block_bytes_(block_bytes) {}

  Status Open(const engine::ReaderContext& context) override;
  Status Restore(bool replaces, std::string_view payload) override;
  StatusOr<engine::Polled> Poll(size_t max_elements) override;
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override;
  Status Rewrite(engine::ReaderRecords* records) override;
  void Drain() override { drained_ = true; }
  engine::Backlog GetBacklog() const override;

 private:
  uint64_t BlockStart() const { return block_ * block_bytes_; }
  // Makes the current block's lines available; false behind the end of the file.
  StatusOr<bool> LoadBlock();
  Status ReadPastBlock(std::string* buffer, uint64_t start, uint64_t end);
  void NextBlock();
  std::shared_ptr<std::string> TakeBuffer();

  FileSystem* const fs_;
  const std::string path_;
  const uint32_t splits_;
  const size_t block_bytes_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t file_bytes_ = 0;

  uint64_t block_ = 0;                     // its number in the file
  uint64_t resume_at_ = 0;                 // offset in the file of the first line of block_ not yet read; 0: its first
  std::shared_ptr<std::string> buffer_;    // null: block_ is not loaded
  uint64_t buffer_start_ = 0;              // where the buffer stands in the file
  size_t next_ = 0, end_ = 0;              // in the buffer: the next line, the end of the last line of the block
  std::vector<std::shared_ptr<std::string>> pool_;
  bool drained_ = false;
  std::atomic<int64_t> bytes_left_{0};
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_LINE_READER_H_
