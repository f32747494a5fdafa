#include "connectors/pubsub/subscription_client.h"

#include <grpcpp/channel.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

namespace pubsub = google::pubsub::v1;

void SetTimeout(std::chrono::milliseconds timeout, grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + timeout);
}

template <typename Request>
void AddIds(const AckIds& ids, size_t begin, size_t end, Request* request) {
  request->mutable_ack_ids()->Reserve(static_cast<int>(end - begin));
  for (size_t i = begin; i < end; ++i) {
    const std::string_view id = ids[i];
    request->add_ack_ids(id.data(), id.size());
  }
}

}  // namespace

SubscriptionClient::SubscriptionClient(std::string subscription, Endpoint endpoint,
                                       std::shared_ptr<grpc::Channel> channel)
    : subscription_(std::move(subscription)),
      endpoint_(std::move(endpoint)),
      channel_(std::move(channel)),
      stub_(pubsub::Subscriber::NewStub(channel_)) {}

Status SubscriptionClient::Explain(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  const Status bare = FromGrpc(status);
  std::string advice;
  switch (bare.code()) {
    case absl::StatusCode::kNotFound: advice = "; create it, or correct its name"; break;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      advice = "; the job's account needs the role Pub/Sub Subscriber on it";
      break;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: advice = "; check that Pub/Sub runs there"; break;
    default: break;
  }
  return Status(bare.code(), absl::StrCat("subscription '", subscription_, "' at ",
                                          endpoint_.target, ": ", bare.message(), advice));
}

StatusOr<pubsub::Subscription> SubscriptionClient::Get(std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(timeout, &context);
  context.set_wait_for_ready(true);
  pubsub::GetSubscriptionRequest request;
  request.set_subscription(subscription_);
  pubsub::Subscription subscription;
  HB_RETURN_IF_ERROR(Explain(stub_->GetSubscription(&context, request, &subscription)));
  return subscription;
}

Status SubscriptionClient::Acknowledge(const AckIds& ids, size_t begin, size_t end,
                                       std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(timeout, &context);
  pubsub::AcknowledgeRequest request;
  request.set_subscription(subscription_);
  AddIds(ids, begin, end, &request);
  google::protobuf::Empty nothing;
  return Explain(stub_->Acknowledge(&context, request, &nothing));
}

Status SubscriptionClient::ModifyAckDeadline(const AckIds& ids, size_t begin, size_t end,
                                             int seconds, std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(timeout, &context);
  pubsub::ModifyAckDeadlineRequest request;
  request.set_subscription(subscription_);
  request.set_ack_deadline_seconds(seconds);
  AddIds(ids, begin, end, &request);
  google::protobuf::Empty nothing;
  return Explain(stub_->ModifyAckDeadline(&context, request, &nothing));
}

Status SubscriptionClient::UpdateLabels(
    const google::protobuf::Map<std::string, std::string>& labels,
    std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(timeout, &context);
  pubsub::UpdateSubscriptionRequest request;
  request.mutable_subscription()->set_name(subscription_);
  *request.mutable_subscription()->mutable_labels() = labels;
  request.mutable_update_mask()->add_paths("labels");
  pubsub::Subscription updated;
  return Explain(stub_->UpdateSubscription(&context, request, &updated));
}

bool SubscriptionClient::connected() const {
  return channel_->GetState(false) == GRPC_CHANNEL_READY;
}

}  // namespace hornbeam::connectors
