#include "connectors/pubsub/reader_mark.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

constexpr std::chrono::seconds kTimeout{5};
constexpr int64_t kHoldsForMinutes = 3;
constexpr int64_t kMinuteUs = 60'000'000;

struct Mark {
  std::string job;
  int64_t until_minute = 0;
};

std::optional<Mark> Parse(const google::pubsub::v1::Subscription& subscription) {
  const auto at = subscription.labels().find(std::string(ReaderMark::kLabel));
  if (at == subscription.labels().end()) return {};
  const std::string& value = at->second;
  const size_t dash = value.rfind('-');
  Mark mark;
  if (dash == std::string::npos || !absl::SimpleAtoi(value.substr(dash + 1), &mark.until_minute)) {
    return {};
  }
  mark.job = value.substr(0, dash);
  return mark;
}

}  // namespace

ReaderMark::ReaderMark(SubscriptionClient* client, std::string_view job)
    : client_(client), job_(JobLabel(job)) {}

std::string ReaderMark::JobLabel(std::string_view job) {
  std::string label(job.substr(0, 40));
  for (char& c : label) {
    c = absl::ascii_tolower(static_cast<unsigned char>(c));
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  }
  return label;
}

std::optional<std::string> ReaderMark::Other(const google::pubsub::v1::Subscription& subscription,
                                             model::ProcessingTime now) const {
  const std::optional<Mark> mark = Parse(subscription);
  if (!mark || mark->job == job_ || mark->until_minute * kMinuteUs < now.us) return {};
  return mark->job;
}

Status ReaderMark::Put(model::ProcessingTime now) {
  HB_ASSIGN_OR_RETURN(google::pubsub::v1::Subscription subscription, client_->Get(kTimeout));
  auto labels = subscription.labels();
  labels[std::string(kLabel)] = absl::StrCat(job_, "-", now.us / kMinuteUs + kHoldsForMinutes);
  HB_RETURN_IF_ERROR(client_->UpdateLabels(labels, kTimeout));
  put_ = true;
  return absl::OkStatus();
}

void ReaderMark::Remove() {
  if (!put_) return;
  put_ = false;
  const StatusOr<google::pubsub::v1::Subscription> subscription = client_->Get(kTimeout);
  if (!subscription.ok()) return;
  const std::optional<Mark> mark = Parse(*subscription);
  if (!mark || mark->job != job_) return;
  auto labels = subscription->labels();
  labels.erase(std::string(kLabel));
  // Where this fails the mark lapses by itself.
  client_->UpdateLabels(labels, kTimeout).IgnoreError();
}

}  // namespace hornbeam::connectors
