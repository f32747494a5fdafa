#include "services/pubsub/api/streaming_pull_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "services/pubsub/api/delivery_encoding.h"
#include "services/pubsub/api/grpc_status.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"
#include "services/pubsub/core/resource_name.h"
#include "services/pubsub/core/resource_rules.h"

namespace hornbeam::services::pubsub {
namespace {

using google::pubsub::v1::StreamingPullRequest;
using google::pubsub::v1::StreamingPullResponse;

std::vector<const std::string*> Pointers(
    const google::protobuf::RepeatedPtrField<std::string>& ids) {
  return {ids.pointer_begin(), ids.pointer_end()};
}

}  // namespace

StreamingPullCall* StreamingPullCall::Start(Broker* broker) {
  std::shared_ptr<StreamingPullCall> call(new StreamingPullCall(broker));
  call->self_ = call;
  call->StartRead(&call->read_);
  return call.get();
}

void StreamingPullCall::OnReadDone(bool ok) {
  if (!ok) {
    End(grpc::Status::OK);  // the client has nothing more to say; if it is gone, OnCancel has said
                            // so
    return;
  }
  StreamingPullRequest request;
  const grpc::Status parsed =
      grpc::SerializationTraits<StreamingPullRequest>::Deserialize(&read_, &request);
  if (!parsed.ok()) {
    End({grpc::StatusCode::INVALID_ARGUMENT, "The request is not a StreamingPullRequest."});
    return;
  }
  if (const Status status = Handle(request); !status.ok()) {
    End(ToGrpcStatus(status));
    return;
  }
  Pump();
  StartRead(&read_);
}

Status StreamingPullCall::Handle(const StreamingPullRequest& request) {
  bool is_open = false;
  {
    MutexLock lock(&mutex_);
    is_open = subscription_ != nullptr;
  }
  if (!is_open) {
    HB_RETURN_IF_ERROR(Open(request));
  } else if (!request.subscription().empty()) {
    return InvalidArgument("subscription", "It must be set in the first request of a stream only.");
  } else if (request.stream_ack_deadline_seconds() != 0) {
    HB_RETURN_IF_ERROR(CheckStreamAckDeadline(request.stream_ack_deadline_seconds()));
    MutexLock lock(&mutex_);
    lease_seconds_ = request.stream_ack_deadline_seconds();
  }
  if (request.modify_deadline_seconds_size() != request.modify_deadline_ack_ids_size()) {
    return InvalidArgument("modify_deadline_seconds",
                           "It must have as many entries as modify_deadline_ack_ids.");
  }
  if (request.ack_ids_size() > 0) Acknowledge(request);
  if (request.modify_deadline_ack_ids_size() > 0) return ModifyDeadlines(request);
  return absl::OkStatus();
}

Status StreamingPullCall::Open(const StreamingPullRequest& request) {
  HB_RETURN_IF_ERROR(CheckSubscriptionName(request.subscription()));
  HB_RETURN_IF_ERROR(CheckStreamAckDeadline(request.stream_ack_deadline_seconds()));
  HB_ASSIGN_OR_RETURN(std::shared_ptr<Subscription> subscription,
                      broker_->FindSubscription(request.subscription()));
  const std::optional<HolderId> holder = subscription->OpenStream(
      {request.max_outstanding_messages(), request.max_outstanding_bytes()});
  if (!holder.has_value()) {
    return absl::ResourceExhaustedError(
        "Too many streams are open on this subscription: close some, or wait for their leases to "
        "end.");
  }
  const google::pubsub::v1::Subscription config = subscription->config();
  const int64_t now_us = broker_->clock().MonotonicMicros();
  MutexLock lock(&mutex_);
  subscription_ = std::move(subscription);
  holder_ = *holder;
  lease_seconds_ = request.stream_ack_deadline_seconds();
  wants_heartbeat_ = request.protocol_version() >= 1;
  last_write_us_ = now_us;
  // The properties go out at once, so that a client knows that it is connected.
  StreamingPullResponse opening;
  opening.mutable_subscription_properties()->set_exactly_once_delivery_enabled(
      config.enable_exactly_once_delivery());
  opening.mutable_subscription_properties()->set_message_ordering_enabled(
      config.enable_message_ordering());
  control_ += opening.SerializeAsString();
  if (wants_heartbeat_) {
    heartbeat_at_us_ = now_us + kStreamHeartbeatUs;
    broker_->dispatcher()->ScheduleAt(heartbeat_at_us_, std::weak_ptr<Consumer>(self_));
  }
  return absl::OkStatus();
}

void StreamingPullCall::Acknowledge(const StreamingPullRequest& request) {
  std::shared_ptr<Subscription> subscription;
  {
    MutexLock lock(&mutex_);
    subscription = subscription_;
  }
  subscription->Ack(Pointers(request.ack_ids()),
                    [self = self_](const Status& status, const Subscription::AckResult& result) {
                      if (!status.ok()) return self->End(ToGrpcStatus(status));
                      if (result.accepted.empty() && result.refused.empty()) return;
                      StreamingPullResponse response;
                      auto* confirmation = response.mutable_acknowledge_confirmation();
                      for (const std::string& id : result.accepted) confirmation->add_ack_ids(id);
                      for (const std::string& id : result.refused)
                        confirmation->add_invalid_ack_ids(id);
                      self->QueueControl(response);
                    });
}

Status StreamingPullCall::ModifyDeadlines(const StreamingPullRequest& request) {
  for (const int seconds : request.modify_deadline_seconds())
    HB_RETURN_IF_ERROR(CheckModifiedAckDeadline(seconds));
  std::shared_ptr<Subscription> subscription;
  {
    MutexLock lock(&mutex_);
    subscription = subscription_;
  }
  HB_ASSIGN_OR_RETURN(
      const Subscription::AckResult result,
      subscription->ModifyDeadlines(Pointers(request.modify_deadline_ack_ids()),
                                    {request.modify_deadline_seconds().data(),
                                     static_cast<size_t>(request.modify_deadline_seconds_size())}));
  if (result.accepted.empty() && result.refused.empty()) return absl::OkStatus();
  StreamingPullResponse response;
  auto* confirmation = response.mutable_modify_ack_deadline_confirmation();
  for (const std::string& id : result.accepted) confirmation->add_ack_ids(id);
  for (const std::string& id : result.refused) confirmation->add_invalid_ack_ids(id);
  QueueControl(response);
  return absl::OkStatus();
}

void StreamingPullCall::QueueControl(const StreamingPullResponse& response) {
  bool is_full = false;
  {
    MutexLock lock(&mutex_);
    control_ += response.SerializeAsString();
    is_full = control_.size() > kMaxUnreadControlBytes;
  }
  if (is_full) {
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "The stream sends acknowledgements and does not read their confirmations; read them, or "
         "open another stream."});
    return;
  }
  Pump();
}

