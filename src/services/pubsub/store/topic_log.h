// The messages of one topic on disk: segments of blocks (docs/formats/pubsub.md).
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_TOPIC_LOG_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_TOPIC_LOG_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "base/status.h"
#include "services/pubsub/store/run.h"

namespace hornbeam::services::pubsub {

// Messages of one publish, encoded as a block's payload: for each a varint size and its bytes.
struct EncodedMessages {
  std::string payload;
  uint32_t count = 0;
};

struct TopicLogOptions {
  uint64_t segment_bytes = 64u << 20;
  uint64_t block_bytes = 256u << 10;
  uint64_t index_bytes = 64u << 10;  // one index entry for each so many bytes
  uint64_t cache_bytes = 8u << 20;   // of runs kept in memory
};

// Append and DropBelow belong to one thread at a time each; everything else is thread-safe. Files
// are read and written outside the lock.
class TopicLog {
 public:
  // `fs` outlives the log. Creates `dir` when it is missing. DATA_LOSS when a file is damaged.
  static StatusOr<std::unique_ptr<TopicLog>> Open(FileSystem* fs, std::string dir,
                                                  TopicLogOptions options = {});
  ~TopicLog();

  // Makes the messages of `batches` durable, in order, with dense seqs and message ids from
  // `first_message_id`. After an error none of them counts as published, though a crash may bring
  // them back; the next Append starts a new segment behind the last durable block.
  Status Append(absl::Span<const EncodedMessages* const> batches, uint64_t first_message_id,
                int64_t publish_time_us);

  // One past the last durable seq.
  Seq end() const;
  // The oldest seq that is still on disk; end() when there is none.
  Seq begin() const;
  size_t segment_count() const;
  // One past the highest message id found at opening or given since.
  uint64_t end_message_id() const;
  // Bytes of bodies and their framing before `seq`; exact at index entries, in proportion between
  // them.
  uint64_t BytesBefore(Seq seq) const;

  // The run that holds `seq`. REQUIRES: begin() <= seq < end().
  StatusOr<std::shared_ptr<const Run>> Find(Seq seq);

  // Deletes the segments that lie wholly below `seq`; never the newest.
  Status DropBelow(Seq seq);

 private:
  struct IndexEntry {
    Seq first_seq;
    uint64_t offset;        // in the segment
    uint64_t bytes_before;  // in the topic
  };
  struct Segment {
    Seq first_seq = 0;
    Seq end_seq = 0;
    uint64_t size = 0;  // durable bytes
    std::string path;
    std::vector<IndexEntry> index;
    std::shared_ptr<const RandomAccessFile> reader;  // opened at the first read
  };

  TopicLog(FileSystem* fs, std::string dir, TopicLogOptions options);
  // Before the log is shared with any other thread.
  Status Recover() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Status RecoverSegment(Segment* segment, bool is_last,
                        Seq next_first_seq) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Status StartSegment();
  Status WriteCommit(std::string_view bytes, absl::Span<const BlockHeader> headers);
  void IndexBlock(Segment* segment, const BlockHeader& header, uint64_t offset)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CacheRun(std::shared_ptr<const Run> run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string SegmentPath(Seq first_seq) const;

  FileSystem* const fs_;
  const std::string dir_;
  const TopicLogOptions options_;

  // The appender's own.
  std::unique_ptr<WritableFile>
      writer_;  // of the newest segment; null when a new one must be started
  uint64_t writer_size_ = 0;

  mutable Mutex mutex_;
  std::deque<Segment> segments_ ABSL_GUARDED_BY(mutex_);
  Seq end_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t end_message_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t total_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Seq, std::shared_ptr<const Run>> cache_ ABSL_GUARDED_BY(mutex_);  // by first seq
  std::deque<Seq> cache_order_ ABSL_GUARDED_BY(mutex_);                      // oldest first
  uint64_t cached_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_TOPIC_LOG_H_
