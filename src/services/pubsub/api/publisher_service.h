// google.pubsub.v1.Publisher over gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_
#define HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "services/pubsub/api/admin_queue.h"
#include "services/pubsub/api/arena_messages.h"
#include "services/pubsub/core/broker.h"

namespace hornbeam::services::pubsub {

// All are callback methods: no thread of gRPC's waits for the disk. What changes the catalog goes
// through the admin queue, the rest answers at once.
class PublisherService final : public google::pubsub::v1::Publisher::CallbackService {
 public:
  // Both outlive the service.
  PublisherService(Broker* broker, AdminQueue* admin);

  grpc::ServerUnaryReactor* Publish(grpc::CallbackServerContext* context,
                                    const google::pubsub::v1::PublishRequest* request,
                                    google::pubsub::v1::PublishResponse* response) override;

  grpc::ServerUnaryReactor* CreateTopic(grpc::CallbackServerContext* context,
                                        const google::pubsub::v1::Topic* request,
                                        google::pubsub::v1::Topic* response) override;
  grpc::ServerUnaryReactor* UpdateTopic(grpc::CallbackServerContext* context,
                                        const google::pubsub::v1::UpdateTopicRequest* request,
                                        google::pubsub::v1::Topic* response) override;
  grpc::ServerUnaryReactor* GetTopic(grpc::CallbackServerContext* context,
                                     const google::pubsub::v1::GetTopicRequest* request,
                                     google::pubsub::v1::Topic* response) override;
  grpc::ServerUnaryReactor* ListTopics(grpc::CallbackServerContext* context,
                                       const google::pubsub::v1::ListTopicsRequest* request,
                                       google::pubsub::v1::ListTopicsResponse* response) override;
  grpc::ServerUnaryReactor* ListTopicSubscriptions(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::ListTopicSubscriptionsRequest* request,
      google::pubsub::v1::ListTopicSubscriptionsResponse* response) override;
  grpc::ServerUnaryReactor* ListTopicSnapshots(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::ListTopicSnapshotsRequest* request,
      google::pubsub::v1::ListTopicSnapshotsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteTopic(grpc::CallbackServerContext* context,
                                        const google::pubsub::v1::DeleteTopicRequest* request,
                                        google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* DetachSubscription(
      grpc::CallbackServerContext* context,
      const google::pubsub::v1::DetachSubscriptionRequest* request,
      google::pubsub::v1::DetachSubscriptionResponse* response) override;

 private:
  Broker* const broker_;
  AdminQueue* const admin_;
  ArenaMessages<google::pubsub::v1::PublishRequest, google::pubsub::v1::PublishResponse>
      publish_messages_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_
