#include "connectors/pubsub/pubsub_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"

namespace hornbeam::connectors {
namespace {

constexpr char kGoogle[] = "pubsub.googleapis.com:443";
constexpr uint8_t kStateVersion = 2;
constexpr size_t kPrefetch = 8;
// Between a lease's end and the message's coming again.
constexpr model::Duration kRedeliveryMargin = model::Seconds(2);
// A longer time between two polls was not spent pulling, but waiting for room behind the source.
constexpr model::Duration kLongestPullStep = model::Seconds(2);

Status CheckOptions(const io::PubsubReadOptions& options) {
  const std::vector<std::string> parts = absl::StrSplit(options.subscription, '/');
  if (parts.size() != 4 || parts[0] != "projects" || parts[2] != "subscriptions" ||
      parts[1].empty() || parts[3].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.subscription,
                     "' is not a subscription: write projects/PROJECT/subscriptions/NAME"));
  }
  if (options.lease_seconds < 10 || options.lease_seconds > 30) {
    return absl::InvalidArgumentError(absl::StrCat("lease_seconds is ", options.lease_seconds,
                                                   " for '", options.subscription,
                                                   "'; it must be 10 to 30"));
  }
  if (options.max_outstanding_messages <= 0 || options.max_outstanding_bytes <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_outstanding_messages and max_outstanding_bytes for '",
                     options.subscription, "' must be greater than 0"));
  }
  if (options.watermark.bounded && (options.watermark.bounded->disorder < model::Duration{} ||
                                    options.watermark.bounded->granularity <= model::Duration{})) {
    return absl::InvalidArgumentError(
        absl::StrCat("the watermark of '", options.subscription,
                     "' needs a disorder of at least 0 and a granularity greater than 0"));
  }
  return absl::OkStatus();
}

// The longest that Pub/Sub waits, after a lease's end, until it gives the message again.
model::Duration LongestBackoff(const google::pubsub::v1::Subscription& subscription) {
  const auto duration = [](const auto& backoff) {
    return model::Duration{backoff.seconds() * 1'000'000 + backoff.nanos() / 1000};
  };
  return std::max(duration(subscription.retry_policy().minimum_backoff()),
                  duration(subscription.retry_policy().maximum_backoff()));
}

io::PubsubWatermarkPolicy UsablePolicy(io::PubsubWatermarkPolicy policy) {
  // Open refuses what is not; nothing may be built from it before.
  if (policy.bounded && (policy.bounded->disorder < model::Duration{} ||
                         policy.bounded->granularity <= model::Duration{})) {
    return {};
  }
  return policy;
}

}  // namespace

PubsubReader::PubsubReader(io::PubsubReadOptions options)
    : options_(std::move(options)),
      decoder_(options_.id_attribute, options_.timestamp_attribute),
      watermark_(UsablePolicy(options_.watermark)),
      ledger_(model::Seconds(options_.lease_seconds)) {}

PubsubReader::~PubsubReader() = default;

Status PubsubReader::Open(const engine::ReaderContext& context) {
  context_ = context;
  return CheckOptions(options_);
}

// A record: the version, the lease that this process asks for, the watermark, and the ids that are
// new (or, in a record that replaces all before, all of them).
Status PubsubReader::Restore(bool replaces, std::string_view payload) {
  ByteReader in(payload);
  const uint8_t version = in.Byte();
  if (in.ok() && version != kStateVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the state of '", context_.name, "' has format ", version, ", and this program knows only ",
        kStateVersion, "; run the version of hornbeam that wrote it"));
  }
  if (replaces) recent_ids_.Clear();
  previous_lease_.us = in.Signed();
  if (!watermark_.Restore(&in) || !recent_ids_.Restore(&in) || !in.done()) {
    return absl::DataLossError(
        absl::StrCat("the log holds a malformed record of the source '", context_.name, "'"));
  }
  return absl::OkStatus();
}

