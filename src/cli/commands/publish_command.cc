// hornbeam publish TOPIC MESSAGE...
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/topic_publisher.h"
#include "cli/up/data_dir.h"
#include "cli/up/local_cloud.h"

namespace hornbeam::cli {
namespace {

constexpr int kBatchMessages = 1000;
constexpr size_t kBatchBytes = 4 << 20;

struct PublishFlags {
  std::string topic;
  std::vector<std::string> messages;
  std::vector<std::string> attributes;
  std::string ordering_key;
  std::string data_dir = DefaultDataDir();
  std::string endpoint;
  std::string project = kDefaultProject;
  bool create = false;
  bool json = false;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

StatusOr<Attributes> ParseAttributes(const std::vector<std::string>& texts) {
  Attributes attributes;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", text, "' must be written as key=value"));
    }
    attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return attributes;
}

// Publishes in batches and prints the ids as they come.
class Batch {
 public:
  Batch(TopicPublisher* publisher, const PublishFlags& flags, Attributes attributes)
      : publisher_(publisher), flags_(flags), attributes_(std::move(attributes)) {}

  Status Add(const std::string& data) {
    google::pubsub::v1::PubsubMessage* message = request_.add_messages();
    message->set_data(data);
    message->set_ordering_key(flags_.ordering_key);
    for (const auto& [key, value] : attributes_) (*message->mutable_attributes())[key] = value;
    bytes_ += data.size();
    return request_.messages_size() < kBatchMessages && bytes_ < kBatchBytes ? absl::OkStatus()
                                                                             : Send();
  }

  Status Send() {
    if (request_.messages().empty()) return absl::OkStatus();
    bytes_ = 0;
    HB_ASSIGN_OR_RETURN(const std::vector<std::string> ids, publisher_->Publish(&request_));
    for (const std::string& id : ids) {
      std::printf(flags_.json ? "{\"messageId\": \"%s\"}\n" : "%s\n", id.c_str());
    }
    return absl::OkStatus();
  }

 private:
  TopicPublisher* const publisher_;
  const PublishFlags& flags_;
  const Attributes attributes_;
  google::pubsub::v1::PublishRequest request_;
  size_t bytes_ = 0;
};

Status RunPublish(const PublishFlags& flags) {
  std::string endpoint = flags.endpoint;
  if (endpoint.empty()) {
    HB_ASSIGN_OR_RETURN(const Endpoints endpoints,
                        FindEndpoints(*FileSystem::Posix(), flags.data_dir));
    endpoint = endpoints.pubsub;
  }
  HB_ASSIGN_OR_RETURN(Attributes attributes, ParseAttributes(flags.attributes));
  TopicPublisher publisher(endpoint, TopicName(flags.topic, flags.project));
  if (flags.create) HB_RETURN_IF_ERROR(publisher.CreateTopic());
  Batch batch(&publisher, flags, std::move(attributes));
  if (flags.messages.size() == 1 && flags.messages[0] == "-") {
    for (std::string line; std::getline(std::cin, line);) HB_RETURN_IF_ERROR(batch.Add(line));
  } else {
    for (const std::string& message : flags.messages) HB_RETURN_IF_ERROR(batch.Add(message));
  }
  return batch.Send();
}

}  // namespace

void AddPublish(CLI::App* app) {
  CLI::App* command = app->add_subcommand(
      "publish", "Publish messages to a topic of the local Pub/Sub; prints their ids");
  auto flags = std::make_shared<PublishFlags>();
  command->add_option("topic", flags->topic, "A topic's name, or projects/PROJECT/topics/TOPIC")
      ->required();
  command
      ->add_option("messages", flags->messages,
                   "The messages; a single - publishes each line of standard input")
      ->required();
  command
      ->add_option("--attribute", flags->attributes,
                   "key=value on every message; may be given several times")
      ->allow_extra_args(false);
  command->add_option("--ordering-key", flags->ordering_key, "The ordering key of every message");
  command->add_flag("--create", flags->create, "Create the topic when it does not exist");
  command->add_flag("--json", flags->json, "Print each id as a JSON object");
  command->add_option("--project", flags->project, "The project of a topic named without one")
      ->capture_default_str();
  command->add_option("--endpoint", flags->endpoint,
                      "Pub/Sub's address, host:port; else that of the running `hornbeam up`");
  command->add_option("--data-dir", flags->data_dir, "The data directory of that `hornbeam up`")
      ->capture_default_str();
  command->callback([flags] { ExitOnError(RunPublish(*flags), "publish"); });
}

}  // namespace hornbeam::cli
