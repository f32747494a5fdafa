#include "cli/demo/flight_publisher.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hornbeam::cli {
namespace {

namespace pb = google::pubsub::v1;

constexpr size_t kBatchMessages = 1000;
constexpr int64_t kBatchesPerSecondAtARate = 20;

// Until `when`, or earlier when asked to stop.
void WaitUntil(std::chrono::steady_clock::time_point when, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock<std::mutex> lock(mutex);
  wake.wait_until(lock, stop, when, [] { return false; });
}

void AddMessage(const ReplayMessage& from, pb::PublishRequest* request) {
  pb::PubsubMessage* message = request->add_messages();
  message->set_data(from.data);
  (*message->mutable_attributes())[kEventIdAttribute] = from.event_id;
  (*message->mutable_attributes())[kEventTimeAttribute] = model::ToString(from.event_time);
}

}  // namespace

FlightPublisher::FlightPublisher(const FlightReplay* replay, TopicPublisher* topic,
                                 int64_t messages_per_s)
    : replay_(replay),
      topic_(topic),
      messages_per_s_(messages_per_s),
      thread_([this](std::stop_token stop) {
        status_ = Publish(stop);
        ended_.store(true, std::memory_order_release);
      }) {}

Status FlightPublisher::Publish(std::stop_token stop) {
  const auto begun = std::chrono::steady_clock::now();
  const size_t batch = messages_per_s_ == 0
                           ? kBatchMessages
                           : static_cast<size_t>(std::clamp<int64_t>(
                                 messages_per_s_ / kBatchesPerSecondAtARate, 1, kBatchMessages));
  pb::PublishRequest request;
  for (size_t next = 0; next < replay_->size();) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    const size_t end = std::min(replay_->size(), next + batch);
    for (; next < end; ++next) AddMessage(replay_->Message(next), &request);
    HB_RETURN_IF_ERROR(topic_->Publish(&request).status());
    published_.store(static_cast<int64_t>(next), std::memory_order_relaxed);
    if (messages_per_s_ > 0) {
      WaitUntil(begun + std::chrono::microseconds(static_cast<int64_t>(next) * 1'000'000 /
                                                  messages_per_s_),
                stop);
    }
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::cli
