// google.cloud.bigquery.storage.v1.BigQueryWrite: COMMITTED streams with exact offsets, and the
// default stream.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_WRITE_SERVICE_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_WRITE_SERVICE_H_

#include <memory>

#include "google/cloud/bigquery/storage/v1/storage.grpc.pb.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/core/group_committer.h"

namespace hornbeam::services::bigquery {

// Thread-safe, as gRPC requires. Appends of one connection are decoded in order on gRPC's threads
// and answered in order; the committer makes them durable. Both pointers outlive the service.
class WriteService final
    : public google::cloud::bigquery::storage::v1::BigQueryWrite::CallbackService {
 public:
  WriteService(Catalog* catalog, GroupCommitter* committer)
      : catalog_(catalog), committer_(committer) {}

  grpc::ServerUnaryReactor* CreateWriteStream(
      grpc::CallbackServerContext* context,
      const google::cloud::bigquery::storage::v1::CreateWriteStreamRequest* request,
      google::cloud::bigquery::storage::v1::WriteStream* response) override;
  grpc::ServerBidiReactor<google::cloud::bigquery::storage::v1::AppendRowsRequest,
                          google::cloud::bigquery::storage::v1::AppendRowsResponse>*
  AppendRows(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetWriteStream(
      grpc::CallbackServerContext* context,
      const google::cloud::bigquery::storage::v1::GetWriteStreamRequest* request,
      google::cloud::bigquery::storage::v1::WriteStream* response) override;
  grpc::ServerUnaryReactor* FinalizeWriteStream(
      grpc::CallbackServerContext* context,
      const google::cloud::bigquery::storage::v1::FinalizeWriteStreamRequest* request,
      google::cloud::bigquery::storage::v1::FinalizeWriteStreamResponse* response) override;
  grpc::ServerUnaryReactor* BatchCommitWriteStreams(
      grpc::CallbackServerContext* context,
      const google::cloud::bigquery::storage::v1::BatchCommitWriteStreamsRequest* request,
      google::cloud::bigquery::storage::v1::BatchCommitWriteStreamsResponse* response) override;
  grpc::ServerUnaryReactor* FlushRows(
      grpc::CallbackServerContext* context,
      const google::cloud::bigquery::storage::v1::FlushRowsRequest* request,
      google::cloud::bigquery::storage::v1::FlushRowsResponse* response) override;

 private:
  Catalog* const catalog_;
  GroupCommitter* const committer_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_WRITE_SERVICE_H_
