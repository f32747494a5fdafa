// The calls of google.pubsub.v1.Subscriber for one subscription.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_CLIENT_H_
#define HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_CLIENT_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "connectors/google/channel.h"
#include "connectors/pubsub/ack_ledger.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace hornbeam::connectors {

// Thread-safe; every call blocks for `timeout` at most. Errors carry gRPC's code; their messages
// name the subscription and the endpoint.
class SubscriptionClient {
 public:
  using PullStream = grpc::ClientReaderWriter<google::pubsub::v1::StreamingPullRequest,
                                              google::pubsub::v1::StreamingPullResponse>;

  SubscriptionClient(std::string subscription, Endpoint endpoint,
                     std::shared_ptr<grpc::Channel> channel);

  // Waits for a server that does not answer yet.
  StatusOr<google::pubsub::v1::Subscription> Get(std::chrono::milliseconds timeout);
  Status Acknowledge(const AckIds& ids, size_t begin, size_t end,
                     std::chrono::milliseconds timeout);
  // Deadlines of 0 seconds give the messages back.
  Status ModifyAckDeadline(const AckIds& ids, size_t begin, size_t end, int seconds,
                           std::chrono::milliseconds timeout);
  // Replaces all labels.
  Status UpdateLabels(const google::protobuf::Map<std::string, std::string>& labels,
                      std::chrono::milliseconds timeout);

  // The stream that `context` can cancel.
  std::unique_ptr<PullStream> Pull(grpc::ClientContext* context) {
    return stub_->StreamingPull(context);
  }
  bool connected() const;

  const std::string& subscription() const { return subscription_; }
  Status Explain(const grpc::Status& status) const;

 private:
  const std::string subscription_;
  const Endpoint endpoint_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<google::pubsub::v1::Subscriber::Stub> stub_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_CLIENT_H_
