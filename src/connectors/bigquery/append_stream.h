// One open AppendRows call. Requests are answered in their order, so several may be on their way.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_APPEND_STREAM_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_APPEND_STREAM_H_

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <memory>

#include "base/status.h"
#include "google/cloud/bigquery/storage/v1/storage.grpc.pb.h"

namespace hornbeam::connectors {

// One thread. Every call blocks for `timeout` at most; after an error the stream is of no more use.
class AppendStream {
 public:
  using Stub = google::cloud::bigquery::storage::v1::BigQueryWrite::Stub;
  using Request = google::cloud::bigquery::storage::v1::AppendRowsRequest;
  using Response = google::cloud::bigquery::storage::v1::AppendRowsResponse;

  // `write_stream` is for the routing header. `stub` outlives this.
  AppendStream(Stub* stub, const std::string& write_stream, std::chrono::milliseconds timeout);
  ~AppendStream();
  AppendStream(const AppendStream&) = delete;
  AppendStream& operator=(const AppendStream&) = delete;

  // False when the call is over; Receive then still gives the answers that came, and why it ended.
  bool Send(const Request& request);
  // The next answer, or what the call ended with, which is never OK.
  grpc::Status Receive(Response* response);

 private:
  // Waits for the one operation under way; false when it failed or took too long.
  bool Wait();
  grpc::Status End();

  const std::chrono::milliseconds timeout_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> call_;
  bool timed_out_ = false;
  bool broken_ = false;  // nothing more can be sent
  bool ended_ = false;
  grpc::Status end_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_APPEND_STREAM_H_
