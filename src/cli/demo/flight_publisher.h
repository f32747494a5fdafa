// Publishes a replay on a thread of its own, a batch after another.
#ifndef HORNBEAM_CLI_DEMO_FLIGHT_PUBLISHER_H_
#define HORNBEAM_CLI_DEMO_FLIGHT_PUBLISHER_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/status.h"
#include "cli/demo/flight_replay.h"
#include "cli/topic_publisher.h"

namespace hornbeam::cli {

class FlightPublisher {
 public:
  // Begins at once. `replay` and `topic` outlive this. `messages_per_s` 0: as fast as the service
  // takes them.
  FlightPublisher(const FlightReplay* replay, TopicPublisher* topic, int64_t messages_per_s);
  ~FlightPublisher() = default;  // stops after the batch under way

  int64_t published() const { return published_.load(std::memory_order_relaxed); }
  // All is published, or it failed.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // REQUIRES: ended().
  const Status& status() const { return status_; }

 private:
  Status Publish(std::stop_token stop);

  const FlightReplay* const replay_;
  TopicPublisher* const topic_;
  const int64_t messages_per_s_;
  std::atomic<int64_t> published_{0};
  std::atomic<bool> ended_{false};
  Status status_;  // written before ended_
  std::jthread thread_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_FLIGHT_PUBLISHER_H_
