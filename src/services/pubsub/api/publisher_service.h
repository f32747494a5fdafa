// google.pubsub.v1.Publisher over gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_
#define HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "services/pubsub/api/arena_messages.h"
#include "services/pubsub/core/broker.h"

namespace hornbeam::services::pubsub {

// Publish is a callback method: no thread waits for the disk. The others are rare and may block, so
// they are plain.
class PublisherService final : public google::pubsub::v1::Publisher::WithCallbackMethod_Publish<
                                   google::pubsub::v1::Publisher::Service> {
 public:
  // `broker` outlives the service.
  explicit PublisherService(Broker* broker);

  grpc::ServerUnaryReactor* Publish(grpc::CallbackServerContext* context,
                                    const google::pubsub::v1::PublishRequest* request,
                                    google::pubsub::v1::PublishResponse* response) override;

  grpc::Status CreateTopic(grpc::ServerContext* context, const google::pubsub::v1::Topic* request,
                           google::pubsub::v1::Topic* response) override;
  grpc::Status UpdateTopic(grpc::ServerContext* context,
                           const google::pubsub::v1::UpdateTopicRequest* request,
                           google::pubsub::v1::Topic* response) override;
  grpc::Status GetTopic(grpc::ServerContext* context,
                        const google::pubsub::v1::GetTopicRequest* request,
                        google::pubsub::v1::Topic* response) override;
  grpc::Status ListTopics(grpc::ServerContext* context,
                          const google::pubsub::v1::ListTopicsRequest* request,
                          google::pubsub::v1::ListTopicsResponse* response) override;
  grpc::Status ListTopicSubscriptions(
      grpc::ServerContext* context,
      const google::pubsub::v1::ListTopicSubscriptionsRequest* request,
      google::pubsub::v1::ListTopicSubscriptionsResponse* response) override;
  grpc::Status ListTopicSnapshots(
      grpc::ServerContext* context, const google::pubsub::v1::ListTopicSnapshotsRequest* request,
      google::pubsub::v1::ListTopicSnapshotsResponse* response) override;
  grpc::Status DeleteTopic(grpc::ServerContext* context,
                           const google::pubsub::v1::DeleteTopicRequest* request,
                           google::protobuf::Empty* response) override;
  grpc::Status DetachSubscription(
      grpc::ServerContext* context, const google::pubsub::v1::DetachSubscriptionRequest* request,
      google::pubsub::v1::DetachSubscriptionResponse* response) override;

 private:
  Broker* const broker_;
  ArenaMessages<google::pubsub::v1::PublishRequest, google::pubsub::v1::PublishResponse>
      publish_messages_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_PUBLISHER_SERVICE_H_