Status PubsubReader::Start() {
  const Endpoint endpoint = ResolveEndpoint(options_.endpoint, "PUBSUB_EMULATOR_HOST", kGoogle);
  HB_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, OpenChannel(endpoint));
  client_ = std::make_unique<SubscriptionClient>(options_.subscription, endpoint, channel);
  HB_ASSIGN_OR_RETURN(const google::pubsub::v1::Subscription subscription,
                      client_->Get(std::chrono::seconds(options_.start_timeout_seconds)));
  HB_RETURN_IF_ERROR(CheckSubscription(subscription));

  const model::ProcessingTime now = context_.job->Now();
  if (watermark_.restored()) {
    watermark_.Hold();
    hold_.Begin({previous_lease_.us + LongestBackoff(subscription).us + kRedeliveryMargin.us}, now);
  }
  polled_at_ = now;
  const Clock* const clock = context_.job->options().clock;
  keeper_ = std::make_unique<LeaseKeeper>(client_.get(), &ledger_, mark_.get(), clock,
                                          options_.lease_seconds, context_.wake);
  receiver_ = std::make_unique<MessageReceiver>(options_, client_.get(), &decoder_, &ledger_, clock,
                                                context_.wake);
  keeper_->Start();
  receiver_->Start();
  return absl::OkStatus();
}

Status PubsubReader::CheckSubscription(const google::pubsub::v1::Subscription& subscription) {
  if (!subscription.push_config().push_endpoint().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("subscription '", options_.subscription,
                     "' pushes its messages; a pipeline needs one of type pull"));
  }
  if (subscription.enable_exactly_once_delivery()) {
    LogWarning(absl::StrCat(
        "subscription '", options_.subscription,
        "' has Pub/Sub's exactly-once delivery on, which makes it slower and adds nothing here: "
        "the job itself takes each message once; turn it off"));
  }
  if (!options_.mark_subscription) return absl::OkStatus();
  mark_ = std::make_unique<ReaderMark>(client_.get(), context_.job->options().name);
  const model::ProcessingTime now = context_.job->Now();
  if (const std::optional<std::string> other = mark_->Other(subscription, now)) {
    LogWarning(absl::StrCat(
        "subscription '", options_.subscription, "' is already read by job '", *other,
        "': each of the two gets only part of the messages; give each job its own subscription"));
  }
  if (const Status put = mark_->Put(now); !put.ok()) {
    LogInfo(absl::StrCat("a second job on subscription '", options_.subscription,
                         "' will not be noticed, since the label ", std::string(ReaderMark::kLabel),
                         " cannot be written: ", put.message()));
    mark_.reset();
  }
  return absl::OkStatus();
}

StatusOr<engine::Polled> PubsubReader::Poll(size_t max_elements) {
  engine::Polled polled;
  const model::ProcessingTime now = context_.job->Now();
  if (draining_) {
    polled.watermark = watermark_.Get(now);
    polled.state =
        receiver_->stopped() ? engine::Polled::State::kFinished : engine::Polled::State::kNothing;
    return polled;
  }
  if (waiting_.empty()) {
    receiver_->Take(&waiting_);
    if (waiting_.empty()) HB_RETURN_IF_ERROR(receiver_->error());
  }
  AgeIds(now);
  auto batch = std::make_unique<Messages>();
  if (!waiting_.empty()) {
    const uint64_t before = polled_;
    TakeMessages(max_elements, now, batch.get());
    ledger_.Polled(polled_);
    // Duplicates alone are worth an epoch: they are acknowledged when it is sealed.
    if (polled_ > before) context_.job->NoteActivity();
  }
  const bool messages_can_come = MessagesCanCome();
  if (hold_.Look(now, messages_can_come, ledger_.received(), polled_)) watermark_.Release(now);
  ObserveProgress(now, messages_can_come);
  polled.watermark = watermark_.Get(now);
  if (!batch->empty()) {
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
  }
  return polled;
}

