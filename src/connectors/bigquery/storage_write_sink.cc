#include "connectors/bigquery/storage_write_sink.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/bigquery/row_descriptor.h"
#include "connectors/bigquery/table_check.h"
#include "connectors/bigquery/table_creator.h"
#include "hornbeam/io/failed_row.h"

namespace hornbeam::connectors {
namespace {

namespace storage = google::cloud::bigquery::storage::v1;
using Kind = AppendVerdict::Kind;

constexpr char kGoogle[] = "bigquerystorage.googleapis.com:443";
constexpr size_t kRequestsUnderWay = 8;
// So seldom must a delivery wait for the job's log.
constexpr engine::EpochId kHorizonEpochs = 64;
// A row's tag and length in a request.
constexpr size_t kRowOverhead = 6;

void SetTimeout(std::chrono::milliseconds timeout, grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

struct StorageWriteSink::Attempt {
  const engine::Delivery& delivery;
  ShardState* shard;
  // An earlier attempt may have written some of it: what is found there is ours.
  bool again = false;
  std::vector<Request> requests;
  size_t next = 0;  // the first request that is not dealt with
  size_t sent = 0;  // the first one that is not under way
};

StorageWriteSink::StorageWriteSink(Options options, std::shared_ptr<const io::RowLayout> layout)
    : options_(std::move(options)), layout_(std::move(layout)) {}

StorageWriteSink::~StorageWriteSink() = default;

Status StorageWriteSink::Explain(const Status& status) const {
  return Annotate(status, absl::StrCat("table ", table_.ToString(), " at ", endpoint_.target));
}

Status StorageWriteSink::Open(engine::SinkJournal* journal, std::string_view state) {
  journal_ = journal;
  HB_ASSIGN_OR_RETURN(table_, io::TableName::Parse(options_.write.table));
  HB_ASSIGN_OR_RETURN(state_, SinkState::Decode(state));
  earlier_horizon_ = state_.horizon;
  for (const auto& [number, shard] : state_.shards) {
    if (!shard.stream.empty()) doubtful_.insert(number);
  }
  endpoint_ =
      ResolveEndpoint(options_.write.grpc_endpoint, "BIGQUERY_STORAGE_GRPC_ENDPOINT", kGoogle);
  HB_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, OpenChannel(endpoint_));
  stub_ = storage::BigQueryWrite::NewStub(channel);
  return CheckTable();
}

Status StorageWriteSink::CheckTable() {
  storage::GetWriteStreamRequest request;
  request.set_name(absl::StrCat(table_.Resource(), "/streams/_default"));
  request.set_view(storage::FULL);
  bool created = false;
  while (true) {
    grpc::ClientContext context;
    SetTimeout(std::chrono::seconds(options_.write.start_timeout_seconds), &context);
    context.set_wait_for_ready(true);
    storage::WriteStream stream;
    const Status status = FromGrpc(stub_->GetWriteStream(&context, request, &stream));
    if (status.ok()) {
      return Explain(CheckSchema(*layout_, stream.table_schema()));
    }
    if (absl::IsNotFound(status) && !created &&
        options_.write.create_disposition == io::CreateDisposition::kCreateIfNeeded) {
      HB_RETURN_IF_ERROR(CreateTable(table_, options_.write));
      created = true;
      continue;
    }
    if (absl::IsNotFound(status)) {
      return Explain(absl::NotFoundError(
          created ? "the table was created and is not found; check that the REST and the gRPC "
                    "endpoint belong to one BigQuery"
                  : "the table does not exist and CREATE_NEVER is set; create it, or choose "
                    "CREATE_IF_NEEDED"));
    }
    if (IsTransient(status)) {
      return Explain(Status(status.code(),
                            absl::StrCat(status.message(), "; check that BigQuery runs there")));
    }
    return Explain(status);
  }
}

StatusOr<std::string> StorageWriteSink::CreateStream() {
  grpc::ClientContext context;
  SetTimeout(options_.timeout, &context);
  storage::CreateWriteStreamRequest request;
  request.set_parent(table_.Resource());
  request.mutable_write_stream()->set_type(storage::WriteStream::COMMITTED);
  storage::WriteStream stream;
  const Status status = FromGrpc(stub_->CreateWriteStream(&context, request, &stream));
  if (IsTransient(status)) return Explain(absl::UnavailableError(status.message()));
  HB_RETURN_IF_ERROR(Explain(status));
  return stream.name();
}

std::vector<StorageWriteSink::Request> StorageWriteSink::Split(
    const std::vector<std::string_view>& rows) const {
  std::vector<Request> requests;
  size_t bytes = 0;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const size_t size = rows[i].size() + kRowOverhead;
    if (requests.empty() || bytes + size > options_.max_request_bytes) {
      requests.push_back({i, i});
      bytes = 0;
    }
    requests.back().end = i + 1;
    bytes += size;
  }
  return requests;
}

Status StorageWriteSink::TakeWhatIsAhead(const std::vector<Request>& requests,
                                         ShardState* shard) const {
  for (const Request& request : requests) {
    const auto rows = static_cast<int64_t>(request.end - request.begin);
    if (shard->ahead < rows) break;
    shard->ahead -= rows;
    shard->settled = request.end;
  }
  if (shard->ahead == 0 || shard->settled == shard->rows) return absl::OkStatus();
  return Explain(absl::DataLossError(absl::StrCat(
      "a stream that has ended holds ", shard->ahead,
      " rows that this job did not write; it cannot be known which rows are in the table")));
}

Status StorageWriteSink::Begin(const engine::Delivery& delivery,
                               const std::vector<Request>& requests, ShardState* shard,
                               bool* again) {
  *again = delivery.epoch == shard->epoch;
  if (*again) {
    if (shard->rows == delivery.rows.size()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "table ", table_.ToString(), ": epoch ", delivery.epoch, " has ", delivery.rows.size(),
        " rows and had ", shard->rows, " when they were sent before; the job's log is damaged"));
  }
  *again = delivery.epoch <= earlier_horizon_;
  bool decided = false;  // what does not follow from what is saved
  ShardState next;
  next.stream = shard->stream;
  next.offset = shard->end_offset();
  next.epoch = delivery.epoch;
  next.rows = delivery.rows.size();
  if (shard->ahead > 0) {
    next.ahead = shard->ahead;
    HB_RETURN_IF_ERROR(TakeWhatIsAhead(requests, &next));
    decided = true;
  }
  if (next.stream.empty()) {
    // A crash before it is saved leaves an empty stream behind, which expires by itself.
    HB_ASSIGN_OR_RETURN(next.stream, CreateStream());
    doubtful_.erase(delivery.shard);
    next.offset = 0;
    decided = true;
  }
  if (delivery.epoch > state_.horizon) {
    state_.horizon = delivery.epoch + kHorizonEpochs;
    decided = true;
  }
  *shard = std::move(next);
  if (decided) return Save();
  journal_->Remember(state_.Encode());
  return absl::OkStatus();
}

