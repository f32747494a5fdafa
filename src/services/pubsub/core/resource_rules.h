// What a topic or subscription may be configured as, its defaults, and what this server refuses.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_RULES_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_RULES_H_

#include "base/status.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/pubsub/v1/pubsub.pb.h"

namespace hornbeam::services::pubsub {

// Checks a topic to be created and fills in its defaults.
Status CompleteTopic(google::pubsub::v1::Topic* topic);
// `current` with the fields of `mask` taken from `change`.
StatusOr<google::pubsub::v1::Topic> UpdatedTopic(const google::pubsub::v1::Topic& current,
                                                 const google::pubsub::v1::Topic& change,
                                                 const google::protobuf::FieldMask& mask);

Status CompleteSubscription(google::pubsub::v1::Subscription* subscription);
StatusOr<google::pubsub::v1::Subscription> UpdatedSubscription(
    const google::pubsub::v1::Subscription& current, const google::pubsub::v1::Subscription& change,
    const google::protobuf::FieldMask& mask);

// INVALID_ARGUMENT unless it is what a stream may ask for (10 to 600).
Status CheckStreamAckDeadline(int seconds);
// INVALID_ARGUMENT unless it is 0 to 600.
Status CheckModifiedAckDeadline(int seconds);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_RULES_H_
