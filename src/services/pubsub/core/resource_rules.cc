#include "services/pubsub/core/resource_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"
#include "services/pubsub/core/resource_name.h"

namespace hornbeam::services::pubsub {
namespace {

using google::protobuf::Duration;
using google::protobuf::FieldMask;
using google::pubsub::v1::Subscription;
using google::pubsub::v1::Topic;

Status CheckSeconds(std::string_view argument, int64_t seconds, int64_t minimum, int64_t maximum) {
  if (seconds >= minimum && seconds <= maximum) return absl::OkStatus();
  return InvalidArgument(argument, absl::StrCat("It is ", seconds, " s; it must be between ",
                                                minimum, " s and ", maximum, " s."));
}

Status CheckTopic(const Topic& topic) {
  if (!topic.kms_key_name().empty())
    return NotSupported("customer-managed encryption keys (kms_key_name)");
  if (topic.has_schema_settings()) return NotSupported("schemas (schema_settings)");
  if (topic.has_ingestion_data_source_settings())
    return NotSupported("import topics (ingestion_data_source_settings)");
  if (topic.message_transforms_size() > 0)
    return NotSupported("message transforms (message_transforms)");
  if (topic.has_message_retention_duration()) {
    HB_RETURN_IF_ERROR(CheckSeconds("message_retention_duration",
                                    topic.message_retention_duration().seconds(),
                                    kMinRetentionSeconds, kMaxRetentionSeconds));
  }
  return absl::OkStatus();
}

Status CheckSubscription(const Subscription& subscription) {
  if (!subscription.push_config().push_endpoint().empty())
    return NotSupported("push delivery (push_config)");
  if (!subscription.bigquery_config().table().empty())
    return NotSupported("BigQuery subscriptions (bigquery_config)");
  if (!subscription.cloud_storage_config().bucket().empty()) {
    return NotSupported("Cloud Storage subscriptions (cloud_storage_config)");
  }
  if (!subscription.bigtable_config().table().empty())
    return NotSupported("Bigtable subscriptions (bigtable_config)");
  if (subscription.enable_message_ordering())
    return NotSupported("ordered delivery (enable_message_ordering)");
  if (!subscription.filter().empty()) return NotSupported("filters (filter)");
  if (subscription.has_dead_letter_policy())
    return NotSupported("dead letter topics (dead_letter_policy)");
  if (subscription.has_retry_policy()) return NotSupported("retry policies (retry_policy)");
  if (subscription.message_transforms_size() > 0)
    return NotSupported("message transforms (message_transforms)");
  if (subscription.detached()) return InvalidArgument("detached", "It is set by the service.");
  HB_RETURN_IF_ERROR(CheckSeconds("ack_deadline_seconds", subscription.ack_deadline_seconds(),
                                  kMinAckDeadlineSeconds, kMaxAckDeadlineSeconds));
  HB_RETURN_IF_ERROR(CheckSeconds("message_retention_duration",
                                  subscription.message_retention_duration().seconds(),
                                  kMinRetentionSeconds, kMaxRetentionSeconds));
  if (subscription.expiration_policy().has_ttl() &&
      subscription.expiration_policy().ttl().seconds() < kMinExpirationSeconds) {
    return InvalidArgument("expiration_policy.ttl", "It must be at least one day.");
  }
  return absl::OkStatus();
}

void CompleteDefaults(Subscription* subscription) {
  if (subscription->ack_deadline_seconds() == 0)
    subscription->set_ack_deadline_seconds(kDefaultAckDeadlineSeconds);
  if (!subscription->has_message_retention_duration()) {
    subscription->mutable_message_retention_duration()->set_seconds(kDefaultRetentionSeconds);
  }
  if (!subscription->has_expiration_policy()) {
    subscription->mutable_expiration_policy()->mutable_ttl()->set_seconds(
        kDefaultExpirationSeconds);
  }
  subscription->mutable_push_config();
  subscription->set_state(Subscription::ACTIVE);
  subscription->clear_topic_message_retention_duration();
}

Status EmptyMask(absl::string_view request) {
  return absl::InvalidArgumentError(
      absl::StrCat("The update_mask in the ", request,
                   " must be set, and must contain a non-empty paths list."));
}

Status UnknownPath(const std::string& path) {
  return InvalidArgument(
      "update_mask", absl::StrCat("The field '", path, "' does not exist or cannot be changed."));
}

}  // namespace

Status CompleteTopic(Topic* topic) {
  HB_RETURN_IF_ERROR(CheckTopicName(topic->name()));
  HB_RETURN_IF_ERROR(CheckTopic(*topic));
  topic->set_state(Topic::ACTIVE);
  topic->clear_tags();
  return absl::OkStatus();
}

StatusOr<Topic> UpdatedTopic(const Topic& current, const Topic& change, const FieldMask& mask) {
  if (mask.paths().empty()) return EmptyMask("UpdateTopicRequest");
  Topic updated = current;
  for (const std::string& path : mask.paths()) {
    if (path == "labels") {
      *updated.mutable_labels() = change.labels();
    } else if (path == "message_retention_duration") {
      updated.clear_message_retention_duration();
      if (change.has_message_retention_duration()) {
        *updated.mutable_message_retention_duration() = change.message_retention_duration();
      }
    } else if (path == "message_storage_policy" ||
               path == "message_storage_policy.allowed_persistence_regions") {
      *updated.mutable_message_storage_policy() = change.message_storage_policy();
    } else if (path.starts_with("schema_settings")) {
      return NotSupported("schemas (schema_settings)");
    } else if (path.starts_with("ingestion_data_source_settings")) {
      return NotSupported("import topics (ingestion_data_source_settings)");
    } else if (path == "message_transforms") {
      return NotSupported("message transforms (message_transforms)");
    } else {
      return UnknownPath(path);
    }
  }
  HB_RETURN_IF_ERROR(CheckTopic(updated));
  return updated;
}

Status CompleteSubscription(Subscription* subscription) {
  HB_RETURN_IF_ERROR(CheckSubscriptionName(subscription->name()));
  HB_RETURN_IF_ERROR(CheckTopicName(subscription->topic()));
  CompleteDefaults(subscription);
  subscription->clear_tags();
  return CheckSubscription(*subscription);
}

StatusOr<Subscription> UpdatedSubscription(const Subscription& current, const Subscription& change,
                                           const FieldMask& mask) {
  if (mask.paths().empty()) return EmptyMask("UpdateSubscriptionRequest");
  Subscription updated = current;
  for (const std::string& path : mask.paths()) {
    if (path == "ack_deadline_seconds") {
      updated.set_ack_deadline_seconds(change.ack_deadline_seconds());
    } else if (path == "labels") {
      *updated.mutable_labels() = change.labels();
    } else if (path == "message_retention_duration") {
      updated.clear_message_retention_duration();
      if (change.has_message_retention_duration()) {
        *updated.mutable_message_retention_duration() = change.message_retention_duration();
      }
    } else if (path == "retain_acked_messages") {
      updated.set_retain_acked_messages(change.retain_acked_messages());
    } else if (path == "expiration_policy" || path == "expiration_policy.ttl") {
      updated.clear_expiration_policy();
      if (change.has_expiration_policy())
        *updated.mutable_expiration_policy() = change.expiration_policy();
    } else if (path == "enable_exactly_once_delivery") {
      updated.set_enable_exactly_once_delivery(change.enable_exactly_once_delivery());
    } else if (path == "push_config" || path == "push_config.push_endpoint") {
      *updated.mutable_push_config() = change.push_config();
    } else if (path.starts_with("bigquery_config")) {
      *updated.mutable_bigquery_config() = change.bigquery_config();
    } else if (path.starts_with("cloud_storage_config")) {
      *updated.mutable_cloud_storage_config() = change.cloud_storage_config();
    } else if (path.starts_with("dead_letter_policy")) {
      updated.clear_dead_letter_policy();
      if (change.has_dead_letter_policy())
        *updated.mutable_dead_letter_policy() = change.dead_letter_policy();
    } else if (path.starts_with("retry_policy")) {
      updated.clear_retry_policy();
      if (change.has_retry_policy()) *updated.mutable_retry_policy() = change.retry_policy();
    } else {
      return UnknownPath(path);
    }
  }
  CompleteDefaults(&updated);
  HB_RETURN_IF_ERROR(CheckSubscription(updated));
  return updated;
}

Status CheckStreamAckDeadline(int seconds) {
  return CheckSeconds("stream_ack_deadline_seconds", seconds, kMinAckDeadlineSeconds,
                      kMaxAckDeadlineSeconds);
}

Status CheckModifiedAckDeadline(int seconds) {
  return CheckSeconds("ack_deadline_seconds", seconds, 0, kMaxAckDeadlineSeconds);
}

}  // namespace hornbeam::services::pubsub
