#include "services/pubsub/core/topic.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "services/pubsub/core/limits.h"

namespace hornbeam::services::pubsub {
namespace {

// Bounds how long the first of a commit waits for the last.
constexpr uint64_t kMaxCommitBytes = 8u << 20;

}  // namespace

Topic::Topic(Uid uid, google::pubsub::v1::Topic config, std::unique_ptr<TopicLog> log)
    : uid_(uid), log_(std::move(log)), config_(std::move(config)) {}

google::pubsub::v1::Topic Topic::config() const {
  MutexLock lock(&mutex_);
  return config_;
}

void Topic::set_config(google::pubsub::v1::Topic config) {
  MutexLock lock(&mutex_);
  config_ = std::move(config);
}

bool Topic::Enqueue(std::unique_ptr<PendingPublish> publish) {
  Status refused;
  {
    MutexLock lock(&mutex_);
    if (!closed_.ok()) {
      refused = closed_;
    } else if (pending_bytes_ + publish->messages.payload.size() > kMaxPendingPublishBytes) {
      refused = absl::ResourceExhaustedError(absl::StrCat(
          "Publishing to '", config_.name(), "' is faster than the disk: ", pending_bytes_,
          " bytes wait. Publish slower, or retry."));
    } else {
      pending_bytes_ += publish->messages.payload.size();
      pending_.push_back(std::move(publish));
      return !std::exchange(queued_, true);
    }
  }
  publish->Done(refused, 0);
  return false;
}

bool Topic::Commit(MessageIdSource* ids, const Clock& clock) {
  std::vector<std::unique_ptr<PendingPublish>> batch;
  std::vector<const EncodedMessages*> messages;
  uint64_t bytes = 0;
  uint64_t count = 0;
  Status status;
  {
    MutexLock lock(&mutex_);
    while (!pending_.empty() && bytes < kMaxCommitBytes) {
      bytes += pending_.front()->messages.payload.size();
      count += pending_.front()->messages.count;
      messages.push_back(&pending_.front()->messages);
      batch.push_back(std::move(pending_.front()));
      pending_.pop_front();
    }
    status = closed_;
  }
  uint64_t first_id = 0;
  if (status.ok()) {
    StatusOr<uint64_t> reserved = ids->Reserve(count);
    status = reserved.status();
    if (status.ok()) {
      first_id = *reserved;
      status = log_->Append(messages, first_id, clock.NowMicros());
    }
    if (!status.ok())
      LogError(absl::StrCat("a publish of ", count, " messages failed: ", status.message()));
  }
  std::shared_ptr<const Readers> readers;
  bool more = false;
  {
    MutexLock lock(&mutex_);
    pending_bytes_ -= bytes;
    readers = readers_;
    more = queued_ = !pending_.empty();
  }
  if (status.ok()) {
    published_messages_.fetch_add(count, std::memory_order_relaxed);
    published_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    publish_requests_.fetch_add(batch.size(), std::memory_order_relaxed);
    const Seq end = log_->end();
    for (const std::shared_ptr<TopicReader>& reader : *readers) reader->OnPublished(end);
  }
  for (const std::unique_ptr<PendingPublish>& publish : batch) {
    publish->Done(status, first_id);
    first_id += publish->messages.count;
  }
  return more;
}

void Topic::Close(Status why) {
  MutexLock lock(&mutex_);
  closed_ = std::move(why);
}

Seq Topic::AddReader(std::shared_ptr<TopicReader> reader) {
  MutexLock lock(&mutex_);
  auto readers = std::make_shared<Readers>(*readers_);
  readers->push_back(std::move(reader));
  readers_ = std::move(readers);
  return log_->end();
}

void Topic::RemoveReader(const TopicReader* reader) {
  MutexLock lock(&mutex_);
  auto readers = std::make_shared<Readers>();
  for (const std::shared_ptr<TopicReader>& r : *readers_) {
    if (r.get() != reader) readers->push_back(r);
  }
  readers_ = std::move(readers);
}

void Topic::Flush() {
  std::shared_ptr<const Readers> readers;
  Seq done = 0;
  {
    MutexLock lock(&mutex_);
    readers = readers_;
    done = log_->end();  // before another reader can begin behind it
  }
  for (const std::shared_ptr<TopicReader>& reader : *readers)
    done = std::min(done, reader->DurableFloor());
  if (const Status status = log_->DropBelow(done); !status.ok()) {
    LogWarning(
        absl::StrCat("an acknowledged Pub/Sub segment could not be deleted: ", status.message()));
  }
}

}  // namespace hornbeam::services::pubsub
