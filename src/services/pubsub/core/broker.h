// The rules of topics and subscriptions as a whole: creation, deletion, look-up, and the threads
// that serve them. It knows protos, not gRPC.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_BROKER_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_BROKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "base/status.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/pubsub/v1/pubsub.pb.h"
#include "services/pubsub/core/ack_flusher.h"
#include "services/pubsub/core/committer.h"
#include "services/pubsub/core/dispatcher.h"
#include "services/pubsub/core/subscription.h"
#include "services/pubsub/core/topic.h"
#include "services/pubsub/store/catalog.h"

namespace hornbeam::services::pubsub {

struct BrokerOptions {
  std::string data_dir;
  FileSystem* fs = nullptr;
  Clock* clock = nullptr;
  uint64_t seed = 0;  // of incarnations and attempts
  TopicLogOptions log;
};

// A page of a list, ascending by name.
template <typename T>
struct Page {
  std::vector<T> items;
  std::string next_token;  // "" at the end
};

// Thread-safe. Threads: committer (publishes), ack flusher (acks, deletion of segments), dispatcher
// (waking, leases).
class Broker final : private MessageIdSource {
 public:
  // Creates the data directory when it is missing, and reads what is there.
  static StatusOr<std::unique_ptr<Broker>> Open(BrokerOptions options);
  ~Broker() override;

  StatusOr<google::pubsub::v1::Topic> CreateTopic(google::pubsub::v1::Topic config);
  StatusOr<google::pubsub::v1::Topic> UpdateTopic(const google::pubsub::v1::Topic& change,
                                                  const google::protobuf::FieldMask& mask);
  // Its subscriptions go on delivering what was published before.
  Status DeleteTopic(const std::string& name);
  StatusOr<std::shared_ptr<Topic>> FindTopic(std::string_view name) const;
  StatusOr<Page<google::pubsub::v1::Topic>> ListTopics(const std::string& project, int page_size,
                                                       const std::string& token) const;
  StatusOr<Page<std::string>> ListTopicSubscriptions(const std::string& topic, int page_size,
                                                     const std::string& token) const;

  StatusOr<google::pubsub::v1::Subscription> CreateSubscription(
      google::pubsub::v1::Subscription config);
  StatusOr<google::pubsub::v1::Subscription> UpdateSubscription(
      const google::pubsub::v1::Subscription& change, const google::protobuf::FieldMask& mask);
  Status DeleteSubscription(const std::string& name);
  StatusOr<std::shared_ptr<Subscription>> FindSubscription(std::string_view name) const;
  StatusOr<Page<google::pubsub::v1::Subscription>> ListSubscriptions(
      const std::string& project, int page_size, const std::string& token) const;

  void Publish(const std::shared_ptr<Topic>& topic, std::unique_ptr<PendingPublish> publish) {
    committer_->Publish(topic, std::move(publish));
  }

  std::vector<std::shared_ptr<Topic>> topics() const;
  std::vector<std::shared_ptr<Subscription>> subscriptions() const;
  const Clock& clock() const { return *options_.clock; }
  Dispatcher* dispatcher() { return dispatcher_.get(); }

  // Ends waiting calls and queued publishes with UNAVAILABLE, writes the acks, ends the threads.
  // Idempotent.
  void Shutdown();

 private:
  class LeaseSweep;
  struct TopicEntry {
    Uid uid;
    std::shared_ptr<Topic> topic;
  };
  struct SubscriptionEntry {
    Uid uid;
    std::shared_ptr<Subscription> subscription;
  };

  explicit Broker(BrokerOptions options);
  // Before the broker is shared with any other thread.
  Status Load() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // A directory has a catalog before it has anything else: without one, what is there would be
  // taken for orphans.
  Status MakeFirstCatalog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);
  Status RemoveOrphans() ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);
  StatusOr<uint64_t> Reserve(uint64_t count) override;
  // Writes `changed`, which then is the catalog.
  Status Commit(Catalog changed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);
  // Deletes the log of a deleted topic that no subscription needs any more.
  Status DropUnreferencedTopics(Catalog* catalog, std::vector<Uid>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);
  void RemoveTopicFiles(Uid uid);
  std::string CatalogPath() const;
  std::string TopicDir(Uid uid) const;
  std::string AckPath(Uid uid) const;

  const BrokerOptions options_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<AckFlusher> flusher_;
  std::unique_ptr<Committer> committer_;
  std::shared_ptr<LeaseSweep> sweep_;

  // Puts changes of the catalog in order. It is held while the catalog is written, on purpose: no
  // message waits for it but the one in 16 million whose id needs a new ceiling. Taken before
  // mutex_.
  Mutex admin_mutex_;
  Catalog catalog_ ABSL_GUARDED_BY(admin_mutex_);
  Rng rng_ ABSL_GUARDED_BY(admin_mutex_);
  bool shut_down_ ABSL_GUARDED_BY(admin_mutex_) = false;

  // The committer's own.
  uint64_t next_message_id_ = 0;
  uint64_t message_id_limit_ = 0;

  mutable Mutex mutex_;
  std::map<std::string, TopicEntry, std::less<>> topics_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SubscriptionEntry, std::less<>> subscriptions_ ABSL_GUARDED_BY(mutex_);
  std::map<Uid, std::shared_ptr<Topic>> deleted_topics_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_BROKER_H_