Status StorageWriteSink::Deliver(const engine::Delivery& delivery) {
  if (delivery.rows.empty()) return absl::OkStatus();
  if (!exactly_once()) {
    ShardState shard;
    shard.stream = absl::StrCat(table_.Resource(), "/streams/_default");
    shard.rows = delivery.rows.size();
    Attempt attempt{delivery, &shard, true, Split(delivery.rows)};
    return WriteAll(&attempt);
  }
  ShardState& shard = state_.shards[delivery.shard];
  // A later delivery of this shard was begun, so this one was confirmed.
  if (delivery.epoch < shard.epoch) return absl::OkStatus();
  Attempt attempt{delivery, &shard, false, Split(delivery.rows)};
  HB_RETURN_IF_ERROR(Begin(delivery, attempt.requests, &shard, &attempt.again));
  while (attempt.next < attempt.requests.size() &&
         attempt.requests[attempt.next].end <= shard.settled) {
    ++attempt.next;
  }
  return WriteAll(&attempt);
}

Status StorageWriteSink::WriteAll(Attempt* attempt) {
  attempt->sent = attempt->next;
  AppendStream::Response response;
  while (attempt->next < attempt->requests.size()) {
    // What has only refused rows left is dealt with.
    const Request& next = attempt->requests[attempt->next];
    if (attempt->shard->Kept(next.begin, next.end) == 0) {
      ++attempt->next;
      attempt->sent = std::max(attempt->sent, attempt->next);
      continue;
    }
    std::unique_ptr<AppendStream>& connection = connections_[attempt->delivery.shard];
    if (!attempt->shard->refused.empty() && doubtful_.contains(attempt->delivery.shard)) {
      // Without the refused rows the others move up, and a request from before could now fit behind
      // them. A finalized stream takes none.
      connection.reset();
      HB_RETURN_IF_ERROR(Settle(absl::OkStatus(), attempt));
      continue;
    }
    bool first = false;
    if (connection == nullptr) {
      connection =
          std::make_unique<AppendStream>(stub_.get(), attempt->shard->stream, options_.timeout);
      attempt->sent = attempt->next;
      first = true;
    }
    // Without offsets, a request behind a refused one is written.
    const size_t under_way = exactly_once() ? kRequestsUnderWay : 1;
    while (attempt->sent < attempt->requests.size() && attempt->sent - attempt->next < under_way) {
      const Request& request = attempt->requests[attempt->sent];
      if (attempt->shard->Kept(request.begin, request.end) == 0) break;
      AppendStream::Request message;
      FillRequest(*attempt, request, first, &message);
      first = false;
      ++attempt->sent;
      if (!connection->Send(message)) break;
    }
    response.Clear();
    const grpc::Status call = connection->Receive(&response);
    const AppendVerdict verdict = call.ok() ? JudgeResponse(response) : JudgeCall(call);
    if (call.ok() && verdict.kind == Kind::kRowsRefused) {
      TakeAnswersBehind(attempt);
    } else if (!call.ok() ||
               (verdict.kind != Kind::kWritten && verdict.kind != Kind::kAlreadyExists)) {
      connection.reset();
      doubtful_.insert(attempt->delivery.shard);
    }
    HB_RETURN_IF_ERROR(Act(verdict, response, attempt));
  }
  // The stream has passed all places that a request from before was meant for.
  if (attempt->delivery.epoch > earlier_horizon_) doubtful_.erase(attempt->delivery.shard);
  return absl::OkStatus();
}

