// What a publish must look like, and how its messages are encoded for the store.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_PUBLISH_RULES_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_PUBLISH_RULES_H_

#include "base/status.h"
#include "services/pubsub/store/topic_log.h"

namespace google::pubsub::v1 {
class PublishRequest;
}  // namespace google::pubsub::v1

namespace hornbeam::services::pubsub {

// Checks the request and encodes its messages. message_id and publish_time are left out: the server
// gives them.
StatusOr<EncodedMessages> EncodePublish(const google::pubsub::v1::PublishRequest& request);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_PUBLISH_RULES_H_
