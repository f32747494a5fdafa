// Reads the files of a pattern, record by record: one split's share of them.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_FILES_READER_H_
#define HORNBEAM_CONNECTORS_FILES_READ_FILES_READER_H_

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "connectors/files/read/file_watch.h"
#include "connectors/files/read/record_reader.h"
#include "engine/source/reader.h"
#include "hornbeam/io/file_record.h"

namespace hornbeam::connectors {

// How many splits the files are shared among, whatever the number of workers, so that a job may go
// on with another.
inline constexpr uint32_t kFileSplits = 16;
// A file that can be split is read in parts of so many bytes.
inline constexpr uint64_t kFilePartBytes = uint64_t{64} << 20;

struct FilesToRead {
  FileSearch search;
  io::Compression compression = io::Compression::kAuto;
  Splitting splitting = Splitting::kWholeFiles;
  uint64_t part_bytes = kFilePartBytes;
};

// All but the type of the records. A split takes files, or parts of files, by the hash of their
// names, as it finds them; what it has found, and how far it has read, is its state
// (docs/files.md).
//
// Elements of a bounded read have the least timestamp; of a watch, the time at which their file was
// found.
class PartsReader : public engine::Reader {
 public:
  explicit PartsReader(FilesToRead files) : files_(std::move(files)) {}

  Status Open(const engine::ReaderContext& context) override;
  Status Restore(bool replaces, std::string_view payload) override;
  StatusOr<engine::Polled> Poll(size_t max_elements) override;
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override;
  Status Rewrite(engine::ReaderRecords* records) override;
  void Drain() override { drained_ = true; }
  engine::Backlog GetBacklog() const override;

 protected:
  virtual Status OpenPart(FileStore* store, const FilePart& part, std::string_view position) = 0;
  // Null behind the last record.
  virtual StatusOr<std::unique_ptr<engine::Batch>> ReadBatch(size_t max_elements,
                                                             model::EventTime timestamp) = 0;
  virtual void PutPosition(std::string* position) const = 0;

 private:
  struct Pending {
    FilePart part;
    model::EventTime timestamp;
  };

  Status Look();
  Status AddParts(const io::FileMetadata& file);
  Status OpenNext();
  Status ReadPending(size_t max_elements, std::unique_ptr<engine::Batch>* batch);
  Status CheckUnchanged(const FilePart& part) const;
  void NextPart();
  model::EventTime Watermark() const;
  void PutPending(std::string* out, size_t from) const;
  bool RestorePending(ByteReader& in);
  void PutProgress(std::string* out) const;

  const FilesToRead files_;
  engine::ReaderContext context_;
  std::unique_ptr<FileWatch> watch_;
  std::shared_ptr<FileStore> store_;
  std::deque<Pending> pending_;
  uint64_t passed_ = 0;          // parts that are done with, since the split began
  uint64_t recorded_found_ = 0;  // of all parts, passed and pending, those in a record
  bool recorded_any_ = false;
  bool progressed_ = false;  // since the last record
  bool open_ = false;        // pending_[0] is
  std::string position_;     // of pending_[0], from an earlier run; empty at its beginning
  bool drained_ = false;
  std::atomic<int64_t> pending_bytes_{0};
};

template <typename T>
class FilesReader final : public PartsReader {
 public:
  FilesReader(FilesToRead files, std::unique_ptr<RecordReader<T>> records)
      : PartsReader(std::move(files)), records_(std::move(records)) {}

 private:
  static constexpr size_t kBatchBytes = 1 << 20;

  Status OpenPart(FileStore* store, const FilePart& part, std::string_view position) override {
    return records_->Open(store, part, position);
  }
  StatusOr<std::unique_ptr<engine::Batch>> ReadBatch(size_t max_elements,
                                                     model::EventTime timestamp) override {
    auto batch = std::make_unique<engine::TypedBatch<T>>();
    size_t bytes = 0;
    while (batch->values.size() < max_elements && bytes < kBatchBytes) {
      T record;
      HB_ASSIGN_OR_RETURN(const bool more, records_->Next(&record));
      if (!more) break;
      if constexpr (std::is_same_v<T, io::FileRecord>) bytes += record.bytes.size();
      batch->Append(std::move(record), timestamp, model::Window::Global(),
                    model::PaneInfo::NoFiring());
    }
    if (batch->values.empty()) return nullptr;
    return batch;
  }
  void PutPosition(std::string* position) const override { records_->PutPosition(position); }

  const std::unique_ptr<RecordReader<T>> records_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_FILES_READER_H_
