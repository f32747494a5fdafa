#include "services/pubsub/store/topic_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr absl::string_view kSegmentSuffix = ".seg";
constexpr size_t kRecoveryChunkBytes = 4u << 20;

Status Damaged(const std::string& path, uint64_t offset, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "Pub/Sub segment '", path, "' is damaged at byte ", offset, " (", what,
      "): restore it from a copy, or delete the topic's folder to give up its messages"));
}

// Reads a file from front to back in large pieces, keeping what has not been consumed.
class SegmentScanner {
 public:
  explicit SegmentScanner(const RandomAccessFile* file) : file_(file) {}

  uint64_t offset() const { return offset_; }
  std::string_view rest() const { return std::string_view(buffer_).substr(consumed_); }
  void Consume(size_t size) {
    consumed_ += size;
    offset_ += size;
  }
  // Makes at least `size` bytes available, or all that there are.
  Status Fill(size_t size) {
    if (rest().size() >= size) return absl::OkStatus();
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    while (buffer_.size() < size) {
      std::string piece;
      HB_RETURN_IF_ERROR(file_->Read(offset_ + buffer_.size(),
                                     std::max(size - buffer_.size(), kRecoveryChunkBytes), &piece));
      if (piece.empty()) break;
      buffer_ += piece;
    }
    return absl::OkStatus();
  }
  // The next block, intact or not.
  StatusOr<BlockCheck> Next(BlockHeader* header) {
    HB_RETURN_IF_ERROR(Fill(kBlockHeaderBytes));
    if (const BlockCheck check = ParseBlockHeader(rest(), header); check != BlockCheck::kOk)
      return check;
    HB_RETURN_IF_ERROR(Fill(header->total_bytes()));
    return ParseBlock(rest(), header);
  }
  // Whether a commit starts anywhere behind the current place.
  StatusOr<bool> CommitStartsBehind() {
    while (true) {
      HB_RETURN_IF_ERROR(Fill(kRecoveryChunkBytes));
      if (rest().size() <= 1) return false;
      if (HoldsCommitStart(rest().substr(1))) return true;
      if (rest().size() < kBlockHeaderBytes) return false;
      Consume(rest().size() < kRecoveryChunkBytes ? rest().size()
                                                  : rest().size() - kBlockHeaderBytes);
    }
  }

 private:
  const RandomAccessFile* const file_;
  std::string buffer_;
  size_t consumed_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace

TopicLog::TopicLog(FileSystem* fs, std::string dir, TopicLogOptions options)
    : fs_(fs), dir_(std::move(dir)), options_(options) {}

TopicLog::~TopicLog() {
  if (writer_ != nullptr) writer_->Close().IgnoreError();  // what was promised is already synced
}

StatusOr<std::unique_ptr<TopicLog>> TopicLog::Open(FileSystem* fs, std::string dir,
                                                   TopicLogOptions options) {
  HB_RETURN_IF_ERROR(fs->CreateDirectories(dir));
  std::unique_ptr<TopicLog> log(new TopicLog(fs, std::move(dir), options));
  HB_RETURN_IF_ERROR(log->Recover());
  return log;
}

std::string TopicLog::SegmentPath(Seq first_seq) const {
  return absl::StrFormat("%s/%020d%s", dir_, first_seq, kSegmentSuffix);
}

Status TopicLog::Recover() {
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_->List(dir_));
  std::vector<Seq> firsts;
  for (absl::string_view name : names) {
    Seq first = 0;
    if (absl::ConsumeSuffix(&name, kSegmentSuffix) && absl::SimpleAtoi(name, &first))
      firsts.push_back(first);
  }
  std::sort(firsts.begin(), firsts.end());
  for (size_t i = 0; i < firsts.size(); ++i) {
    const bool is_last = i + 1 == firsts.size();
    Segment segment;
    segment.first_seq = firsts[i];
    segment.path = SegmentPath(firsts[i]);
    HB_RETURN_IF_ERROR(RecoverSegment(&segment, is_last, is_last ? 0 : firsts[i + 1]));
    end_ = segment.end_seq;
    segments_.push_back(std::move(segment));
  }
  if (segments_.empty()) return absl::OkStatus();
  Segment& last = segments_.back();
  if (last.size == 0) {
    // Nothing of it was ever durable, not even its header: it is written anew under the same name.
    segments_.pop_back();
    return absl::OkStatus();
  }
  HB_RETURN_IF_ERROR(
      fs_->SyncDirectory(dir_));  // a kill may have come before the segment's name was durable
  HB_ASSIGN_OR_RETURN(writer_, fs_->OpenForAppend(last.path));
  writer_size_ = last.size;
  return absl::OkStatus();
}

