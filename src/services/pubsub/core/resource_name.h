// The names of topics, subscriptions and projects.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_NAME_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_NAME_H_

#include <string_view>

#include "base/status.h"

namespace hornbeam::services::pubsub {

// What a deleted topic's subscriptions say their topic is.
inline constexpr std::string_view kDeletedTopic = "_deleted-topic_";

// INVALID_ARGUMENT unless `name` is projects/P/topics/T. T: 3 to 255 characters of letters, digits
// and -_.~+%, beginning with a letter, not with "goog".
Status CheckTopicName(std::string_view name);
// The same with /subscriptions/.
Status CheckSubscriptionName(std::string_view name);
// projects/P.
Status CheckProjectName(std::string_view name);

// The last part of a name, "" when there is none.
std::string_view ShortName(std::string_view name);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_RESOURCE_NAME_H_
