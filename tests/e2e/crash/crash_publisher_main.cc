// Publishes the lines of a file, in order, each exactly as often as Pub/Sub confirms it; a publish
// whose answer was lost is done again:
//   crash_publisher --pubsub HOST:PORT --topic T --subscription S --file F --rate MESSAGES_PER_S
// A line is: event id, tab, event time, tab, payload. Topic and subscription are made when they are
// missing. Prints "publishing" when it begins, "published N" after each
// second and at the end.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace hornbeam::crash {
namespace {

namespace pb = google::pubsub::v1;
using SteadyClock = std::chrono::steady_clock;

constexpr int kAckDeadlineSeconds = 10;
constexpr int kRetryMs = 50;
constexpr int kBatchMessages = 100;
// For how long one call is tried again: longer than any restart.
constexpr std::chrono::seconds kGiveUp{120};

struct Flags {
  std::string pubsub;
  std::string topic;
  std::string subscription;
  std::string file;
  int rate = 5000;
};

class Publisher {
 public:
  explicit Publisher(const Flags& flags) : topic_(flags.topic) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kRetryMs);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 4 * kRetryMs);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kRetryMs);
    const auto channel =
        grpc::CreateCustomChannel(flags.pubsub, grpc::InsecureChannelCredentials(), args);
    publisher_ = pb::Publisher::NewStub(channel);
    subscriber_ = pb::Subscriber::NewStub(channel);
  }

  Status CreateTopic() {
    pb::Topic topic;
    topic.set_name(topic_);
    return UntilAnswered([&](grpc::ClientContext* context) {
      pb::Topic created;
      return publisher_->CreateTopic(context, topic, &created);
    });
  }

  Status CreateSubscription(const std::string& name) {
    pb::Subscription subscription;
    subscription.set_name(name);
    subscription.set_topic(topic_);
    subscription.set_ack_deadline_seconds(kAckDeadlineSeconds);
    return UntilAnswered([&](grpc::ClientContext* context) {
      pb::Subscription created;
      return subscriber_->CreateSubscription(context, subscription, &created);
    });
  }

  Status Publish(pb::PublishRequest* request) {
    request->set_topic(topic_);
    return UntilAnswered([&](grpc::ClientContext* context) {
      pb::PublishResponse response;
      return publisher_->Publish(context, *request, &response);
    });
  }

  int retries() const { return retries_; }

 private:
  // Calls until the service has answered. What exists already was made by a call whose answer was
  // lost.
  template <typename Call>
  Status UntilAnswered(Call call) {
    const SteadyClock::time_point give_up = SteadyClock::now() + kGiveUp;
    while (true) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
      const grpc::Status status = call(&context);
      using enum grpc::StatusCode;
      if (status.ok() || status.error_code() == ALREADY_EXISTS) return absl::OkStatus();
      const bool passing = status.error_code() == UNAVAILABLE ||
                           status.error_code() == DEADLINE_EXCEEDED ||
                           status.error_code() == CANCELLED;
      if (!passing || SteadyClock::now() > give_up) {
        return absl::UnavailableError(
            absl::StrCat("Pub/Sub answers ", status.error_code(), ": ", status.error_message()));
      }
      ++retries_;
      std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
    }
  }

  const std::string topic_;
  std::unique_ptr<pb::Publisher::Stub> publisher_;
  std::unique_ptr<pb::Subscriber::Stub> subscriber_;
  int retries_ = 0;
};

Status AddMessage(const std::string& line, pb::PublishRequest* request) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('\t', 2));
  if (fields.size() != 3) return absl::InvalidArgumentError(absl::StrCat("not a message: ", line));
  pb::PubsubMessage* message = request->add_messages();
  (*message->mutable_attributes())["event_id"] = fields[0];
  (*message->mutable_attributes())["event_time"] = fields[1];
  message->set_data(fields[2]);
  return absl::OkStatus();
}

Status PublishFile(const Flags& flags) {
  Publisher publisher(flags);
  HB_RETURN_IF_ERROR(publisher.CreateTopic());
  HB_RETURN_IF_ERROR(publisher.CreateSubscription(flags.subscription));
  std::ifstream file(flags.file);
  if (!file) return absl::NotFoundError(absl::StrCat("'", flags.file, "' cannot be read"));

  std::printf("publishing\n");
  std::fflush(stdout);
  const int batch = std::clamp(flags.rate / 50, 1, kBatchMessages);
  const SteadyClock::time_point begun = SteadyClock::now();
  int64_t published = 0;
  int64_t told_s = 0;
  pb::PublishRequest request;
  std::string line;
  for (bool more = true; more;) {
    request.clear_messages();
    while (request.messages_size() < batch &&
           (more = static_cast<bool>(std::getline(file, line)))) {
      HB_RETURN_IF_ERROR(AddMessage(line, &request));
    }
    if (request.messages_size() == 0) break;
    HB_RETURN_IF_ERROR(publisher.Publish(&request));
    published += request.messages_size();
    const auto due = std::chrono::microseconds(published * 1'000'000 / flags.rate);
    if (due.count() / 1'000'000 > told_s) {
      told_s = due.count() / 1'000'000;
      std::printf("published %ld\n", static_cast<long>(published));
      std::fflush(stdout);
    }
    std::this_thread::sleep_until(begun + due);
  }
  std::printf("published %ld, calls repeated %d\n", static_cast<long>(published),
              publisher.retries());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Publishes the messages of the crash tests");
  app.add_option("--pubsub", flags.pubsub)->required();
  app.add_option("--topic", flags.topic)->required();
  app.add_option("--subscription", flags.subscription)->required();
  app.add_option("--file", flags.file)->required();
  app.add_option("--rate", flags.rate)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const Status status = PublishFile(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "crash_publisher: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace hornbeam::crash

int main(int argc, char** argv) { return hornbeam::crash::Main(argc, argv); }