Status TopicLog::RecoverSegment(Segment* segment, bool is_last, Seq next_first_seq) {
  HB_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs_->OpenForRead(segment->path));
  HB_ASSIGN_OR_RETURN(const uint64_t file_size, file->Size());
  SegmentScanner scanner(file.get());
  segment->end_seq = segment->first_seq;
  HB_RETURN_IF_ERROR(scanner.Fill(kSegmentHeaderBytes));
  bool intact = CheckSegmentHeader(scanner.rest(), segment->first_seq);
  if (intact) scanner.Consume(kSegmentHeaderBytes);
  uint64_t last_commit = 0;
  while (intact && scanner.offset() < file_size && (is_last || segment->end_seq < next_first_seq)) {
    BlockHeader header;
    HB_ASSIGN_OR_RETURN(const BlockCheck check, scanner.Next(&header));
    intact = check == BlockCheck::kOk && header.first_seq == segment->end_seq;
    if (!intact) break;
    IndexBlock(segment, header, scanner.offset());
    if (header.starts_commit) last_commit = scanner.offset();
    end_message_id_ = std::max(end_message_id_, header.first_message_id + header.message_count);
    scanner.Consume(header.total_bytes());
  }
  const uint64_t good_bytes = scanner.offset();
  if (!is_last) {
    if (segment->end_seq != next_first_seq) {
      return Damaged(segment->path, good_bytes, "its messages do not reach the next segment");
    }
    segment->size = good_bytes;
    return absl::OkStatus();
  }
  if (!intact) {
    HB_ASSIGN_OR_RETURN(const bool was_durable, scanner.CommitStartsBehind());
    if (was_durable) return Damaged(segment->path, good_bytes, "an intact commit follows");
  }
  // A segment whose first commit was torn is as good as none.
  segment->size = segment->index.empty() ? 0 : good_bytes;
  if (segment->size < file_size) HB_RETURN_IF_ERROR(fs_->Truncate(segment->path, segment->size));
  if (segment->size == 0) return absl::OkStatus();
  // The last commit may be readable and yet not on disk (its sync failed, or a kill came first). It
  // counts from now on, so it is made durable, and with the first the file's header. Those before
  // it are, because another commit began after them.
  const bool is_first = last_commit == kSegmentHeaderBytes;
  return fs_->RewriteInPlace(segment->path, is_first ? 0 : last_commit);
}

void TopicLog::IndexBlock(Segment* segment, const BlockHeader& header, uint64_t offset) {
  if (segment->index.empty() || offset - segment->index.back().offset >= options_.index_bytes) {
    segment->index.push_back({header.first_seq, offset, total_bytes_});
  }
  total_bytes_ += header.payload_bytes;
  segment->end_seq = header.end_seq();
}

