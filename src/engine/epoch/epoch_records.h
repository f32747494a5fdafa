// What one worker, source or sink adds to an epoch.
#ifndef HORNBEAM_ENGINE_EPOCH_EPOCH_RECORDS_H_
#define HORNBEAM_ENGINE_EPOCH_EPOCH_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/epoch/ids.h"

namespace hornbeam::engine {

// One record, as a view of the buffer it was read from.
struct RecordView {
  UnitKey key;
  bool replaces = false;
  std::string_view payload;
  size_t offset = 0;      // in the buffer
  size_t size_bytes = 0;  // with its header
};

// A sequence of records in one buffer, opaque to the log. No allocation per record. Not
// thread-safe. A payload may have up to kMaxPayloadBytes; a larger one makes status() an error,
// which JobLog::Seal returns.
class EpochRecords {
 public:
  static constexpr size_t kHeaderBytes = 12;
  static constexpr size_t kMaxPayloadBytes = 1u << 30;

  // A smaller limit than kMaxPayloadBytes is for tests.
  explicit EpochRecords(size_t max_payload_bytes = kMaxPayloadBytes)
      : max_payload_bytes_(max_payload_bytes) {}
  EpochRecords(EpochRecords&& other) noexcept { Swap(other); }
  EpochRecords& operator=(EpochRecords&& other) noexcept {
    Swap(other);
    return *this;
  }

  // `replaces`: this record is the unit's whole state and everything earlier of that unit is void;
  // with an empty payload the unit has ended. Otherwise the record adds to what came before.
  void Add(OperatorId op, uint32_t unit, bool replaces, std::string_view payload);

  // The same without a copy: append the payload to the string that Begin returns (and only append),
  // then End. The pointer is valid until End. REQUIRES: Begin and End alternate; nothing else is
  // called in between.
  std::string* Begin(OperatorId op, uint32_t unit, bool replaces);
  void End();
  // Takes the begun record back, as if Begin had not been called.
  void Abandon();

  bool empty() const { return bytes_.empty(); }
  size_t size_bytes() const { return bytes_.size(); }
  size_t record_count() const { return record_count_; }
  // The records as they lie in the log.
  std::string_view bytes() const { return bytes_; }
  const Status& status() const { return status_; }

  // Empties it and keeps the memory for the next epoch.
  void Clear();
  void Reserve(size_t size_bytes) { bytes_.reserve(size_bytes); }

 private:
  void Swap(EpochRecords& other) noexcept;

  size_t max_payload_bytes_ = kMaxPayloadBytes;
  std::string bytes_;
  size_t record_count_ = 0;
  std::optional<size_t> begun_;  // where the open record starts
  Status status_;
};

// Reads records from the bytes of an EpochRecords; views point into them.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}

  // False at the end and at the first malformed record; ok() tells which.
  bool Next(RecordView* record);
  bool ok() const { return ok_; }
  // Where the next record starts; after a malformed one, where that one starts.
  size_t offset() const { return offset_; }

 private:
  const std::string_view bytes_;
  size_t offset_ = 0;
  bool ok_ = true;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_EPOCH_RECORDS_H_
