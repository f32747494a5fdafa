// The label by which a job shows on a subscription that it reads it, so that a second one notices.
//
// Pub/Sub does not tell who else has a stream open. A label can be written and read with real
// Pub/Sub as well: "hornbeam-reader" = the job's name and the minute (since 1970) until which the
// mark holds. It is renewed while the job runs and lapses by itself after a crash. It is advice,
// not a lock.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_READER_MARK_H_
#define HORNBEAM_CONNECTORS_PUBSUB_READER_MARK_H_

#include <optional>
#include <string>
#include <string_view>

#include "connectors/pubsub/subscription_client.h"
#include "model/time.h"

namespace hornbeam::connectors {

// Calls are made from one thread at a time.
class ReaderMark {
 public:
  static constexpr std::string_view kLabel = "hornbeam-reader";
  static constexpr model::Duration kRenewEvery = model::Minutes(1);

  ReaderMark(SubscriptionClient* client, std::string_view job);

  // The other job whose mark still holds, if there is one. Several runs of one job are one job: its
  // state directory allows only one at a time.
  std::optional<std::string> Other(const google::pubsub::v1::Subscription& subscription,
                                   model::ProcessingTime now) const;
  // Writes the mark. An error means only that others will not be warned.
  Status Put(model::ProcessingTime now);
  // Takes it off, if it is this job's.
  void Remove();

  // The label's value for a job's name: lower case, at most 40 characters, what is not allowed as
  // '_'.
  static std::string JobLabel(std::string_view job);

 private:
  SubscriptionClient* const client_;
  const std::string job_;
  bool put_ = false;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_READER_MARK_H_