Status TopicLog::StartSegment() {
  if (writer_ != nullptr) HB_RETURN_IF_ERROR(writer_->Close());
  writer_ = nullptr;
  const Seq first_seq = end();
  std::string path = SegmentPath(first_seq);
  // A file of this name can only hold a failed first commit.
  HB_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs_->Create(path));
  std::string header;
  AppendSegmentHeader(&header, first_seq);
  HB_RETURN_IF_ERROR(file->Append(header));
  HB_RETURN_IF_ERROR(fs_->SyncDirectory(dir_));
  MutexLock lock(&mutex_);
  if (!segments_.empty() && segments_.back().first_seq == first_seq) segments_.pop_back();
  Segment segment;
  segment.first_seq = segment.end_seq = first_seq;
  segment.path = std::move(path);
  segment.size = header.size();
  segments_.push_back(std::move(segment));
  writer_ = std::move(file);
  writer_size_ = header.size();
  return absl::OkStatus();
}

Status TopicLog::Append(absl::Span<const EncodedMessages* const> batches, uint64_t first_message_id,
                        int64_t publish_time_us) {
  if (writer_ == nullptr || writer_size_ >= options_.segment_bytes)
    HB_RETURN_IF_ERROR(StartSegment());
  std::string commit;
  std::string payload;
  std::vector<BlockHeader> headers;
  BlockHeader next;
  next.starts_commit = true;
  next.first_seq = end();
  next.first_message_id = first_message_id;
  next.publish_time_us = publish_time_us;
  const auto close_block = [&] {
    if (next.message_count == 0) return;
    next.payload_bytes = static_cast<uint32_t>(payload.size());
    AppendBlock(&commit, next, payload);
    headers.push_back(next);
    next.starts_commit = false;
    next.first_seq += next.message_count;
    next.first_message_id += next.message_count;
    next.message_count = 0;
    payload.clear();
  };
  for (const EncodedMessages* batch : batches) {
    if (payload.size() + batch->payload.size() > options_.block_bytes) close_block();
    payload += batch->payload;
    next.message_count += batch->count;
  }
  close_block();
  if (headers.empty()) return absl::OkStatus();
  const Status written = WriteCommit(commit, headers);
  if (!written.ok()) {
    // The file's tail is undefined now: leave it. A new segment says by its name where the good
    // part ends.
    writer_->Close().IgnoreError();
    writer_ = nullptr;
  }
  return written;
}

Status TopicLog::WriteCommit(std::string_view bytes, absl::Span<const BlockHeader> headers) {
  HB_RETURN_IF_ERROR(writer_->Append(bytes));
  HB_RETURN_IF_ERROR(writer_->Sync());
  std::vector<std::shared_ptr<const Run>> runs;
  runs.reserve(headers.size());
  uint64_t at = 0;
  for (const BlockHeader& header : headers) {
    runs.push_back(Run::Parse(std::string(bytes.substr(at, header.total_bytes()))));
    at += header.total_bytes();
  }
  MutexLock lock(&mutex_);
  Segment& segment = segments_.back();
  for (size_t i = 0; i < headers.size(); ++i) {
    IndexBlock(&segment, headers[i], segment.size);
    segment.size += headers[i].total_bytes();
    CacheRun(std::move(runs[i]));
  }
  writer_size_ = segment.size;
  end_ = segment.end_seq;
  end_message_id_ = headers.back().first_message_id + headers.back().message_count;
  return absl::OkStatus();
}

void TopicLog::CacheRun(std::shared_ptr<const Run> run) {
  HB_CHECK(run != nullptr);
  const Seq first = run->first_seq();
  std::shared_ptr<const Run>& slot = cache_[first];
  if (slot != nullptr) {
    cached_bytes_ -= slot->memory_bytes();
  } else {
    cache_order_.push_back(first);
  }
  cached_bytes_ += run->memory_bytes();
  slot = std::move(run);
  while (cached_bytes_ > options_.cache_bytes && cache_order_.size() > 1) {
    auto oldest = cache_.find(cache_order_.front());
    cached_bytes_ -= oldest->second->memory_bytes();
    cache_.erase(oldest);
    cache_order_.pop_front();
  }
}

Seq TopicLog::end() const {
  MutexLock lock(&mutex_);
  return end_;
}

Seq TopicLog::begin() const {
  MutexLock lock(&mutex_);
  return segments_.empty() ? end_ : segments_.front().first_seq;
}

