// google.pubsub.v1.Subscriber over gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_
#define HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "services/pubsub/api/admin_queue.h"
#include "services/pubsub/api/arena_messages.h"
#include "services/pubsub/core/broker.h"

namespace hornbeam::services::pubsub {

// Callback methods all of them, but for the two that answer with bytes that are already encoded:
// the generated CallbackService has no room for those.
namespace subscriber_methods {
using Api = google::pubsub::v1::Subscriber;
template <typename Base>
using Snapshots = Api::WithCallbackMethod_GetSnapshot<Api::WithCallbackMethod_ListSnapshots<
    Api::WithCallbackMethod_CreateSnapshot<Api::WithCallbackMethod_UpdateSnapshot<
        Api::WithCallbackMethod_DeleteSnapshot<Api::WithCallbackMethod_Seek<Base>>>>>>;
template <typename Base>
using Subscriptions = Api::WithCallbackMethod_CreateSubscription<
    Api::WithCallbackMethod_GetSubscription<Api::WithCallbackMethod_UpdateSubscription<
        Api::WithCallbackMethod_ListSubscriptions<Api::WithCallbackMethod_DeleteSubscription<
            Api::WithCallbackMethod_ModifyPushConfig<Base>>>>>>;
template <typename Base>
using Messages = Api::WithCallbackMethod_Acknowledge<Api::WithCallbackMethod_ModifyAckDeadline<
    Api::WithRawCallbackMethod_Pull<Api::WithRawCallbackMethod_StreamingPull<Base>>>>;
}  // namespace subscriber_methods

// No thread of gRPC's waits for the disk: what changes the catalog goes through the admin queue,
// the rest answers at once.
class SubscriberService final
    : public subscriber_methods::Messages<subscriber_methods::Subscriptions<
          subscriber_methods::Snapshots<google::pubsub::v1::Subscriber::Service>>> {
 public:
  // Both outlive the service.
  SubscriberService(Broker* broker, AdminQueue* admin);

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

  grpc::ServerUnaryReactor* CreateSubscription(grpc::CallbackServerContext* context,
                                               const google::pubsub::v1::Subscription* request,
                                               google::pubsub::v1::Subscription* response) override;
  grpc::ServerUnaryReactor* GetSubscription(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::GetSubscriptionRequest* request,
      google::pubsub::v1::Subscription* response) override;
  grpc::ServerUnaryReactor* UpdateSubscription(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::UpdateSubscriptionRequest* request,
      google::pubsub::v1::Subscription* response) override;
  grpc::ServerUnaryReactor* ListSubscriptions(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::ListSubscriptionsRequest* request,
      google::pubsub::v1::ListSubscriptionsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteSubscription(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::DeleteSubscriptionRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ModifyPushConfig(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::ModifyPushConfigRequest* request,
      google::protobuf::Empty* response) override;

  // Not supported yet, and saying so.
  grpc::ServerUnaryReactor* GetSnapshot(grpc::CallbackServerContext* context,
                                        const google::pubsub::v1::GetSnapshotRequest* request,
                                        google::pubsub::v1::Snapshot* response) override;
  grpc::ServerUnaryReactor* ListSnapshots(
      grpc::CallbackServerContext* context, const google::pubsub::v1::ListSnapshotsRequest* request,
      google::pubsub::v1::ListSnapshotsResponse* response) override;
  grpc::ServerUnaryReactor* CreateSnapshot(grpc::CallbackServerContext* context,
                                           const google::pubsub::v1::CreateSnapshotRequest* request,
                                           google::pubsub::v1::Snapshot* response) override;
  grpc::ServerUnaryReactor* UpdateSnapshot(grpc::CallbackServerContext* context,
                                           const google::pubsub::v1::UpdateSnapshotRequest* request,
                                           google::pubsub::v1::Snapshot* response) override;
  grpc::ServerUnaryReactor* DeleteSnapshot(grpc::CallbackServerContext* context,
                                           const google::pubsub::v1::DeleteSnapshotRequest* request,
                                           google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* Seek(grpc::CallbackServerContext* context,
                                 const google::pubsub::v1::SeekRequest* request,
                                 google::pubsub::v1::SeekResponse* response) override;

 private:
  Broker* const broker_;
  AdminQueue* const admin_;
  ArenaMessages<google::pubsub::v1::AcknowledgeRequest, google::protobuf::Empty>
      acknowledge_messages_;
  ArenaMessages<google::pubsub::v1::ModifyAckDeadlineRequest, google::protobuf::Empty>
      modify_messages_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_SUBSCRIBER_SERVICE_H_