void StreamingPullCall::Run() {
  Pump();
  const int64_t now_us = broker_->clock().MonotonicMicros();
  MutexLock lock(&mutex_);
  if (!wants_heartbeat_ || ended_.has_value() || now_us < heartbeat_at_us_) return;
  heartbeat_at_us_ = std::max(now_us, last_write_us_) + kStreamHeartbeatUs;
  broker_->dispatcher()->ScheduleAt(heartbeat_at_us_, std::weak_ptr<Consumer>(self_));
}

void StreamingPullCall::Pump() {
  {
    MutexLock lock(&mutex_);
    if (pumping_) {
      pump_again_ = true;
      return;
    }
    if (writing_ || ended_.has_value() || subscription_ == nullptr) return;
    pumping_ = true;
  }
  while (true) {
    std::string response = NextResponse();
    const bool has_response = !response.empty();
    if (has_response) write_ = ToByteBuffer(std::move(response));
    {
      MutexLock lock(&mutex_);
      const bool again = std::exchange(pump_again_, false);
      if (!has_response && again && !ended_.has_value()) continue;
      pumping_ = false;
      if (!has_response || ended_.has_value()) break;
      writing_ = true;
      last_write_us_ = broker_->clock().MonotonicMicros();
    }
    StartWrite(&write_);
    return;
  }
  FinishIfEnded();
}

std::string StreamingPullCall::NextResponse() {
  std::shared_ptr<Subscription> subscription;
  HolderId holder = 0;
  int lease_seconds = 0;
  {
    MutexLock lock(&mutex_);
    subscription = subscription_;
    holder = holder_;
    lease_seconds = lease_seconds_;
  }
  const StatusOr<Delivery> delivery =
      subscription->Take(holder, kMaxDeliveryMessages, lease_seconds, self_);
  if (!delivery.ok()) {
    End(ToGrpcStatus(delivery.status()));
    return {};
  }
  std::string response;
  AppendReceivedMessages(*delivery, &response);
  // Absent means false to clients, so what is true is said every time.
  if (!delivery->messages.empty() && subscription->exactly_once()) {
    StreamingPullResponse properties;
    properties.mutable_subscription_properties()->set_exactly_once_delivery_enabled(true);
    response += properties.SerializeAsString();
  }
  MutexLock lock(&mutex_);
  response += std::exchange(control_, {});
  if (!wants_heartbeat_) return response;
  const int64_t now_us = broker_->clock().MonotonicMicros();
  const int64_t due_us = last_write_us_ + kStreamHeartbeatUs;
  if (response.empty() && now_us >= due_us) {
    StreamingPullResponse heartbeat;
    heartbeat.mutable_subscription_properties()->set_exactly_once_delivery_enabled(
        subscription->exactly_once());
    response = heartbeat.SerializeAsString();
  }
  return response;
}

void StreamingPullCall::OnWriteDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok && !ended_.has_value()) ended_ = grpc::Status::CANCELLED;
  }
  FinishIfEnded();
  Pump();
}

void StreamingPullCall::OnCancel() { End(grpc::Status::CANCELLED); }

void StreamingPullCall::End(grpc::Status status) {
  {
    MutexLock lock(&mutex_);
    if (!ended_.has_value()) ended_ = std::move(status);
  }
  FinishIfEnded();
}

void StreamingPullCall::FinishIfEnded() {
  grpc::Status status;
  {
    MutexLock lock(&mutex_);
    if (!ended_.has_value() || writing_ || pumping_ || finished_) return;
    finished_ = true;
    status = *ended_;
  }
  Finish(std::move(status));
}

void StreamingPullCall::OnDone() {
  std::shared_ptr<Subscription> subscription;
  HolderId holder = 0;
  {
    MutexLock lock(&mutex_);
    subscription = std::move(subscription_);
    holder = holder_;
  }
  if (subscription != nullptr) subscription->CloseStream(holder);
  self_.reset();
}

}  // namespace hornbeam::services::pubsub
