#include "services/pubsub/pubsub_service.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "services/pubsub/api/admin_queue.h"
#include "services/pubsub/api/publisher_service.h"
#include "services/pubsub/api/subscriber_service.h"
#include "services/pubsub/core/broker.h"

namespace hornbeam::services::pubsub {
namespace {

// projects/P/topics/T into P and T.
std::pair<absl::string_view, absl::string_view> SplitName(absl::string_view name) {
  const size_t project_end = name.find('/', name.find('/') + 1);
  const size_t project = name.find('/') + 1;
  return {name.substr(project, project_end - project), name.substr(name.rfind('/') + 1)};
}

void AppendFamily(std::string* out, absl::string_view metric, absl::string_view type) {
  absl::StrAppend(out, "# TYPE pubsub_googleapis_com:", metric, " ", type, "\n");
}

void AppendSample(std::string* out, absl::string_view metric, absl::string_view kind,
                  absl::string_view name, double value) {
  const auto [project, id] = SplitName(name);
  absl::StrAppend(out, "pubsub_googleapis_com:", metric, "{project_id=\"", project, "\",", kind,
                  "_id=\"", id, "\"} ", value, "\n");
}

}  // namespace

PubSubService::PubSubService(std::unique_ptr<Broker> broker)
    : broker_(std::move(broker)),
      admin_(std::make_unique<AdminQueue>()),
      publisher_(std::make_unique<PublisherService>(broker_.get(), admin_.get())),
      subscriber_(std::make_unique<SubscriberService>(broker_.get(), admin_.get())) {}

PubSubService::~PubSubService() { Shutdown(); }

StatusOr<std::unique_ptr<PubSubService>> PubSubService::Open(PubSubOptions options) {
  BrokerOptions broker_options;
  broker_options.data_dir = std::move(options.data_dir);
  broker_options.fs = options.fs;
  broker_options.clock = options.clock;
  broker_options.seed = RandomSeed();
  HB_ASSIGN_OR_RETURN(std::unique_ptr<Broker> broker, Broker::Open(std::move(broker_options)));
  return std::unique_ptr<PubSubService>(new PubSubService(std::move(broker)));
}

std::vector<grpc::Service*> PubSubService::GrpcServices() {
  return {publisher_.get(), subscriber_.get()};
}

std::string PubSubService::PrometheusText() const {
  std::string out;
  const auto topics = broker_->topics();
  const auto topic_metric = [&](absl::string_view metric,
                                const std::function<double(const Topic&)>& value) {
    AppendFamily(&out, metric, "counter");
    for (const auto& topic : topics)
      AppendSample(&out, metric, "topic", topic->config().name(), value(*topic));
  };
  topic_metric("topic_send_message_operation_count",
               [](const Topic& t) { return static_cast<double>(t.published_messages()); });
  topic_metric("topic_send_request_count",
               [](const Topic& t) { return static_cast<double>(t.publish_requests()); });
  topic_metric("topic_byte_cost",
               [](const Topic& t) { return static_cast<double>(t.published_bytes()); });

  const auto subscriptions = broker_->subscriptions();
  const auto subscription_metric = [&](absl::string_view metric, absl::string_view type,
                                       const std::function<double(const Subscription&)>& value) {
    AppendFamily(&out, metric, type);
    for (const auto& s : subscriptions)
      AppendSample(&out, metric, "subscription", s->config().name(), value(*s));
  };
  subscription_metric("subscription_num_undelivered_messages", "gauge", [](const Subscription& s) {
    return static_cast<double>(s.unacked_messages());
  });
  subscription_metric("subscription_backlog_bytes", "gauge",
                      [](const Subscription& s) { return static_cast<double>(s.backlog_bytes()); });
  subscription_metric(
      "subscription_oldest_unacked_message_age", "gauge",
      [](const Subscription& s) { return static_cast<double>(s.OldestUnackedAgeMs()) / 1000.0; });
  subscription_metric("subscription_open_streaming_pulls", "gauge",
                      [](const Subscription& s) { return static_cast<double>(s.open_streams()); });
  subscription_metric("subscription_sent_message_count", "counter", [](const Subscription& s) {
    return static_cast<double>(s.counters().delivered_messages.load(std::memory_order_relaxed));
  });
  subscription_metric("subscription_ack_message_count", "counter", [](const Subscription& s) {
    return static_cast<double>(s.counters().acked_messages.load(std::memory_order_relaxed));
  });
  subscription_metric("subscription_nack_requests", "counter", [](const Subscription& s) {
    return static_cast<double>(s.counters().nacked_messages.load(std::memory_order_relaxed));
  });
  subscription_metric(
      "subscription_expired_ack_deadlines_count", "counter", [](const Subscription& s) {
        return static_cast<double>(s.counters().expired_leases.load(std::memory_order_relaxed));
      });
  return out;
}

std::vector<PubSubService::SubscriptionStats> PubSubService::Stats() const {
  std::vector<SubscriptionStats> all;
  for (const std::shared_ptr<Subscription>& subscription : broker_->subscriptions()) {
    SubscriptionStats stats;
    stats.name = subscription->config().name();
    stats.num_undelivered_messages = subscription->unacked_messages();
    stats.backlog_bytes = subscription->backlog_bytes();
    stats.oldest_unacked_age_ms = subscription->OldestUnackedAgeMs();
    stats.open_streams = subscription->open_streams();
    all.push_back(std::move(stats));
  }
  return all;
}

void PubSubService::Shutdown() {
  broker_->Shutdown();
  admin_->Stop();
}

}  // namespace hornbeam::services::pubsub