void StorageWriteSink::TakeAnswersBehind(Attempt* attempt) {
  std::unique_ptr<AppendStream>& connection = connections_[attempt->delivery.shard];
  for (size_t left = attempt->sent - attempt->next - 1; left > 0; --left) {
    AppendStream::Response refused_too;
    if (connection->Receive(&refused_too).ok()) continue;
    connection.reset();
    doubtful_.insert(attempt->delivery.shard);
    return;
  }
  attempt->sent = attempt->next;
}

void StorageWriteSink::FillRequest(const Attempt& attempt, const Request& request, bool first,
                                   AppendStream::Request* message) const {
  const ShardState& shard = *attempt.shard;
  if (exactly_once()) {
    message->mutable_offset()->set_value(shard.offset + shard.Kept(shard.settled, request.begin));
  }
  if (first) {
    message->set_write_stream(shard.stream);
    message->set_trace_id(absl::StrCat("hornbeam:", options_.job));
    DescribeRow(*layout_,
                message->mutable_proto_rows()->mutable_writer_schema()->mutable_proto_descriptor());
  }
  auto* const rows = message->mutable_proto_rows()->mutable_rows();
  rows->mutable_serialized_rows()->Reserve(static_cast<int>(request.end - request.begin));
  for (uint64_t i = request.begin; i < request.end; ++i) {
    if (!shard.refused.empty() && shard.IsRefused(i)) continue;
    const std::string_view row = attempt.delivery.rows[i];
    rows->add_serialized_rows(row.data(), row.size());
  }
}

Status StorageWriteSink::Act(const AppendVerdict& verdict, const AppendStream::Response& response,
                             Attempt* attempt) {
  switch (verdict.kind) {
    case Kind::kWritten: ++attempt->next; return absl::OkStatus();
    case Kind::kAlreadyExists:
      // The stream is this shard's alone, and the request is the same as when it was sent first: it
      // is there as a whole. What cannot have been sent before is not ours.
      if (attempt->again && exactly_once()) {
        ++attempt->next;
        return absl::OkStatus();
      }
      return Explain(absl::DataLossError(
          absl::StrCat("stream ", attempt->shard->stream,
                       " holds rows that this job did not write; nothing else may write to it, and "
                       "the job's state directory must not be used by two jobs or restored from an "
                       "older copy")));
    case Kind::kOutOfRange:
      return Explain(absl::DataLossError(
          absl::StrCat("stream ", attempt->shard->stream,
                       " has lost rows that BigQuery had confirmed: ", verdict.why.message())));
    case Kind::kRowsRefused: return Refuse(response, attempt);
    case Kind::kStreamGone:
      if (exactly_once()) return Settle(verdict.why, attempt);
      return Explain(verdict.why);
    case Kind::kTryAgain: return Explain(absl::UnavailableError(verdict.why.message()));
    case Kind::kFatal: return Explain(verdict.why);
  }
  return absl::InternalError("no such verdict");
}

