// A destination that takes rows at an offset, once; that is away now and then; and that refuses a batch for one bad row.
#ifndef HORNBEAM_SDK_FAKES_OFFSET_TABLE_H_
#define HORNBEAM_SDK_FAKES_OFFSET_TABLE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "hornbeam/transforms/write.h"
#include "sdk/fakes/power_switch.h"

namespace hornbeam::fakes {

// Outlives the jobs that write it. Thread-safe without a switch.
class OffsetTable {
 public:
  explicit OffsetTable(PowerSwitch* power = nullptr, uint64_t seed = 1) : power_(power), rng_(seed) {}

  // Every `n`th call is answered with UNAVAILABLE, half of them after it was done. 0 for none.
  void SetAwayOneIn(uint64_t n) { away_one_in_ = n; }
  void SetFatal(Status error) { fatal_ = std::move(error); }

  Status Moment() { return power_ == nullptr ? absl::OkStatus() : power_->Moment(); }

  // INVALID_ARGUMENT, with their indices, when rows are bad; ALREADY_EXISTS below the table's size.
  Status Append(uint64_t offset, const std::vector<std::string_view>& rows, std::vector<size_t>* bad) {
    HB_RETURN_IF_ERROR(Moment());
    MutexLock lock(&mutex_);
    if (!fatal_.ok()) return fatal_;
    const bool away = away_one_in_ > 0 && rng_.OneIn(away_one_in_);
    if (away && rng_.OneIn(2)) return absl::UnavailableError("the table is away");
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].starts_with("bad")) bad->push_back(i);
    }
    if (!bad->empty()) return absl::InvalidArgumentError("bad rows");
    if (offset < rows_.size()) return absl::AlreadyExistsError("the offset has been written");
    if (offset > rows_.size()) return absl::OutOfRangeError("the offset lies behind the end");
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return away ? absl::UnavailableError("the answer was lost") : absl::OkStatus();
  }
  std::vector<std::string> rows() const {
    MutexLock lock(&mutex_);
    return rows_;
  }

 private:
  PowerSwitch* const power_;
  mutable Mutex mutex_;
  Rng rng_ ABSL_GUARDED_BY(mutex_);
  uint64_t away_one_in_ = 0;
  Status fatal_;
  std::vector<std::string> rows_ ABSL_GUARDED_BY(mutex_);
};

// Exactly once: the offset of a delivery and the rows that it left out are saved before they are acted on. Refused rows are
// its answers.
class OffsetTableWriter final : public engine::SinkWriter {
 public:
  explicit OffsetTableWriter(OffsetTable* table) : table_(table) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override {
    journal_ = journal;
    if (state.empty()) return absl::OkStatus();
    ByteReader in(state);
    epoch_ = in.Varint();
    shard_ = static_cast<uint32_t>(in.Varint());
    begin_ = in.Varint();
    end_ = in.Varint();
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) refused_.push_back(in.Varint());
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed state of a table's writer");
  }

  Status Deliver(const engine::Delivery& delivery) override {
    if (delivery.epoch != epoch_ || delivery.shard != shard_) {
      epoch_ = delivery.epoch;
      shard_ = delivery.shard;
      begin_ = end_;
      end_ = begin_ + delivery.rows.size();
      refused_.clear();
      HB_RETURN_IF_ERROR(Save());
    }
    while (true) {
      std::vector<std::string_view> rows;
      std::vector<size_t> numbers, bad;
      for (size_t i = 0; i < delivery.rows.size(); ++i) {
        if (std::find(refused_.begin(), refused_.end(), i) != refused_.end()) continue;
        rows.push_back(delivery.rows[i]);
        numbers.push_back(i);
      }
      if (rows.empty()) return absl::OkStatus();
      const Status status = table_->Append(begin_, rows, &bad);
      if (status.ok() || absl::IsAlreadyExists(status)) return absl::OkStatus();
      if (!absl::IsInvalidArgument(status) || bad.empty()) return status;
      for (const size_t i : bad) {
        refused_.push_back(numbers[i]);
        std::string encoded;
        Coder<std::string>::Encode(std::string(rows[i]), &encoded);
        journal_->Answer(std::move(encoded));
      }
      end_ = begin_ + delivery.rows.size() - refused_.size();
      HB_RETURN_IF_ERROR(Save());
    }
  }

 private:
  Status Save() {
    std::string state;
    PutVarint(&state, epoch_);
    PutVarint(&state, shard_);
    PutVarint(&state, begin_);
    PutVarint(&state, end_);
    PutVarint(&state, refused_.size());
    for (const size_t row : refused_) PutVarint(&state, row);
    return journal_->Save(state);
  }

  OffsetTable* const table_;
  engine::SinkJournal* journal_ = nullptr;
  engine::EpochId epoch_ = 0;  // the newest delivery
  uint32_t shard_ = 0;
  uint64_t begin_ = 0, end_ = 0;  // its offsets
  std::vector<size_t> refused_;   // its rows that were left out
};

// At least once: rows go to the table's end.
class AppendingTableWriter final : public engine::SinkWriter {
 public:
  explicit AppendingTableWriter(OffsetTable* table) : table_(table) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override {
    journal_ = journal;
    return absl::OkStatus();
  }
  Status Deliver(const engine::Delivery& delivery) override {
    std::vector<std::string_view> rows = delivery.rows;
    std::vector<size_t> bad;
    Status status = table_->Append(table_->rows().size(), rows, &bad);
    if (!absl::IsInvalidArgument(status) || bad.empty()) return status;
    for (const size_t row : bad) {
      std::string encoded;
      Coder<std::string>::Encode(std::string(rows[row]), &encoded);
      journal_->Answer(std::move(encoded));
    }
    std::erase_if(rows, [](std::string_view row) { return row.starts_with("bad"); });
    bad.clear();
    return rows.empty() ? absl::OkStatus() : table_->Append(table_->rows().size(), rows, &bad);
  }

 private:
  OffsetTable* const table_;
  engine::SinkJournal* journal_ = nullptr;
};

// Rows as they are; a row that begins with "refuse" or "throw" the encoder does not take. Two shards, by the row's length.
class RowAsItIs final : public engine::RowEncoder<std::string> {
 public:
  StatusOr<uint32_t> Encode(const std::string& element, EventTime, const Window&, const PaneInfo&,
                            std::string* row) override {
    *row = element;
    if (element.starts_with("refuse")) return absl::InvalidArgumentError("the encoder refuses it");
    if (element.starts_with("throw")) throw 42;
    return static_cast<uint32_t>(element.size() % 2);
  }
};

inline Write<std::string, std::string, std::string> WriteTable(OffsetTable* table) {
  Write<std::string, std::string, std::string> write;
  write.urn = "test:transform:write_table:v1";
  write.new_writer = [table](engine::JobContext* job) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    if (job->options().mode == ProcessingMode::kAtLeastOnce) return std::make_unique<AppendingTableWriter>(table);
    return std::make_unique<OffsetTableWriter>(table);
  };
  write.new_encoder = [] { return std::make_unique<RowAsItIs>(); };
  write.refuse = [](const std::string& row, const Status& why) { return absl::StrCat(row, ": ", why.message()); };
  return write;
}

}  // namespace hornbeam::fakes

#endif  // HORNBEAM_SDK_FAKES_OFFSET_TABLE_H_
