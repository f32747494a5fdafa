// BigQuery's Storage Write API in memory for tests, over real gRPC: one table, COMMITTED streams
// and the default stream, with faults on demand.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_FAKE_BIGQUERY_WRITE_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_FAKE_BIGQUERY_WRITE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "google/cloud/bigquery/storage/v1/storage.grpc.pb.h"
#include "google/rpc/status.pb.h"

namespace hornbeam::connectors {

namespace storage = google::cloud::bigquery::storage::v1;

// Thread-safe.
class FakeBigQueryWrite final : public storage::BigQueryWrite::Service {
 public:
  static constexpr char kTable[] = "projects/p/datasets/d/tables/t";

  FakeBigQueryWrite() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(32 << 20);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeBigQueryWrite() override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

  void SetSchema(storage::TableSchema schema) {
    MutexLock lock(&mutex_);
    schema_ = std::move(schema);
    exists_ = true;
  }
  void DropTable() {
    MutexLock lock(&mutex_);
    exists_ = false;
  }

  // What happens at the `nth` append from now on (1 is the next).
  enum class Fault {
    kLostBefore,  // the call breaks and nothing is written
    kLostAfter,   // it is written, and the call breaks before the answer
    kFinalized,   // the stream is finalized first
    kForgotten,   // the stream vanishes first
  };
  void FaultAt(int nth, Fault fault) {
    MutexLock lock(&mutex_);
    faults_[appends_ + nth] = fault;
  }
  // A row that contains the text is refused.
  void RefuseRowsWith(const std::string& text) {
    MutexLock lock(&mutex_);
    poison_ = text;
  }
  // Someone else's rows.
  void Intrude(size_t rows) {
    MutexLock lock(&mutex_);
    for (auto& [name, stream] : streams_) stream.rows.insert(stream.rows.end(), rows, "intruder");
  }
  // Takes rows off the end of every stream.
  void Lose(size_t rows) {
    MutexLock lock(&mutex_);
    for (auto& [name, stream] : streams_) {
      stream.rows.resize(stream.rows.size() - std::min(rows, stream.rows.size()));
    }
  }

  // The table's rows as they came over the wire, stream by stream in the order of their making.
  std::vector<std::string> Rows() {
    MutexLock lock(&mutex_);
    std::vector<std::string> all = gone_rows_;
    for (const auto& [name, stream] : streams_) {
      all.insert(all.end(), stream.rows.begin(), stream.rows.end());
    }
    return all;
  }
  size_t streams() {
    MutexLock lock(&mutex_);
    return streams_.size();
  }
  int appends() {
    MutexLock lock(&mutex_);
    return appends_;
  }
  std::string writer_schema() {
    MutexLock lock(&mutex_);
    return writer_schema_;
  }