Status StorageWriteSink::Refuse(const AppendStream::Response& response, Attempt* attempt) {
  ShardState* const shard = attempt->shard;
  const Request& request = attempt->requests[attempt->next];
  // The service counts the rows that it was sent.
  std::vector<uint64_t> sent;
  for (uint64_t i = request.begin; i < request.end; ++i) {
    if (!shard->IsRefused(i)) sent.push_back(i);
  }
  std::map<uint64_t, std::string> errors;
  for (const storage::RowError& error : response.row_errors()) {
    if (error.index() < 0 || static_cast<uint64_t>(error.index()) >= sent.size()) {
      return Explain(absl::InternalError(absl::StrCat("BigQuery refuses row ", error.index(),
                                                      " of a request of ", sent.size(), " rows")));
    }
    errors.emplace(sent[static_cast<size_t>(error.index())], error.message());
  }
  for (const auto& [row, error] : errors) {
    shard->refused.push_back(row);
    std::string encoded;
    model::Coder<io::FailedRow>::Encode(
        {table_.ToString(), error, RowToJson(*layout_, attempt->delivery.rows[row])}, &encoded);
    journal_->Answer(std::move(encoded));
  }
  std::sort(shard->refused.begin(), shard->refused.end());
  return Save();
}

Status StorageWriteSink::Settle(const Status& why, Attempt* attempt) {
  ShardState* const shard = attempt->shard;
  const auto landed_through = [&](size_t request) {
    return request == 0
               ? shard->offset
               : shard->offset +
                     shard->Kept(shard->settled,
                                 std::max(shard->settled, attempt->requests[request - 1].end));
  };
  grpc::ClientContext context;
  SetTimeout(options_.timeout, &context);
  storage::FinalizeWriteStreamRequest request;
  request.set_name(shard->stream);
  storage::FinalizeWriteStreamResponse answer;
  const Status status = FromGrpc(stub_->FinalizeWriteStream(&context, request, &answer));
  size_t landed = attempt->next;
  if (status.ok()) {
    while (landed < attempt->requests.size() && landed_through(landed + 1) <= answer.row_count()) {
      ++landed;
    }
    const int64_t more = answer.row_count() - landed_through(landed);
    if (more > 0 && landed == attempt->requests.size() &&
        attempt->delivery.epoch <= earlier_horizon_) {
      shard->ahead = more;
    } else if (more != 0) {
      return Explain(absl::DataLossError(
          absl::StrCat("stream ", shard->stream, " ended with ", answer.row_count(),
                       " rows where this job wrote ", landed_through(landed),
                       "; it cannot be known which rows are in the table")));
    }
  } else if (IsTransient(status)) {
    return Explain(absl::UnavailableError(status.message()));
  } else if (attempt->again || attempt->next > 0) {
    return Explain(absl::DataLossError(
        absl::StrCat("stream ", shard->stream, " is gone (", why.message(),
                     ") and does not tell how many rows it "
                     "got (",
                     status.message(), "): it cannot be known whether the last ",
                     shard->rows - shard->settled, " rows are in the table")));
  }
  HB_ASSIGN_OR_RETURN(std::string stream, CreateStream());
  shard->settled =
      landed == 0 ? shard->settled : std::max(shard->settled, attempt->requests[landed - 1].end);
  shard->stream = std::move(stream);
  shard->offset = 0;
  doubtful_.erase(attempt->delivery.shard);
  attempt->next = landed;
  attempt->again = false;  // nothing was sent to the new stream
  return Save();
}

Status StorageWriteSink::Finish() {
  connections_.clear();
  for (auto& [number, shard] : state_.shards) {
    if (shard.stream.empty()) continue;
    grpc::ClientContext context;
    SetTimeout(options_.timeout, &context);
    storage::FinalizeWriteStreamRequest request;
    request.set_name(shard.stream);
    storage::FinalizeWriteStreamResponse answer;
    // Only tidiness: its rows are in the table, and an open stream expires by itself.
    stub_->FinalizeWriteStream(&context, request, &answer);
    shard.stream.clear();
    shard.offset = 0;
    shard.settled = shard.rows;
  }
  return Save();
}

}  // namespace hornbeam::connectors
