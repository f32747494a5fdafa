// google.pubsub.v1.Subscriber over gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_
#define HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "services/pubsub/api/arena_messages.h"
#include "services/pubsub/core/broker.h"

namespace hornbeam::services::pubsub {

// The message path is callback methods; Pull and StreamingPull answer with bytes that are already
// encoded. The others are rare and may block, so they are plain.
using SubscriberBase = google::pubsub::v1::Subscriber::WithRawCallbackMethod_StreamingPull<
    google::pubsub::v1::Subscriber::WithRawCallbackMethod_Pull<
        google::pubsub::v1::Subscriber::WithCallbackMethod_Acknowledge<
            google::pubsub::v1::Subscriber::WithCallbackMethod_ModifyAckDeadline<
                google::pubsub::v1::Subscriber::Service>>>>;

class SubscriberService final : public SubscriberBase {
 public:
  // `broker` outlives the service.
  explicit SubscriberService(Broker* broker);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamingPull(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Acknowledge(grpc::CallbackServerContext* context,
                                        const google::pubsub::v1::AcknowledgeRequest* request,
                                        google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ModifyAckDeadline(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::ModifyAckDeadlineRequest* request,
      google::protobuf::Empty* response) override;

  grpc::Status CreateSubscription(grpc::ServerContext* context,
                                  const google::pubsub::v1::Subscription* request,
                                  google::pubsub::v1::Subscription* response) override;
  grpc::Status GetSubscription(grpc::ServerContext* context,
                               const google::pubsub::v1::GetSubscriptionRequest* request,
                               google::pubsub::v1::Subscription* response) override;
  grpc::Status UpdateSubscription(grpc::ServerContext* context,
                                  const google::pubsub::v1::UpdateSubscriptionRequest* request,
                                  google::pubsub::v1::Subscription* response) override;
  grpc::Status ListSubscriptions(grpc::ServerContext* context,
                                 const google::pubsub::v1::ListSubscriptionsRequest* request,
                                 google::pubsub::v1::ListSubscriptionsResponse* response) override;
  grpc::Status DeleteSubscription(grpc::ServerContext* context,
                                  const google::pubsub::v1::DeleteSubscriptionRequest* request,
                                  google::protobuf::Empty* response) override;
  grpc::Status ModifyPushConfig(grpc::ServerContext* context,
                                const google::pubsub::v1::ModifyPushConfigRequest* request,
                                google::protobuf::Empty* response) override;

  // Not supported yet, and saying so.
  grpc::Status GetSnapshot(grpc::ServerContext* context,
                           const google::pubsub::v1::GetSnapshotRequest* request,
                           google::pubsub::v1::Snapshot* response) override;
  grpc::Status ListSnapshots(grpc::ServerContext* context,
                             const google::pubsub::v1::ListSnapshotsRequest* request,
                             google::pubsub::v1::ListSnapshotsResponse* response) override;
  grpc::Status CreateSnapshot(grpc::ServerContext* context,
                              const google::pubsub::v1::CreateSnapshotRequest* request,
                              google::pubsub::v1::Snapshot* response) override;
  grpc::Status UpdateSnapshot(grpc::ServerContext* context,
                              const google::pubsub::v1::UpdateSnapshotRequest* request,
                              google::pubsub::v1::Snapshot* response) override;
  grpc::Status DeleteSnapshot(grpc::ServerContext* context,
                              const google::pubsub::v1::DeleteSnapshotRequest* request,
                              google::protobuf::Empty* response) override;
  grpc::Status Seek(grpc::ServerContext* context, const google::pubsub::v1::SeekRequest* request,
                    google::pubsub::v1::SeekResponse* response) override;

 private:
  Broker* const broker_;
  ArenaMessages<google::pubsub::v1::AcknowledgeRequest, google::protobuf::Empty>
      acknowledge_messages_;
  ArenaMessages<google::pubsub::v1::ModifyAckDeadlineRequest, google::protobuf::Empty>
      modify_messages_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_
