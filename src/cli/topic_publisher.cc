#include "cli/topic_publisher.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hornbeam::cli {
namespace {

namespace pb = google::pubsub::v1;

constexpr std::chrono::seconds kTimeout{30};

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + kTimeout);
}

}  // namespace

std::string TopicName(const std::string& topic, const std::string& project) {
  return absl::StrContains(topic, '/') ? topic
                                       : absl::StrCat("projects/", project, "/topics/", topic);
}

std::string SubscriptionName(const std::string& subscription, const std::string& project) {
  return absl::StrContains(subscription, '/')
             ? subscription
             : absl::StrCat("projects/", project, "/subscriptions/", subscription);
}

TopicPublisher::TopicPublisher(const std::string& endpoint, std::string topic)
    : endpoint_(endpoint), topic_(std::move(topic)) {
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  publisher_ = pb::Publisher::NewStub(channel);
  subscriber_ = pb::Subscriber::NewStub(channel);
}

Status TopicPublisher::CreateTopic() {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::Topic topic;
  topic.set_name(topic_);
  pb::Topic created;
  const grpc::Status status = publisher_->CreateTopic(&context, topic, &created);
  return status.error_code() == grpc::StatusCode::ALREADY_EXISTS ? absl::OkStatus()
                                                                 : Explain(status);
}

Status TopicPublisher::CreateSubscription(const std::string& name, int ack_deadline_s) {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::Subscription subscription;
  subscription.set_name(name);
  subscription.set_topic(topic_);
  subscription.set_ack_deadline_seconds(ack_deadline_s);
  pb::Subscription created;
  const grpc::Status status = subscriber_->CreateSubscription(&context, subscription, &created);
  return status.error_code() == grpc::StatusCode::ALREADY_EXISTS ? absl::OkStatus()
                                                                 : Explain(status);
}

StatusOr<std::vector<std::string>> TopicPublisher::Publish(pb::PublishRequest* request) {
  grpc::ClientContext context;
  SetDeadline(&context);
  request->set_topic(topic_);
  pb::PublishResponse response;
  HB_RETURN_IF_ERROR(Explain(publisher_->Publish(&context, *request, &response)));
  request->mutable_messages()->Clear();
  return std::vector<std::string>(response.message_ids().begin(), response.message_ids().end());
}

Status TopicPublisher::Explain(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  const absl::StatusCode code = static_cast<absl::StatusCode>(status.error_code());
  if (code == absl::StatusCode::kUnavailable) {
    return absl::UnavailableError(absl::StrCat(
        "no Pub/Sub answers at ", endpoint_,
        "; start the services with `hornbeam up`, or name another address with --endpoint"));
  }
  if (code == absl::StatusCode::kNotFound) {
    return absl::NotFoundError(
        absl::StrCat("topic '", topic_, "' does not exist; --create makes it"));
  }
  if (code == absl::StatusCode::kUnimplemented && status.error_message().empty()) {
    return absl::UnimplementedError(absl::StrCat(
        "what answers at ", endpoint_, " is no Pub/Sub; name its address with --endpoint"));
  }
  return Status(code, status.error_message());
}

}  // namespace hornbeam::cli
