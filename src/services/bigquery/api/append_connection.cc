#include "services/bigquery/api/append_connection.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/shorten.h"
#include "google/rpc/status.pb.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

namespace storage = google::cloud::bigquery::storage::v1;

namespace {

// Requests of one connection that may be undecided at a time; further ones are not read until one
// is answered.
constexpr size_t kMaxInFlight = 256;
constexpr size_t kMaxRowErrors = 1000;

storage::StorageError::StorageErrorCode CodeOf(AppendRefusal refusal) {
  switch (refusal) {
    case AppendRefusal::kTableNotFound: return storage::StorageError::TABLE_NOT_FOUND;
    case AppendRefusal::kStreamNotFound: return storage::StorageError::STREAM_NOT_FOUND;
    case AppendRefusal::kStreamFinalized: return storage::StorageError::STREAM_FINALIZED;
    case AppendRefusal::kOffsetAlreadyExists: return storage::StorageError::OFFSET_ALREADY_EXISTS;
    case AppendRefusal::kOffsetOutOfRange: return storage::StorageError::OFFSET_OUT_OF_RANGE;
    default: return storage::StorageError::STORAGE_ERROR_CODE_UNSPECIFIED;
  }
}

std::string Text(const Status& status) {
  const absl::string_view message = status.message();
  return Shortened({message.data(), message.size()});
}

void FillError(const Status& status, storage::StorageError::StorageErrorCode code,
               const std::string& entity, google::rpc::Status* out) {
  out->set_code(static_cast<int>(status.code()));
  out->set_message(Text(status));
  if (code == storage::StorageError::STORAGE_ERROR_CODE_UNSPECIFIED) return;
  storage::StorageError detail;
  detail.set_code(code);
  detail.set_entity(Shortened(entity));
  detail.set_error_message(Text(status));
  out->add_details()->PackFrom(detail);
}

void FillFields(const std::vector<Field>& fields,
                google::protobuf::RepeatedPtrField<storage::TableFieldSchema>* out) {
  static constexpr storage::TableFieldSchema::Type kTypes[] = {
      storage::TableFieldSchema::STRING,     storage::TableFieldSchema::BYTES,
      storage::TableFieldSchema::INT64,      storage::TableFieldSchema::DOUBLE,
      storage::TableFieldSchema::BOOL,       storage::TableFieldSchema::NUMERIC,
      storage::TableFieldSchema::BIGNUMERIC, storage::TableFieldSchema::TIMESTAMP,
      storage::TableFieldSchema::DATE,       storage::TableFieldSchema::TIME,
      storage::TableFieldSchema::DATETIME,   storage::TableFieldSchema::JSON,
      storage::TableFieldSchema::STRUCT};
  for (const Field& field : fields) {
    auto* made = out->Add();
    made->set_name(field.name);
    made->set_type(kTypes[static_cast<size_t>(field.type)]);
    made->set_mode(field.mode == FieldMode::kRequired   ? storage::TableFieldSchema::REQUIRED
                   : field.mode == FieldMode::kRepeated ? storage::TableFieldSchema::REPEATED
                                                        : storage::TableFieldSchema::NULLABLE);
    made->set_description(field.description);
    FillFields(field.fields, made->mutable_fields());
  }
}

}  // namespace

grpc::Status ToGrpcStatus(const Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Text(status));
}

grpc::Status ToGrpcStatus(const Status& status, storage::StorageError::StorageErrorCode code,
                          const std::string& entity) {
  google::rpc::Status details;
  FillError(status, code, entity, &details);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Text(status),
                      details.SerializeAsString());
}

void ToStorageSchema(const TableSchema& schema, storage::TableSchema* out) {
  FillFields(schema.fields, out->mutable_fields());
}

AppendConnection::AppendConnection(Catalog* catalog, GroupCommitter* committer)
    : catalog_(catalog), committer_(committer) {
  MutexLock lock(&mutex_);
  reading_ = true;
  StartRead(&request_);
}

void AppendConnection::OnReadDone(bool ok) {
  grpc::Status status;
  if (ok) status = Handle();
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    if (!ok || !status.ok()) {
      reads_done_ = true;
      end_ = status;
    }
  }
  Advance();
}

void AppendConnection::OnWriteDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    slots_.pop_front();
    if (!ok) broken_ = true;
  }
  Advance();
}

void AppendConnection::OnDone() { Release(); }

void AppendConnection::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

AppendConnection::Slot* AppendConnection::NewSlot() {
  MutexLock lock(&mutex_);
  return &slots_.emplace_back();
}

void AppendConnection::Advance() {
  // Decided under the lock, done outside of it. gRPC allows one read and one write at a time, each
  // started here only.
  Response* write = nullptr;
  bool read = false, finish = false;
  grpc::Status end;
  {
    MutexLock lock(&mutex_);
    if (finished_) return;
    if (!writing_ && !broken_ && !slots_.empty() && slots_.front().ready) {
      writing_ = true;
      write = &slots_.front().response;
    }
    if (!reading_ && !reads_done_ && !broken_ && slots_.size() < kMaxInFlight) {
      reading_ = true;
      read = true;
    }
    // A broken connection ends at once; its appends still commit, and their answers are dropped
    // with their slots.
    if (!writing_ && !reading_ && (broken_ || (reads_done_ && slots_.empty()))) {
      finished_ = true;
      finish = true;
      end = end_;
    }
  }
  if (write) StartWrite(write);
  if (read) StartRead(&request_);
  if (finish) Finish(end);
}

