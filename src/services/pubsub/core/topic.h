// A topic at work: publishes that wait for the disk, the log, and who reads it.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_TOPIC_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_TOPIC_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "google/pubsub/v1/pubsub.pb.h"
#include "services/pubsub/core/ack_flusher.h"
#include "services/pubsub/store/catalog.h"
#include "services/pubsub/store/topic_log.h"

namespace hornbeam::services::pubsub {

// A publish on its way to the disk. Freed after Done.
class PendingPublish {
 public:
  virtual ~PendingPublish() = default;
  // Once, on the committer's thread: the messages are durable, with ids dense from
  // `first_message_id`, or they are not published.
  virtual void Done(const Status& status, uint64_t first_message_id) = 0;

  EncodedMessages messages;
};

// Gives message ids that no other message of the server ever has.
class MessageIdSource {
 public:
  virtual ~MessageIdSource() = default;
  // The first of `count` ids.
  virtual StatusOr<uint64_t> Reserve(uint64_t count) = 0;
};

// A subscription, as its topic sees it.
class TopicReader {
 public:
  virtual ~TopicReader() = default;
  // The topic has grown to `end`. Not under a lock of the topic.
  virtual void OnPublished(Seq end) = 0;
  // Everything below is durably acknowledged.
  virtual Seq DurableFloor() const = 0;
};

// Thread-safe.
class Topic final : public Flushable {
 public:
  Topic(Uid uid, google::pubsub::v1::Topic config, std::unique_ptr<TopicLog> log);

  Uid uid() const { return uid_; }
  google::pubsub::v1::Topic config() const;
  void set_config(google::pubsub::v1::Topic config);
  TopicLog* log() const { return log_.get(); }

  // Queues the publish. True when the topic must be handed to the committer: it was not queued
  // there.
  bool Enqueue(std::unique_ptr<PendingPublish> publish);
  // Writes the queued publishes, some megabytes at a time, and tells publishers and readers. True
  // when there are more. By one thread at a time.
  bool Commit(MessageIdSource* ids, const Clock& clock);
  // Every publish that is queued or comes later fails with `why`.
  void Close(Status why);

  // The reader sees what is published from now on: returns the first seq that it has to deliver.
  Seq AddReader(std::shared_ptr<TopicReader> reader);
  void RemoveReader(const TopicReader* reader);

  // Deletes the segments that all readers are done with. By one thread at a time (the flusher).
  void Flush() override;

  uint64_t published_messages() const {
    return published_messages_.load(std::memory_order_relaxed);
  }
  uint64_t published_bytes() const { return published_bytes_.load(std::memory_order_relaxed); }
  uint64_t publish_requests() const { return publish_requests_.load(std::memory_order_relaxed); }

 private:
  using Readers = std::vector<std::shared_ptr<TopicReader>>;

  const Uid uid_;
  const std::unique_ptr<TopicLog> log_;
  std::atomic<uint64_t> published_messages_{0};
  std::atomic<uint64_t> published_bytes_{0};
  std::atomic<uint64_t> publish_requests_{0};

  mutable Mutex mutex_;
  google::pubsub::v1::Topic config_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<PendingPublish>> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool queued_ ABSL_GUARDED_BY(mutex_) = false;
  Status closed_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Readers> readers_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<Readers>();  // replaced, not changed
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_TOPIC_H_
