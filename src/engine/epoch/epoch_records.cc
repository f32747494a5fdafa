#include "engine/epoch/epoch_records.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

constexpr size_t kSizeFieldOffset = 8;

}  // namespace

void EpochRecords::Add(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) {
  Begin(op, unit, replaces)->append(payload);
  End();
}

std::string* EpochRecords::Begin(OperatorId op, uint32_t unit, bool replaces) {
  HB_CHECK(!begun_.has_value());
  begun_ = bytes_.size();
  PutFixed32(&bytes_, static_cast<uint32_t>(op));
  PutFixed32(&bytes_, unit);
  PutFixed32(&bytes_, replaces ? 1 : 0);
  return &bytes_;
}

void EpochRecords::End() {
  HB_CHECK(begun_.has_value() && bytes_.size() >= *begun_ + kHeaderBytes);
  const size_t size = bytes_.size() - *begun_ - kHeaderBytes;
  char* const header = &bytes_[*begun_];
  if (size > max_payload_bytes_) {
    uint32_t op, unit;
    std::memcpy(&op, header, sizeof op);
    std::memcpy(&unit, header + sizeof op, sizeof unit);
    if (status_.ok()) {
      status_ = absl::ResourceExhaustedError(absl::StrCat(
          "operator ", op, " added a record of ", size, " bytes for unit ", unit,
          ", and one may have ", max_payload_bytes_, ": spread the state over more keys"));
    }
    Abandon();
    return;
  }
  uint32_t size_and_flag;
  std::memcpy(&size_and_flag, header + kSizeFieldOffset, sizeof size_and_flag);
  size_and_flag |= static_cast<uint32_t>(size) << 1;
  std::memcpy(header + kSizeFieldOffset, &size_and_flag, sizeof size_and_flag);
  begun_.reset();
  ++record_count_;
}

void EpochRecords::Abandon() {
  HB_CHECK(begun_.has_value());
  bytes_.resize(*begun_);
  begun_.reset();
}

void EpochRecords::Clear() {
  bytes_.clear();
  record_count_ = 0;
  begun_.reset();
  status_ = absl::OkStatus();
}

void EpochRecords::Swap(EpochRecords& other) noexcept {
  std::swap(max_payload_bytes_, other.max_payload_bytes_);
  std::swap(bytes_, other.bytes_);
  std::swap(record_count_, other.record_count_);
  std::swap(begun_, other.begun_);
  std::swap(status_, other.status_);
}

bool RecordReader::Next(RecordView* record) {
  if (!ok_ || offset_ == bytes_.size()) return false;
  ByteReader in(bytes_.substr(offset_));
  record->key.op = OperatorId{in.Fixed32()};
  record->key.unit = in.Fixed32();
  const uint32_t size_and_flag = in.Fixed32();
  record->replaces = (size_and_flag & 1) != 0;
  record->payload = in.Raw(size_and_flag >> 1);
  ok_ = in.ok();
  if (!ok_) return false;
  record->offset = offset_;
  record->size_bytes = EpochRecords::kHeaderBytes + record->payload.size();
  offset_ += record->size_bytes;
  return true;
}

}  // namespace hornbeam::engine
