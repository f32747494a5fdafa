// Publishes to one topic of a Pub/Sub service over gRPC.
#ifndef HORNBEAM_CLI_TOPIC_PUBLISHER_H_
#define HORNBEAM_CLI_TOPIC_PUBLISHER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace hornbeam::cli {

// "projects/P/topics/T" as it is; "T" in `project`.
std::string TopicName(const std::string& topic, const std::string& project);
std::string SubscriptionName(const std::string& subscription, const std::string& project);

// One call at a time. Errors say what to do; UNAVAILABLE when nothing answers at the address.
class TopicPublisher {
 public:
  // `endpoint` is host:port; `topic` a full name. Connects at the first call.
  TopicPublisher(const std::string& endpoint, std::string topic);

  // OK too when it exists.
  Status CreateTopic();
  // A subscription of the topic, by its full name. OK too when it exists.
  Status CreateSubscription(const std::string& subscription, int ack_deadline_s);

  // One Publish call; the messages' ids. The service has them on disk when it returns. Leaves
  // `*request` without messages, with its memory, for the next batch.
  StatusOr<std::vector<std::string>> Publish(google::pubsub::v1::PublishRequest* request);

 private:
  Status Explain(const grpc::Status& status) const;

  const std::string endpoint_;
  const std::string topic_;
  std::unique_ptr<google::pubsub::v1::Publisher::Stub> publisher_;
  std::unique_ptr<google::pubsub::v1::Subscriber::Stub> subscriber_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_TOPIC_PUBLISHER_H_
