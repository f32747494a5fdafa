// One StreamingPull: messages flow as flow control permits; acks and deadlines come back on the
// same stream.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_STREAMING_PULL_CALL_H_
#define HORNBEAM_SERVICES_PUBSUB_API_STREAMING_PULL_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "google/pubsub/v1/pubsub.pb.h"
#include "services/pubsub/core/broker.h"
#include "services/pubsub/core/dispatcher.h"
#include "services/pubsub/core/subscription.h"

namespace hornbeam::services::pubsub {

// Owns itself from Start to OnDone. Reads are handled on gRPC's threads; writing is started by
// whoever finds something to write: a read, the end of the last write, or the dispatcher.
class StreamingPullCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                public Consumer {
 public:
  // `broker` outlives the call.
  static StreamingPullCall* Start(Broker* broker);

 private:
  explicit StreamingPullCall(Broker* broker) : broker_(broker) {}

  void Run() override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  Status Open(const google::pubsub::v1::StreamingPullRequest& request);
  Status Handle(const google::pubsub::v1::StreamingPullRequest& request);
  void Acknowledge(const google::pubsub::v1::StreamingPullRequest& request);
  Status ModifyDeadlines(const google::pubsub::v1::StreamingPullRequest& request);
  // Writes the next response, unless one is being written, there is nothing, or the call is over.
  void Pump();
  // The bytes of the next response; "" when there is none. May end the stream.
  std::string NextResponse();
  // Ends the call, once, when no write is under way.
  void End(grpc::Status status);
  void FinishIfEnded();
  void QueueControl(const google::pubsub::v1::StreamingPullResponse& response);

  Broker* const broker_;
  std::shared_ptr<StreamingPullCall> self_;
  grpc::ByteBuffer read_;
  grpc::ByteBuffer write_;

  Mutex mutex_;
  std::shared_ptr<Subscription> subscription_ ABSL_GUARDED_BY(mutex_);  // set by the first request
  HolderId holder_ ABSL_GUARDED_BY(mutex_) = 0;
  int lease_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool wants_heartbeat_ ABSL_GUARDED_BY(mutex_) = false;
  bool pumping_ ABSL_GUARDED_BY(mutex_) = false;
  bool pump_again_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> ended_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  std::string control_ ABSL_GUARDED_BY(mutex_);    // encoded fields for the next response
  int64_t last_write_us_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t heartbeat_at_us_ ABSL_GUARDED_BY(mutex_) =
      0;  // when the dispatcher has been asked to come by
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_STREAMING_PULL_CALL_H_
