#include "connectors/bigquery/append_verdict.h"

#include "connectors/google/channel.h"
#include "google/cloud/bigquery/storage/v1/storage.pb.h"
#include "google/rpc/status.pb.h"

namespace hornbeam::connectors {
namespace {

namespace storage = google::cloud::bigquery::storage::v1;
using Kind = AppendVerdict::Kind;

Kind KindOf(const google::rpc::Status& status) {
  for (const google::protobuf::Any& detail : status.details()) {
    storage::StorageError error;
    if (!detail.UnpackTo(&error)) continue;
    switch (error.code()) {
      case storage::StorageError::OFFSET_ALREADY_EXISTS: return Kind::kAlreadyExists;
      case storage::StorageError::OFFSET_OUT_OF_RANGE: return Kind::kOutOfRange;
      case storage::StorageError::STREAM_NOT_FOUND:
      case storage::StorageError::STREAM_FINALIZED:
      case storage::StorageError::STREAM_ALREADY_COMMITTED:
      case storage::StorageError::INVALID_STREAM_STATE: return Kind::kStreamGone;
      case storage::StorageError::TABLE_NOT_FOUND: return Kind::kFatal;
      default: break;
    }
  }
  const auto code = static_cast<absl::StatusCode>(status.code());
  if (code == absl::StatusCode::kAlreadyExists) return Kind::kAlreadyExists;
  if (code == absl::StatusCode::kOutOfRange) return Kind::kOutOfRange;
  return IsTransient(Status(code, "")) ? Kind::kTryAgain : Kind::kFatal;
}

AppendVerdict Judge(const google::rpc::Status& status) {
  return {KindOf(status), Status(static_cast<absl::StatusCode>(status.code()), status.message())};
}

}  // namespace

AppendVerdict JudgeResponse(const storage::AppendRowsResponse& response) {
  if (response.row_errors_size() > 0) {
    return {Kind::kRowsRefused, absl::InvalidArgumentError(response.row_errors(0).message())};
  }
  if (response.has_error() && response.error().code() != 0) return Judge(response.error());
  return {};
}

AppendVerdict JudgeCall(const grpc::Status& status) {
  google::rpc::Status detailed;
  if (!detailed.ParseFromString(status.error_details())) detailed.Clear();
  detailed.set_code(static_cast<int>(status.error_code()));
  detailed.set_message(status.error_message());
  return Judge(detailed);
}

}  // namespace hornbeam::connectors