  grpc::Status CreateWriteStream(grpc::ServerContext*,
                                 const storage::CreateWriteStreamRequest* request,
                                 storage::WriteStream* response) override {
    MutexLock lock(&mutex_);
    if (!exists_) return {grpc::StatusCode::NOT_FOUND, "Table not found"};
    const std::string name = absl::StrCat(request->parent(), "/streams/s", 100 + ++created_);
    streams_[name];
    response->set_name(name);
    return grpc::Status::OK;
  }
  grpc::Status GetWriteStream(grpc::ServerContext*, const storage::GetWriteStreamRequest* request,
                              storage::WriteStream* response) override {
    MutexLock lock(&mutex_);
    if (!exists_ || !absl::StartsWith(request->name(), kTable)) {
      return {grpc::StatusCode::NOT_FOUND, "Table not found"};
    }
    response->set_name(request->name());
    *response->mutable_table_schema() = schema_;
    return grpc::Status::OK;
  }
  grpc::Status FinalizeWriteStream(grpc::ServerContext*,
                                   const storage::FinalizeWriteStreamRequest* request,
                                   storage::FinalizeWriteStreamResponse* response) override {
    MutexLock lock(&mutex_);
    const auto at = streams_.find(request->name());
    if (at == streams_.end()) return {grpc::StatusCode::NOT_FOUND, "Stream not found"};
    at->second.finalized = true;
    response->set_row_count(static_cast<int64_t>(at->second.rows.size()));
    return grpc::Status::OK;
  }
  grpc::Status AppendRows(grpc::ServerContext*,
                          grpc::ServerReaderWriter<storage::AppendRowsResponse,
                                                   storage::AppendRowsRequest>* stream) override {
    storage::AppendRowsRequest request;
    std::string name;
    while (stream->Read(&request)) {
      if (!request.write_stream().empty()) name = request.write_stream();
      storage::AppendRowsResponse response;
      const grpc::Status status = Append(name, request, &response);
      if (!status.ok()) return status;
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  struct Stream {
    std::vector<std::string> rows;
    bool finalized = false;
  };

  static void Fail(absl::StatusCode code, storage::StorageError::StorageErrorCode detail,
                   const std::string& message, storage::AppendRowsResponse* response) {
    response->mutable_error()->set_code(static_cast<int>(code));
    response->mutable_error()->set_message(message);
    storage::StorageError error;
    error.set_code(detail);
    response->mutable_error()->add_details()->PackFrom(error);
  }

  grpc::Status Append(const std::string& name, const storage::AppendRowsRequest& request,
                      storage::AppendRowsResponse* response) {
    MutexLock lock(&mutex_);
    ++appends_;
    const auto fault = faults_.find(appends_);
    const bool has_fault = fault != faults_.end();
    const grpc::Status lost(grpc::StatusCode::UNAVAILABLE, "lost");
    if (has_fault && fault->second == Fault::kLostBefore) return lost;
    if (has_fault && fault->second == Fault::kFinalized) streams_[name].finalized = true;
    if (has_fault && fault->second == Fault::kForgotten) {
      const auto& rows = streams_[name].rows;
      gone_rows_.insert(gone_rows_.end(), rows.begin(), rows.end());
      streams_.erase(name);
    }
    if (request.proto_rows().has_writer_schema()) {
      writer_schema_ = request.proto_rows().writer_schema().proto_descriptor().SerializeAsString();
    }
    if (absl::EndsWith(name, "_default")) streams_[name];
    const auto at = streams_.find(name);
    if (at == streams_.end()) {
      return {grpc::StatusCode::NOT_FOUND, "Stream not found",
              Detail(storage::StorageError::STREAM_NOT_FOUND)};
    }
    Stream& stream = at->second;
    const auto size = static_cast<int64_t>(stream.rows.size());
    const int64_t offset = request.has_offset() ? request.offset().value() : size;
    if (stream.finalized) {
      Fail(absl::StatusCode::kFailedPrecondition, storage::StorageError::STREAM_FINALIZED,
           "finalized", response);
    } else if (offset < size) {
      Fail(absl::StatusCode::kAlreadyExists, storage::StorageError::OFFSET_ALREADY_EXISTS,
           "already exists", response);
    } else if (offset > size) {
      Fail(absl::StatusCode::kOutOfRange, storage::StorageError::OFFSET_OUT_OF_RANGE,
           absl::StrCat("expected ", size), response);
    } else {
      Write(request, offset, &stream, response);
    }
    return has_fault && fault->second == Fault::kLostAfter ? lost : grpc::Status::OK;
  }
  void Write(const storage::AppendRowsRequest& request, int64_t offset, Stream* stream,
             storage::AppendRowsResponse* response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto& rows = request.proto_rows().rows().serialized_rows();
    for (int i = 0; i < rows.size(); ++i) {
      if (poison_.empty() || !absl::StrContains(rows[i], poison_)) continue;
      auto* const error = response->add_row_errors();
      error->set_index(i);
      error->set_code(storage::RowError::FIELDS_ERROR);
      error->set_message(absl::StrCat("bad row: ", poison_));
    }
    if (response->row_errors_size() > 0) {
      response->mutable_error()->set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
      response->mutable_error()->set_message("Errors found while processing rows");
      return;
    }
    stream->rows.insert(stream->rows.end(), rows.begin(), rows.end());
    response->mutable_append_result()->mutable_offset()->set_value(offset);
  }
  static std::string Detail(storage::StorageError::StorageErrorCode code) {
    google::rpc::Status status;
    storage::StorageError error;
    error.set_code(code);
    status.add_details()->PackFrom(error);
    return status.SerializeAsString();
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  storage::TableSchema schema_ ABSL_GUARDED_BY(mutex_);
  bool exists_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> gone_rows_ ABSL_GUARDED_BY(mutex_);
  std::map<int, Fault> faults_ ABSL_GUARDED_BY(mutex_);
  std::string poison_ ABSL_GUARDED_BY(mutex_);
  std::string writer_schema_ ABSL_GUARDED_BY(mutex_);
  int appends_ ABSL_GUARDED_BY(mutex_) = 0;
  int created_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_FAKE_BIGQUERY_WRITE_H_
