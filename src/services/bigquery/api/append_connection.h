// One AppendRows call.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_APPEND_CONNECTION_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_APPEND_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "google/cloud/bigquery/storage/v1/storage.pb.h"
#include "services/bigquery/api/proto_row_decoder.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/core/group_committer.h"

namespace hornbeam::services::bigquery {

// Reads a request, decodes its rows on the reading thread, hands them to the committer and reads
// on; answers leave in the order of the requests, as their commits come back. What is wrong with a
// batch is answered in the stream, which goes on; a request that cannot be a batch at all (no
// schema, no such table, no such stream) ends the call once everything before it is answered.
// Deletes itself when the call is over and no commit is outstanding.
class AppendConnection final
    : public grpc::ServerBidiReactor<google::cloud::bigquery::storage::v1::AppendRowsRequest,
                                     google::cloud::bigquery::storage::v1::AppendRowsResponse> {
 public:
  using Request = google::cloud::bigquery::storage::v1::AppendRowsRequest;
  using Response = google::cloud::bigquery::storage::v1::AppendRowsResponse;

  AppendConnection(Catalog* catalog, GroupCommitter* committer);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  // What the client writes to: known since it first named it.
  struct Destination {
    StreamName name;
    std::string canonical;
    google::protobuf::DescriptorProto descriptor;
    std::shared_ptr<const ProtoRowDecoder> decoder;
    // The version of the table that the client has been told of.
    uint64_t known_generation = 0;
  };
  // An answer that waits for its turn.
  struct Slot {
    Response response;
    bool ready = false;
  };

  // OK: the batch is with the committer, or its slot holds the answer. Otherwise the call ends with
  // this status.
  grpc::Status Handle();
  StatusOr<Destination*> FindDestination();
  // A slot at the end of the line; owned by the deque, which never moves its elements.
  Slot* NewSlot();
  void Answer(Slot* slot, const AppendOutcome& outcome, bool is_default);
  // Starts the next write, the next read or the end, as far as possible.
  void Advance();
  void Release();

  Catalog* const catalog_;
  GroupCommitter* const committer_;

  // The reading side: one thread at a time, as gRPC calls OnReadDone.
  Request request_;
  std::map<std::string, Destination> destinations_;  // by canonical name
  Destination* current_ = nullptr;

  Mutex mutex_;
  std::deque<Slot> slots_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool reads_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status end_ ABSL_GUARDED_BY(mutex_);
  // One for the call itself and one for each append that the committer holds.
  std::atomic<int> references_{1};
};

// The same error as gRPC carries it; code and message.
grpc::Status ToGrpcStatus(const Status& status);
// With a StorageError in its details.
grpc::Status ToGrpcStatus(const Status& status,
                          google::cloud::bigquery::storage::v1::StorageError::StorageErrorCode code,
                          const std::string& entity);
// The schema as the Storage API spells it.
void ToStorageSchema(const TableSchema& schema,
                     google::cloud::bigquery::storage::v1::TableSchema* out);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_APPEND_CONNECTION_H_
