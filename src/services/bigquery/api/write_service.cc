#include "services/bigquery/api/write_service.h"

#include "absl/strings/str_cat.h"
#include "services/bigquery/api/append_connection.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

namespace storage = google::cloud::bigquery::storage::v1;

namespace {

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

void Describe(const std::string& name, int64_t created_us, const TableSchema* schema,
              storage::WriteStream* out) {
  out->set_name(name);
  out->set_type(storage::WriteStream::COMMITTED);
  out->set_write_mode(storage::WriteStream::INSERT);
  out->set_location("US");
  out->mutable_create_time()->set_seconds(created_us / 1'000'000);
  out->mutable_create_time()->set_nanos(static_cast<int32_t>(created_us % 1'000'000) * 1000);
  if (schema) ToStorageSchema(*schema, out->mutable_table_schema());
}

Status OnlyCommitted(absl::string_view call) {
  return absl::UnimplementedError(absl::StrCat(
      call,
      " is for PENDING and BUFFERED streams, which this local BigQuery does not have; use a "
      "COMMITTED stream or the default stream."));
}

}  // namespace

grpc::ServerUnaryReactor* WriteService::CreateWriteStream(
    grpc::CallbackServerContext* context, const storage::CreateWriteStreamRequest* request,
    storage::WriteStream* response) {
  const auto name = ParseTableResource(request->parent());
  if (!name.ok()) return Finish(context, ToGrpcStatus(name.status()));
  if (request->write_stream().type() == storage::WriteStream::PENDING ||
      request->write_stream().type() == storage::WriteStream::BUFFERED) {
    return Finish(context, ToGrpcStatus(OnlyCommitted("This type")));
  }
  if (request->write_stream().type() != storage::WriteStream::COMMITTED) {
    return Finish(context, ToGrpcStatus(Invalid("write_stream.type must be set.")));
  }
  const auto table = catalog_->GetTable(*name);
  if (!table.ok()) {
    return Finish(context, ToGrpcStatus(table.status(), storage::StorageError::TABLE_NOT_FOUND,
                                        name->ResourceName()));
  }
  const auto stream = catalog_->CreateStream(*name);
  if (!stream.ok()) return Finish(context, ToGrpcStatus(stream.status()));
  Describe(stream->name, stream->created_us, &(*table)->schema, response);
  return Finish(context, grpc::Status::OK);
}

grpc::ServerBidiReactor<storage::AppendRowsRequest, storage::AppendRowsResponse>*
WriteService::AppendRows(grpc::CallbackServerContext*) {
  return new AppendConnection(catalog_, committer_);
}

grpc::ServerUnaryReactor* WriteService::GetWriteStream(
    grpc::CallbackServerContext* context, const storage::GetWriteStreamRequest* request,
    storage::WriteStream* response) {
  const auto name = ParseStreamResource(request->name());
  if (!name.ok()) return Finish(context, ToGrpcStatus(name.status()));
  const auto table = catalog_->GetTable(name->table);
  if (!table.ok()) {
    return Finish(context, ToGrpcStatus(table.status(), storage::StorageError::TABLE_NOT_FOUND,
                                        name->table.ResourceName()));
  }
  const std::string canonical = absl::StrCat(name->table.ResourceName(), "/streams/", name->stream);
  int64_t created_us = (*table)->created_ms * 1000;
  if (!name->is_default()) {
    const auto stream = catalog_->GetStream(canonical);
    if (!stream.ok()) {
      return Finish(context, ToGrpcStatus(stream.status(), storage::StorageError::STREAM_NOT_FOUND,
                                          canonical));
    }
    created_us = stream->created_us;
  }
  const bool full = name->is_default() || request->view() == storage::FULL;
  Describe(canonical, created_us, full ? &(*table)->schema : nullptr, response);
  return Finish(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* WriteService::FinalizeWriteStream(
    grpc::CallbackServerContext* context, const storage::FinalizeWriteStreamRequest* request,
    storage::FinalizeWriteStreamResponse* response) {
  const auto name = ParseStreamResource(request->name());
  if (!name.ok()) return Finish(context, ToGrpcStatus(name.status()));
  if (name->is_default()) {
    return Finish(context,
                  ToGrpcStatus(Invalid("The default stream cannot be finalized."),
                               storage::StorageError::INVALID_STREAM_TYPE, request->name()));
  }
  const auto stream = catalog_->FinalizeStream(request->name());
  if (!stream.ok()) {
    const bool missing = stream.status().code() == absl::StatusCode::kNotFound;
    return Finish(context,
                  missing ? ToGrpcStatus(stream.status(), storage::StorageError::STREAM_NOT_FOUND,
                                         request->name())
                          : ToGrpcStatus(stream.status()));
  }
  response->set_row_count(stream->next_offset);
  return Finish(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* WriteService::BatchCommitWriteStreams(
    grpc::CallbackServerContext* context, const storage::BatchCommitWriteStreamsRequest*,
    storage::BatchCommitWriteStreamsResponse*) {
  return Finish(context, ToGrpcStatus(OnlyCommitted("BatchCommitWriteStreams")));
}

grpc::ServerUnaryReactor* WriteService::FlushRows(grpc::CallbackServerContext* context,
                                                  const storage::FlushRowsRequest*,
                                                  storage::FlushRowsResponse*) {
  return Finish(context, ToGrpcStatus(OnlyCommitted("FlushRows")));
}

}  // namespace hornbeam::services::bigquery