size_t TopicLog::segment_count() const {
  MutexLock lock(&mutex_);
  return segments_.size();
}

uint64_t TopicLog::end_message_id() const {
  MutexLock lock(&mutex_);
  return end_message_id_;
}

uint64_t TopicLog::BytesBefore(Seq seq) const {
  MutexLock lock(&mutex_);
  if (seq >= end_) return total_bytes_;
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    if (seq >= segment->end_seq) continue;
    auto next = std::upper_bound(segment->index.begin(), segment->index.end(), seq,
                                 [](Seq s, const IndexEntry& e) { return s < e.first_seq; });
    if (next == segment->index.begin()) return next->bytes_before;
    const IndexEntry& entry = *std::prev(next);
    Seq until_seq = segment->end_seq;
    uint64_t until_bytes = total_bytes_;
    if (next != segment->index.end()) {
      until_seq = next->first_seq;
      until_bytes = next->bytes_before;
    } else if (std::next(segment) != segments_.end() && !std::next(segment)->index.empty()) {
      until_bytes = std::next(segment)->index.front().bytes_before;
    }
    const double share = static_cast<double>(seq - entry.first_seq) /
                         static_cast<double>(until_seq - entry.first_seq);
    return entry.bytes_before +
           static_cast<uint64_t>(share * static_cast<double>(until_bytes - entry.bytes_before));
  }
  return total_bytes_;
}

StatusOr<std::shared_ptr<const Run>> TopicLog::Find(Seq seq) {
  std::shared_ptr<const RandomAccessFile> reader;
  std::string path;
  uint64_t offset = 0;
  uint64_t size = 0;
  {
    MutexLock lock(&mutex_);
    if (auto next = cache_.upper_bound(seq); next != cache_.begin()) {
      const std::shared_ptr<const Run>& run = std::prev(next)->second;
      if (seq < run->end_seq()) return run;
    }
    auto segment = std::upper_bound(segments_.begin(), segments_.end(), seq,
                                    [](Seq s, const Segment& g) { return s < g.first_seq; });
    if (segment == segments_.begin() || seq >= end_) {
      return absl::InternalError(absl::StrCat("message ", seq, " is not in '", dir_, "'"));
    }
    --segment;
    auto next = std::upper_bound(segment->index.begin(), segment->index.end(), seq,
                                 [](Seq s, const IndexEntry& e) { return s < e.first_seq; });
    HB_CHECK(next != segment->index.begin());
    offset = std::prev(next)->offset;
    size = (next == segment->index.end() ? segment->size : next->offset) - offset;
    path = segment->path;
    reader = segment->reader;
  }
  if (reader == nullptr) {
    HB_ASSIGN_OR_RETURN(reader, fs_->OpenForRead(path));
    MutexLock lock(&mutex_);
    for (Segment& segment : segments_) {
      if (segment.path == path) segment.reader = reader;
    }
  }
  std::string bytes;
  HB_RETURN_IF_ERROR(reader->Read(offset, size, &bytes));
  std::shared_ptr<const Run> run = Run::Parse(std::move(bytes));
  if (run == nullptr || seq < run->first_seq() || seq >= run->end_seq()) {
    return Damaged(path, offset, "a block's checksum does not match");
  }
  MutexLock lock(&mutex_);
  CacheRun(run);
  return run;
}

Status TopicLog::DropBelow(Seq seq) {
  std::vector<std::string> dropped;
  {
    MutexLock lock(&mutex_);
    while (segments_.size() > 1 && segments_.front().end_seq <= seq) {
      dropped.push_back(segments_.front().path);
      segments_.pop_front();
    }
  }
  // Oldest first, so that a crash in between leaves no gap.
  for (const std::string& path : dropped) HB_RETURN_IF_ERROR(fs_->Remove(path));
  return absl::OkStatus();
}

}  // namespace hornbeam::services::pubsub