void PubsubReader::TakeMessages(size_t max_elements, model::ProcessingTime now, Messages* batch) {
  const bool deduplicate = exactly_once();
  while (!waiting_.empty() && batch->size() < max_elements) {
    ReceivedMessages& front = waiting_.front();
    batch->Reserve(std::min(max_elements, batch->size() + front.size() - next_in_front_));
    bool cut = false;
    while (!cut && next_in_front_ < front.size() && batch->size() < max_elements) {
      const size_t i = next_in_front_++;
      const uint64_t sequence = polled_++;
      if (deduplicate) {
        if (i + kPrefetch < front.size()) recent_ids_.Prefetch(front.ids[i + kPrefetch]);
        if (!recent_ids_.Insert(front.ids[i], sequence)) {
          duplicates_.fetch_add(1, std::memory_order_relaxed);
          continue;
        }
      }
      if (front.messages[i].timestamp_error.empty()) {
        cut = watermark_.Observe(front.event_times[i], now);
      }
      batch->Append(std::move(front.messages[i]), front.event_times[i], model::Window::Global(),
                    model::PaneInfo::NoFiring());
    }
    if (next_in_front_ == front.size()) {
      waiting_.pop_front();
      next_in_front_ = 0;
    }
    if (cut) return;
  }
}

void PubsubReader::AgeIds(model::ProcessingTime now) {
  const bool pulling = receiver_->pulling();
  if (pulling) {
    pulled_.us += std::clamp<int64_t>((now - polled_at_).us, 0, kLongestPullStep.us);
  }
  polled_at_ = now;
  recent_ids_.Age(pulled_, ledger_.confirmed());
}

bool PubsubReader::MessagesCanCome() const {
  return receiver_->pulling() &&
         ledger_.outstanding() < static_cast<uint64_t>(options_.max_outstanding_messages) &&
         ledger_.outstanding_bytes() < static_cast<uint64_t>(options_.max_outstanding_bytes);
}

void PubsubReader::ObserveProgress(model::ProcessingTime now, bool messages_can_come) {
  if (waiting_.empty()) receiver_->Take(&waiting_);
  if (!waiting_.empty()) {
    model::EventTime oldest = model::EventTime::Max();
    for (const ReceivedMessages& received : waiting_) {
      oldest = std::min(oldest, received.oldest_event);
    }
    watermark_.OnWaiting(oldest);
    return;
  }
  if (messages_can_come) {
    watermark_.OnEmpty(now);
  } else {
    watermark_.OnInterrupted();
  }
}

std::string PubsubReader::Header() const {
  std::string out(1, static_cast<char>(kStateVersion));
  PutSigned(&out, model::Seconds(options_.lease_seconds).us);
  watermark_.Encode(&out);
  return out;
}

Status PubsubReader::OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) {
  ledger_.Mark(epoch);
  const model::EventTime watermark = watermark_.last();
  if (watermark == recorded_watermark_ && !recent_ids_.changed()) return absl::OkStatus();
  recorded_watermark_ = watermark;
  std::string payload = Header();
  recent_ids_.AppendDelta(&payload);
  records->Add(false, payload);
  return absl::OkStatus();
}

Status PubsubReader::Rewrite(engine::ReaderRecords* records) {
  recorded_watermark_ = watermark_.last();
  std::string payload = Header();
  recent_ids_.AppendAll(&payload);
  records->Add(true, payload);
  return absl::OkStatus();
}

void PubsubReader::OnSealed(engine::EpochId epoch) {
  if (ledger_.Seal(epoch)) keeper_->Nudge();
}

void PubsubReader::Drain() {
  if (draining_) return;
  draining_ = true;
  waiting_.clear();
  next_in_front_ = 0;
  receiver_->Stop();
  keeper_->GiveBackUnpolled();
}

engine::Backlog PubsubReader::GetBacklog() const {
  engine::Backlog backlog;
  const model::EventTime oldest = ledger_.oldest();
  if (oldest < model::EventTime::Max()) {
    backlog.oldest_age_ms = std::max<int64_t>(0, context_.job->Now().us - oldest.us) / 1000;
  }
  return backlog;
}

}  // namespace hornbeam::connectors
