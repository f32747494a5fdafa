// Writes rows to one BigQuery table through the Storage Write API.
//
// Exactly-once: each shard has a COMMITTED stream of its own, in which every row's offset follows
// from what was saved before the row was sent (sink_state.h), so that whatever is sent again is
// sent to the same place and found there. At-least-once: the table's default stream.
// docs/connectors.md has it in full.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_STORAGE_WRITE_SINK_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_STORAGE_WRITE_SINK_H_

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/bigquery/append_stream.h"
#include "connectors/bigquery/append_verdict.h"
#include "connectors/bigquery/sink_state.h"
#include "connectors/google/channel.h"
#include "engine/job/job_options.h"
#include "engine/sink/sink_writer.h"
#include "hornbeam/io/bigquery_row.h"
#include "hornbeam/io/bigquery_write_options.h"

namespace hornbeam::connectors {

// Refused rows are answered as io::FailedRow.
class StorageWriteSink final : public engine::SinkWriter {
 public:
  // BigQuery takes 10 MB a request, with all that is around the rows.
  static constexpr size_t kMaxRequestBytes = 7 << 20;
  static constexpr size_t kMaxRowBytes = 9 << 20;

  struct Options {
    io::BigQueryWriteOptions write;
    engine::ProcessingMode mode = engine::ProcessingMode::kExactlyOnce;
    std::string job;  // shown to BigQuery as the one who writes
    size_t max_request_bytes = kMaxRequestBytes;
    std::chrono::milliseconds timeout{30'000};  // for one answer
  };

  // `layout` is of the options' schema.
  StorageWriteSink(Options options, std::shared_ptr<const io::RowLayout> layout);
  ~StorageWriteSink() override;

  Status Open(engine::SinkJournal* journal, std::string_view state) override;
  Status Deliver(const engine::Delivery& delivery) override;
  Status Finish() override;

 private:
  // The rows [begin, end) of a delivery that go in one request. They depend on the rows alone,
  // refused or not.
  struct Request {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // A delivery under way.
  struct Attempt;

  Status CheckTable();
  StatusOr<std::string> CreateStream();

  // Makes the decisions of a delivery that was not begun before. True in *again if it was.
  Status Begin(const engine::Delivery& delivery, const std::vector<Request>& requests,
               ShardState* shard, bool* again);
  // Takes the leading requests off that an earlier stream got.
  Status TakeWhatIsAhead(const std::vector<Request>& requests, ShardState* shard) const;
  Status WriteAll(Attempt* attempt);
  // Waits for the answers to what is under way behind a refused request.
  void TakeAnswersBehind(Attempt* attempt);
  // Acts on one answer.
  Status Act(const AppendVerdict& verdict, const AppendStream::Response& response,
             Attempt* attempt);
  Status Refuse(const AppendStream::Response& response, Attempt* attempt);
  // The stream takes nothing more: finds out what it got, and goes on in a new one.
  Status Settle(const Status& why, Attempt* attempt);
  void FillRequest(const Attempt& attempt, const Request& request, bool first,
                   AppendStream::Request* message) const;
  std::vector<Request> Split(const std::vector<std::string_view>& rows) const;
  Status Save() { return journal_->Save(state_.Encode()); }
  bool exactly_once() const { return options_.mode == engine::ProcessingMode::kExactlyOnce; }
  Status Explain(const Status& status) const;

  const Options options_;
  const std::shared_ptr<const io::RowLayout> layout_;
  io::TableName table_;
  Endpoint endpoint_;
  engine::SinkJournal* journal_ = nullptr;
  std::unique_ptr<google::cloud::bigquery::storage::v1::BigQueryWrite::Stub> stub_;
  SinkState state_;
  // Shards whose stream may yet get requests that nobody waits for any more: of an earlier process,
  // or of a call that broke. They do no harm while they would be sent again unchanged.
  std::set<uint32_t> doubtful_;
  // An earlier process may have sent rows of epochs up to this one.
  engine::EpochId earlier_horizon_ = 0;
  std::map<uint32_t, std::unique_ptr<AppendStream>> connections_;  // by shard
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_STORAGE_WRITE_SINK_H_
