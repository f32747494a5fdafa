#include "services/pubsub/api/publisher_service.h"

#include <charconv>
#include <memory>
#include <utility>

#include "services/pubsub/api/grpc_status.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/publish_rules.h"
#include "services/pubsub/core/resource_name.h"

namespace hornbeam::services::pubsub {
namespace {

using google::pubsub::v1::PublishResponse;

// A publish that answers its call when the disk has it.
class PublishCall final : public PendingPublish {
 public:
  PublishCall(grpc::ServerUnaryReactor* reactor, PublishResponse* response)
      : reactor_(reactor), response_(response) {}

  void Done(const Status& status, uint64_t first_message_id) override {
    if (status.ok()) {
      response_->mutable_message_ids()->Reserve(static_cast<int>(messages.count));
      for (uint32_t i = 0; i < messages.count; ++i) {
        char id[20];
        const char* end = std::to_chars(id, id + sizeof id, first_message_id + i).ptr;
        response_->add_message_ids(id, static_cast<size_t>(end - id));
      }
    }
    reactor_->Finish(ToGrpcStatus(status));
  }

 private:
  grpc::ServerUnaryReactor* const reactor_;
  PublishResponse* const response_;
};

}  // namespace

PublisherService::PublisherService(Broker* broker, AdminQueue* admin)
    : broker_(broker), admin_(admin) {
  SetMessageAllocatorFor_Publish(&publish_messages_);
}

grpc::ServerUnaryReactor* PublisherService::Publish(
    grpc::CallbackServerContext* context, const google::pubsub::v1::PublishRequest* request,
    PublishResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  StatusOr<EncodedMessages> messages = EncodePublish(*request);
  if (!messages.ok()) {
    reactor->Finish(ToGrpcStatus(messages.status()));
    return reactor;
  }
  const StatusOr<std::shared_ptr<Topic>> topic = broker_->FindTopic(request->topic());
  if (!topic.ok()) {
    reactor->Finish(ToGrpcStatus(topic.status()));
    return reactor;
  }
  auto call = std::make_unique<PublishCall>(reactor, response);
  call->messages = *std::move(messages);
  broker_->Publish(*topic, std::move(call));
  return reactor;
}

grpc::ServerUnaryReactor* PublisherService::CreateTopic(grpc::CallbackServerContext* context,
                                                        const google::pubsub::v1::Topic* request,
                                                        google::pubsub::v1::Topic* response) {
  return admin_->Run(context, [=, this]() -> grpc::Status {
    StatusOr<google::pubsub::v1::Topic> created = broker_->CreateTopic(*request);
    if (created.ok()) *response = *std::move(created);
    return ToGrpcStatus(created.status());
  });
}

grpc::ServerUnaryReactor* PublisherService::UpdateTopic(
    grpc::CallbackServerContext* context, const google::pubsub::v1::UpdateTopicRequest* request,
    google::pubsub::v1::Topic* response) {
  return admin_->Run(context, [=, this]() -> grpc::Status {
    StatusOr<google::pubsub::v1::Topic> updated =
        broker_->UpdateTopic(request->topic(), request->update_mask());
    if (updated.ok()) *response = *std::move(updated);
    return ToGrpcStatus(updated.status());
  });
}

grpc::ServerUnaryReactor* PublisherService::GetTopic(
    grpc::CallbackServerContext* context, const google::pubsub::v1::GetTopicRequest* request,
    google::pubsub::v1::Topic* response) {
  return FinishWith(context, [&]() -> grpc::Status {
    if (const Status status = CheckTopicName(request->topic()); !status.ok())
      return ToGrpcStatus(status);
    const StatusOr<std::shared_ptr<Topic>> topic = broker_->FindTopic(request->topic());
    if (topic.ok()) *response = (*topic)->config();
    return ToGrpcStatus(topic.status());
  }());
}

grpc::ServerUnaryReactor* PublisherService::ListTopics(
    grpc::CallbackServerContext* context, const google::pubsub::v1::ListTopicsRequest* request,
    google::pubsub::v1::ListTopicsResponse* response) {
  return FinishWith(context, [&]() -> grpc::Status {
    StatusOr<Page<google::pubsub::v1::Topic>> page =
        broker_->ListTopics(request->project(), request->page_size(), request->page_token());
    if (!page.ok()) return ToGrpcStatus(page.status());
    for (google::pubsub::v1::Topic& topic : page->items) *response->add_topics() = std::move(topic);
    response->set_next_page_token(page->next_token);
    return grpc::Status::OK;
  }());
}

grpc::ServerUnaryReactor* PublisherService::ListTopicSubscriptions(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::ListTopicSubscriptionsRequest* request,
    google::pubsub::v1::ListTopicSubscriptionsResponse* response) {
  return FinishWith(context, [&]() -> grpc::Status {
    StatusOr<Page<std::string>> page = broker_->ListTopicSubscriptions(
        request->topic(), request->page_size(), request->page_token());
    if (!page.ok()) return ToGrpcStatus(page.status());
    for (std::string& name : page->items) response->add_subscriptions(std::move(name));
    response->set_next_page_token(page->next_token);
    return grpc::Status::OK;
  }());
}

grpc::ServerUnaryReactor* PublisherService::ListTopicSnapshots(
    grpc::CallbackServerContext* context, const google::pubsub::v1::ListTopicSnapshotsRequest*,
    google::pubsub::v1::ListTopicSnapshotsResponse*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* PublisherService::DeleteTopic(
    grpc::CallbackServerContext* context, const google::pubsub::v1::DeleteTopicRequest* request,
    google::protobuf::Empty*) {
  return admin_->Run(
      context, [this, request] { return ToGrpcStatus(broker_->DeleteTopic(request->topic())); });
}

grpc::ServerUnaryReactor* PublisherService::DetachSubscription(
    grpc::CallbackServerContext* context, const google::pubsub::v1::DetachSubscriptionRequest*,
    google::pubsub::v1::DetachSubscriptionResponse*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("detaching subscriptions")));
}

}  // namespace hornbeam::services::pubsub
