// The local Pub/Sub: durable, and wire-compatible with google.pubsub.v1 over gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_PUBSUB_SERVICE_H_
#define HORNBEAM_SERVICES_PUBSUB_PUBSUB_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/status.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace hornbeam::services::pubsub {

class AdminQueue;
class Broker;
class PublisherService;
class SubscriberService;

// What the gRPC server must accept at least: `builder.SetMaxReceiveMessageSize(kMaxReceiveBytes)`.
// gRPC's own default is 4 MiB; a message may have 10 MB.
inline constexpr int kMaxReceiveBytes = 20 << 20;

struct PubSubOptions {
  std::string data_dir;  // created when missing
  FileSystem* fs = FileSystem::Posix();
  Clock* clock = Clock::System();
};

// Thread-safe. Order of ending: Shutdown() (so that streams end), then the gRPC server's
// Shutdown(), then destruction.
class PubSubService {
 public:
  // FAILED_PRECONDITION when another server has the directory, DATA_LOSS when a file in it is
  // damaged.
  static StatusOr<std::unique_ptr<PubSubService>> Open(PubSubOptions options);
  ~PubSubService();

  // Publisher and Subscriber, to be added to a grpc::ServerBuilder. They live as long as this.
  std::vector<grpc::Service*> GrpcServices();

  // Pub/Sub's metrics in Prometheus' text form, under the names that Cloud Monitoring has for them
  // in PromQL.
  std::string PrometheusText() const;

  struct SubscriptionStats {
    std::string name;
    int64_t num_undelivered_messages = 0;  // not acknowledged
    int64_t backlog_bytes = 0;             // of these; an estimate after a restart
    int64_t oldest_unacked_age_ms = 0;
    int open_streams = 0;
  };
  // Reads a little from disk; meant for once a second, not for each message.
  std::vector<SubscriptionStats> Stats() const;

  // Ends streams, waiting calls and queued publishes with UNAVAILABLE, writes the acks, stops the
  // threads. Idempotent.
  void Shutdown();

 private:
  explicit PubSubService(std::unique_ptr<Broker> broker);

  std::unique_ptr<Broker> broker_;
  std::unique_ptr<AdminQueue> admin_;
  std::unique_ptr<PublisherService> publisher_;
  std::unique_ptr<SubscriberService> subscriber_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_PUBSUB_SERVICE_H_
