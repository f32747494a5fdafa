#include "services/pubsub/api/subscriber_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <utility>
#include <vector>

#include "services/pubsub/api/grpc_status.h"
#include "services/pubsub/api/pull_call.h"
#include "services/pubsub/api/streaming_pull_call.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"
#include "services/pubsub/core/resource_name.h"
#include "services/pubsub/core/resource_rules.h"

namespace hornbeam::services::pubsub {
namespace {

using google::pubsub::v1::PullRequest;
using SubscriptionConfig = google::pubsub::v1::Subscription;

StatusOr<std::shared_ptr<Subscription>> Find(const Broker& broker, const std::string& name) {
  HB_RETURN_IF_ERROR(CheckSubscriptionName(name));
  return broker.FindSubscription(name);
}

StatusOr<PullCall::Request> ParsePull(const Broker& broker, grpc::ByteBuffer bytes) {
  PullRequest request;
  if (!grpc::SerializationTraits<PullRequest>::Deserialize(&bytes, &request).ok()) {
    return absl::InvalidArgumentError("The request is not a PullRequest.");
  }
  PullCall::Request pull;
  HB_ASSIGN_OR_RETURN(pull.subscription, Find(broker, request.subscription()));
  if (request.max_messages() <= 0) return InvalidArgument("max_messages", "It must be positive.");
  pull.max_messages = static_cast<size_t>(request.max_messages());
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations"  // by Google; Beam's direct runner and others still set it
  pull.wait = !request.return_immediately();
#pragma GCC diagnostic pop
  return pull;
}

}  // namespace

SubscriberService::SubscriberService(Broker* broker, AdminQueue* admin)
    : broker_(broker), admin_(admin) {
  SetMessageAllocatorFor_Acknowledge(&acknowledge_messages_);
  SetMessageAllocatorFor_ModifyAckDeadline(&modify_messages_);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* SubscriberService::StreamingPull(
    grpc::CallbackServerContext*) {
  return StreamingPullCall::Start(broker_);
}

grpc::ServerUnaryReactor* SubscriberService::Pull(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  StatusOr<PullCall::Request> pull = ParsePull(*broker_, *request);
  if (!pull.ok()) return FinishWith(context, ToGrpcStatus(pull.status()));
  return PullCall::Start(*std::move(pull), response, broker_->dispatcher(), broker_->clock());
}

grpc::ServerUnaryReactor* SubscriberService::Acknowledge(
    grpc::CallbackServerContext* context, const google::pubsub::v1::AcknowledgeRequest* request,
    google::protobuf::Empty*) {
  const StatusOr<std::shared_ptr<Subscription>> subscription =
      Find(*broker_, request->subscription());
  if (!subscription.ok()) return FinishWith(context, ToGrpcStatus(subscription.status()));
  if (request->ack_ids().empty()) {
    return FinishWith(context, ToGrpcStatus(absl::InvalidArgumentError("No ack ids specified.")));
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::vector<const std::string*> ids(request->ack_ids().pointer_begin(),
                                            request->ack_ids().pointer_end());
  (*subscription)->Ack(ids, [reactor](const Status& status, const Subscription::AckResult& result) {
    const bool refused = status.ok() && !result.refused.empty();
    reactor->Finish(refused ? RefusedAckIds(result.refused) : ToGrpcStatus(status));
  });
  return reactor;
}

grpc::ServerUnaryReactor* SubscriberService::ModifyAckDeadline(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::ModifyAckDeadlineRequest* request, google::protobuf::Empty*) {
  const StatusOr<std::shared_ptr<Subscription>> subscription =
      Find(*broker_, request->subscription());
  if (!subscription.ok()) return FinishWith(context, ToGrpcStatus(subscription.status()));
  if (request->ack_ids().empty()) {
    return FinishWith(context, ToGrpcStatus(absl::InvalidArgumentError("No ack ids specified.")));
  }
  if (const Status status = CheckModifiedAckDeadline(request->ack_deadline_seconds());
      !status.ok()) {
    return FinishWith(context, ToGrpcStatus(status));
  }
  const std::vector<const std::string*> ids(request->ack_ids().pointer_begin(),
                                            request->ack_ids().pointer_end());
  const int seconds = request->ack_deadline_seconds();
  const StatusOr<Subscription::AckResult> result =
      (*subscription)->ModifyDeadlines(ids, {&seconds, 1});
  if (result.ok() && !result->refused.empty())
    return FinishWith(context, RefusedAckIds(result->refused));
  return FinishWith(context, ToGrpcStatus(result.status()));
}

grpc::ServerUnaryReactor* SubscriberService::CreateSubscription(
    grpc::CallbackServerContext* context, const SubscriptionConfig* request,
    SubscriptionConfig* response) {
  return admin_->Run(context, [=, this]() -> grpc::Status {
    StatusOr<SubscriptionConfig> created = broker_->CreateSubscription(*request);
    if (created.ok()) *response = *std::move(created);
    return ToGrpcStatus(created.status());
  });
}

grpc::ServerUnaryReactor* SubscriberService::GetSubscription(
    grpc::CallbackServerContext* context, const google::pubsub::v1::GetSubscriptionRequest* request,
    SubscriptionConfig* response) {
  return FinishWith(context, [&]() -> grpc::Status {
    const StatusOr<std::shared_ptr<Subscription>> subscription =
        Find(*broker_, request->subscription());
    if (subscription.ok()) *response = (*subscription)->config();
    return ToGrpcStatus(subscription.status());
  }());
}

grpc::ServerUnaryReactor* SubscriberService::UpdateSubscription(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::UpdateSubscriptionRequest* request, SubscriptionConfig* response) {
  return admin_->Run(context, [=, this]() -> grpc::Status {
    StatusOr<SubscriptionConfig> updated =
        broker_->UpdateSubscription(request->subscription(), request->update_mask());
    if (updated.ok()) *response = *std::move(updated);
    return ToGrpcStatus(updated.status());
  });
}

grpc::ServerUnaryReactor* SubscriberService::ListSubscriptions(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::ListSubscriptionsRequest* request,
    google::pubsub::v1::ListSubscriptionsResponse* response) {
  return FinishWith(context, [&]() -> grpc::Status {
    StatusOr<Page<SubscriptionConfig>> page =
        broker_->ListSubscriptions(request->project(), request->page_size(), request->page_token());
    if (!page.ok()) return ToGrpcStatus(page.status());
    for (SubscriptionConfig& subscription : page->items)
      *response->add_subscriptions() = std::move(subscription);
    response->set_next_page_token(page->next_token);
    return grpc::Status::OK;
  }());
}

grpc::ServerUnaryReactor* SubscriberService::DeleteSubscription(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::DeleteSubscriptionRequest* request, google::protobuf::Empty*) {
  return admin_->Run(context, [this, request] {
    return ToGrpcStatus(broker_->DeleteSubscription(request->subscription()));
  });
}

grpc::ServerUnaryReactor* SubscriberService::ModifyPushConfig(
    grpc::CallbackServerContext* context,
    const google::pubsub::v1::ModifyPushConfigRequest* request, google::protobuf::Empty*) {
  return FinishWith(context, [&]() -> grpc::Status {
    if (!request->push_config().push_endpoint().empty())
      return ToGrpcStatus(NotSupported("push delivery (push_config)"));
    return ToGrpcStatus(
        Find(*broker_, request->subscription()).status());  // every subscription is pulled already
  }());
}

grpc::ServerUnaryReactor* SubscriberService::GetSnapshot(
    grpc::CallbackServerContext* context, const google::pubsub::v1::GetSnapshotRequest*,
    google::pubsub::v1::Snapshot*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* SubscriberService::ListSnapshots(
    grpc::CallbackServerContext* context, const google::pubsub::v1::ListSnapshotsRequest*,
    google::pubsub::v1::ListSnapshotsResponse*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* SubscriberService::CreateSnapshot(
    grpc::CallbackServerContext* context, const google::pubsub::v1::CreateSnapshotRequest*,
    google::pubsub::v1::Snapshot*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* SubscriberService::UpdateSnapshot(
    grpc::CallbackServerContext* context, const google::pubsub::v1::UpdateSnapshotRequest*,
    google::pubsub::v1::Snapshot*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* SubscriberService::DeleteSnapshot(
    grpc::CallbackServerContext* context, const google::pubsub::v1::DeleteSnapshotRequest*,
    google::protobuf::Empty*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("snapshots")));
}

grpc::ServerUnaryReactor* SubscriberService::Seek(grpc::CallbackServerContext* context,
                                                  const google::pubsub::v1::SeekRequest*,
                                                  google::pubsub::v1::SeekResponse*) {
  return FinishWith(context, ToGrpcStatus(NotSupported("seek")));
}

}  // namespace hornbeam::services::pubsub
