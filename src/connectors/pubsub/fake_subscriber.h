// A Pub/Sub subscription in memory for tests, over real gRPC: gives what it is told, redelivers
// when it is told, and fails on demand.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_FAKE_SUBSCRIBER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_FAKE_SUBSCRIBER_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace hornbeam::connectors {

// Thread-safe. Time does not pass in it: a lease lapses when the test says so.
class FakeSubscriber final : public google::pubsub::v1::Subscriber::Service {
 public:
  static constexpr char kSubscription[] = "projects/p/subscriptions/s";

  FakeSubscriber() {
    config_.set_name(kSubscription);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeSubscriber() override {
    BreakStreams(grpc::Status::CANCELLED);
    {
      MutexLock lock(&mutex_);
      ending_ = true;
    }
    changed_.SignalAll();
    server_->Shutdown();
  }

  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

  void Publish(const std::string& data, std::map<std::string, std::string> attributes = {},
               std::string message_id = "") {
    google::pubsub::v1::PubsubMessage message;
    message.set_data(data);
    for (auto& [name, value] : attributes) (*message.mutable_attributes())[name] = value;
    MutexLock lock(&mutex_);
    message.set_message_id(message_id.empty() ? absl::StrCat("m", ++published_) : message_id);
    message.mutable_publish_time()->set_seconds(1'000'000 + published_);
    ready_.push_back(std::move(message));
    changed_.SignalAll();
  }
  // All leases lapse: what is not acknowledged is given again.
  void Redeliver() {
    MutexLock lock(&mutex_);
    for (auto& [ack_id, message] : leased_) ready_.push_back(message);
    for (auto& [ack_id, message] : leased_) lapsed_[ack_id] = message;
    leased_.clear();
    changed_.SignalAll();
  }
  void BreakStreams(grpc::Status status) {
    MutexLock lock(&mutex_);
    ++generation_;
    break_status_ = status;
    changed_.SignalAll();
  }
  // The next `times` Acknowledge calls fail; with `after_effect` they have done their work.
  void FailAcknowledge(int times, grpc::Status status, bool after_effect) {
    MutexLock lock(&mutex_);
    fail_acks_ = times;
    fail_status_ = status;
    fail_after_effect_ = after_effect;
  }
  // Calls of a client that is to be taken for dead: they do nothing.
  void SetDeaf(bool deaf) {
    MutexLock lock(&mutex_);
    deaf_ = deaf;
  }
  void EditConfig(const std::function<void(google::pubsub::v1::Subscription*)>& edit) {
    MutexLock lock(&mutex_);
    edit(&config_);
  }
  google::pubsub::v1::Subscription config() {
    MutexLock lock(&mutex_);
    return config_;
  }

  std::set<std::string> AckedIds() {
    MutexLock lock(&mutex_);
    return acked_;
  }
  size_t LeasedCount() {
    MutexLock lock(&mutex_);
    return leased_.size();
  }
  int extensions() {
    MutexLock lock(&mutex_);
    return extensions_;
  }
  // Blocks until the condition holds; false after ten seconds. Evaluated under the lock.
  bool WaitFor(const std::function<bool(const FakeSubscriber&)>& condition) {
    MutexLock lock(&mutex_);
    for (int i = 0; i < 1000 && !condition(*this); ++i) {
      changed_.WaitFor(&mutex_, std::chrono::milliseconds(10));
    }
    return condition(*this);
  }
  bool WaitForAcked(size_t count) {
    return WaitFor([&](const FakeSubscriber& fake) { return fake.AckedCountLocked() >= count; });
  }
  bool WaitForNacked(size_t count) {
    return WaitFor([&](const FakeSubscriber& fake) { return fake.NackedCountLocked() >= count; });
  }

  // google.pubsub.v1.Subscriber
  grpc::Status GetSubscription(grpc::ServerContext*,
                               const google::pubsub::v1::GetSubscriptionRequest* request,
                               google::pubsub::v1::Subscription* response) override {
    MutexLock lock(&mutex_);
    if (request->subscription() != config_.name()) {
      return {grpc::StatusCode::NOT_FOUND, "Resource not found"};
    }
    *response = config_;
    return grpc::Status::OK;
  }
  grpc::Status UpdateSubscription(grpc::ServerContext*,
                                  const google::pubsub::v1::UpdateSubscriptionRequest* request,
                                  google::pubsub::v1::Subscription* response) override {
    MutexLock lock(&mutex_);
    *config_.mutable_labels() = request->subscription().labels();
    *response = config_;
    return grpc::Status::OK;
  }
  grpc::Status Acknowledge(grpc::ServerContext*,
                           const google::pubsub::v1::AcknowledgeRequest* request,
                           google::protobuf::Empty*) override {
    MutexLock lock(&mutex_);
    if (deaf_) return {grpc::StatusCode::FAILED_PRECONDITION, "deaf"};
    const bool fails = fail_acks_ > 0;
    if (fails) --fail_acks_;
    if (!fails || fail_after_effect_) {
      for (const std::string& id : request->ack_ids()) {
        const auto at = leased_.find(id);
        if (at == leased_.end()) continue;  // of a lease that lapsed: no effect, as in Pub/Sub
        acked_.insert(at->second.message_id());
        leased_.erase(at);
      }
    }
    changed_.SignalAll();
    return fails ? fail_status_ : grpc::Status::OK;
  }
  grpc::Status ModifyAckDeadline(grpc::ServerContext*,
                                 const google::pubsub::v1::ModifyAckDeadlineRequest* request,
                                 google::protobuf::Empty*) override {
    MutexLock lock(&mutex_);
    if (deaf_) return {grpc::StatusCode::FAILED_PRECONDITION, "deaf"};
    for (const std::string& id : request->ack_ids()) {
      const auto at = leased_.find(id);
      if (at == leased_.end()) continue;
      if (request->ack_deadline_seconds() == 0) {
        ++nacked_;
        given_back_.push_back(at->second);
        leased_.erase(at);
      } else {
        ++extensions_;
      }
    }
    changed_.SignalAll();
    return grpc::Status::OK;
  }
  grpc::Status StreamingPull(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<google::pubsub::v1::StreamingPullResponse,
                               google::pubsub::v1::StreamingPullRequest>* stream) override {
    google::pubsub::v1::StreamingPullRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    uint64_t generation;
    {
      MutexLock lock(&mutex_);
      generation = generation_;
      ++streams_;
      ++open_streams_;
    }
    const grpc::Status status = Give(context, stream, generation);
    MutexLock lock(&mutex_);
    --open_streams_;
    changed_.SignalAll();
    return status;
  }

  size_t AckedCountLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return acked_.size(); }
  size_t NackedCountLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return nacked_; }
  int ExtensionsLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return extensions_; }
  size_t LeasedLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return leased_.size(); }
  int StreamsLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return streams_; }
  int OpenStreamsLocked() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return open_streams_; }

 private:
  using Messages = std::map<std::string, google::pubsub::v1::PubsubMessage>;

  grpc::Status Give(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<google::pubsub::v1::StreamingPullResponse,
                                             google::pubsub::v1::StreamingPullRequest>* stream,
                    uint64_t generation) {
    while (!context->IsCancelled()) {
      google::pubsub::v1::StreamingPullResponse response;
      {
        MutexLock lock(&mutex_);
        if (ready_.empty() && generation == generation_ && !ending_) {
          changed_.WaitFor(&mutex_, std::chrono::milliseconds(10));
        }
        if (generation != generation_ || ending_) return break_status_;
        for (auto& message : ready_) {
          auto* const received = response.add_received_messages();
          received->set_ack_id(absl::StrCat("ack", ++next_ack_));
          *received->mutable_message() = message;
          leased_[received->ack_id()] = message;
        }
        ready_.clear();
      }
      if (response.received_messages_size() > 0 && !stream->Write(response)) break;
    }
    return grpc::Status::CANCELLED;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  CondVar changed_;
  google::pubsub::v1::Subscription config_ ABSL_GUARDED_BY(mutex_);
  std::deque<google::pubsub::v1::PubsubMessage> ready_ ABSL_GUARDED_BY(mutex_);
  Messages leased_ ABSL_GUARDED_BY(mutex_);  // by ack id
  Messages lapsed_ ABSL_GUARDED_BY(mutex_);
  std::vector<google::pubsub::v1::PubsubMessage> given_back_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> acked_ ABSL_GUARDED_BY(mutex_);  // message ids
  size_t nacked_ ABSL_GUARDED_BY(mutex_) = 0;
  int published_ ABSL_GUARDED_BY(mutex_) = 0;
  int next_ack_ ABSL_GUARDED_BY(mutex_) = 0;
  int extensions_ ABSL_GUARDED_BY(mutex_) = 0;
  int streams_ ABSL_GUARDED_BY(mutex_) = 0;
  int open_streams_ ABSL_GUARDED_BY(mutex_) = 0;
  bool deaf_ ABSL_GUARDED_BY(mutex_) = false;
  int fail_acks_ ABSL_GUARDED_BY(mutex_) = 0;
  bool fail_after_effect_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status fail_status_ ABSL_GUARDED_BY(mutex_);
  grpc::Status break_status_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_FAKE_SUBSCRIBER_H_