StatusOr<AppendConnection::Destination*> AppendConnection::FindDestination() {
  const std::string& resource = request_.write_stream();
  if (resource.empty()) {
    if (!current_)
      return Invalid("write_stream must be set in the first request of the connection.");
    return current_;
  }
  if (current_ && current_->canonical == resource) return current_;
  Destination made;
  HB_ASSIGN_OR_RETURN(made.name, ParseStreamResource(resource));
  made.canonical = absl::StrCat(made.name.table.ResourceName(), "/streams/", made.name.stream);
  const auto known = destinations_.find(made.canonical);
  if (known != destinations_.end()) return &known->second;
  if (!made.name.is_default()) {
    if (current_ && current_->canonical != made.canonical) {
      return Invalid(
          "only default streams can share a connection; open another one for this stream.");
    }
  } else if (current_ && !current_->name.is_default()) {
    return Invalid(
        "only default streams can share a connection; open another one for this stream.");
  }
  const std::string key = made.canonical;
  return &destinations_.emplace(key, std::move(made)).first->second;
}

grpc::Status AppendConnection::Handle() {
  const auto found = FindDestination();
  if (!found.ok()) return ToGrpcStatus(found.status());
  Destination& destination = **found;
  const auto table = catalog_->GetTable(destination.name.table);
  if (!table.ok()) {
    return ToGrpcStatus(table.status(), storage::StorageError::TABLE_NOT_FOUND,
                        destination.name.table.ResourceName());
  }
  if ((*table)->is_view()) return ToGrpcStatus(Invalid("Rows cannot be written to a view."));
  if (!destination.name.is_default()) {
    const auto stream = catalog_->GetStream(destination.canonical);
    if (!stream.ok()) {
      return ToGrpcStatus(stream.status(), storage::StorageError::STREAM_NOT_FOUND,
                          destination.canonical);
    }
  } else if (request_.has_offset()) {
    return ToGrpcStatus(Invalid("offset must not be set when writing to the default stream."));
  }
  // Not "already exists", which a writer takes for done.
  if (request_.has_offset() && request_.offset().value() < 0)
    return ToGrpcStatus(Invalid("offset must not be negative."));
  if (request_.rows_case() == Request::kArrowRows) {
    return ToGrpcStatus(absl::UnimplementedError(
        "Arrow rows are not supported by this local BigQuery; send protocol buffers."));
  }
  if (!request_.has_proto_rows()) return ToGrpcStatus(Invalid("The request has no rows."));
  current_ = &destination;

  const bool new_schema = request_.proto_rows().has_writer_schema();
  if (new_schema) destination.descriptor = request_.proto_rows().writer_schema().proto_descriptor();
  if (!new_schema && !destination.decoder) {
    return ToGrpcStatus(
        Invalid("proto_rows.writer_schema must be set in the first request to a stream."));
  }
  const bool updated =
      destination.known_generation != 0 && destination.known_generation != (*table)->generation;
  Slot* const slot = NewSlot();
  Response& response = slot->response;
  response.set_write_stream(destination.canonical);
  const auto refuse = [&](const Status& status, storage::StorageError::StorageErrorCode code) {
    FillError(status, code, destination.canonical, response.mutable_error());
    MutexLock lock(&mutex_);
    slot->ready = true;
  };
  if (new_schema || destination.decoder->table()->generation != (*table)->generation) {
    std::string extra_field;
    auto decoder = ProtoRowDecoder::Create(destination.descriptor, *table, &extra_field);
    if (!decoder.ok()) {
      // Without a decoder the next request must bring its schema again.
      destination.decoder.reset();
      refuse(decoder.status(), extra_field.empty()
                                   ? storage::StorageError::STORAGE_ERROR_CODE_UNSPECIFIED
                                   : storage::StorageError::SCHEMA_MISMATCH_EXTRA_FIELDS);
      return grpc::Status::OK;
    }
    destination.decoder = *std::move(decoder);
  }
  destination.known_generation = (*table)->generation;
  if (updated) ToStorageSchema((*table)->schema, response.mutable_updated_schema());

  const auto& serialized = request_.proto_rows().rows().serialized_rows();
  const std::vector<std::string_view> rows(serialized.begin(), serialized.end());
  std::vector<ProtoRowError> errors;
  Append append;
  append.chunks = destination.decoder->Decode(rows, &errors);
  if (!errors.empty()) {
    for (size_t i = 0; i < errors.size() && i < kMaxRowErrors; ++i) {
      auto* error = response.add_row_errors();
      error->set_index(errors[i].index);
      error->set_code(storage::RowError::FIELDS_ERROR);
      error->set_message(std::move(errors[i].message));
    }
    refuse(Invalid(absl::StrCat(
               "Errors found while processing rows. Please refer to the row_errors field for "
               "details. The list may not be complete because of the size limitations. Entity: ",
               destination.canonical)),
           storage::StorageError::STORAGE_ERROR_CODE_UNSPECIFIED);
    return grpc::Status::OK;
  }
  append.table = *table;
  append.rows = static_cast<int64_t>(rows.size());
  const bool is_default = destination.name.is_default();
  if (!is_default) append.stream = destination.canonical;
  if (request_.has_offset()) append.offset = request_.offset().value();
  references_.fetch_add(1, std::memory_order_relaxed);
  append.done = [this, slot, is_default](const AppendOutcome& outcome) {
    Answer(slot, outcome, is_default);
    Advance();
    Release();
  };
  committer_->Submit(std::move(append));
  return grpc::Status::OK;
}

void AppendConnection::Answer(Slot* slot, const AppendOutcome& outcome, bool is_default) {
  MutexLock lock(&mutex_);
  Response& response = slot->response;
  if (outcome.status.ok()) {
    auto* result = response.mutable_append_result();
    if (!is_default) result->mutable_offset()->set_value(outcome.offset);
  } else {
    FillError(outcome.status, CodeOf(outcome.refusal), response.write_stream(),
              response.mutable_error());
  }
  slot->ready = true;
}

}  // namespace hornbeam::services::bigquery
