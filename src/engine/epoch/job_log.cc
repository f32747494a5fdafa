#include "engine/epoch/job_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/epoch/log_format.h"
#include "engine/epoch/segment_reader.h"
#include "engine/epoch/segment_scan.h"

namespace hornbeam::engine {
namespace {

constexpr size_t kMaxJobIdBytes = 1000;

bool Ends(const NotesBody& notes) { return notes.replaces && notes.payloads.empty(); }

}  // namespace

// Rebuilds the index and the filters from what is in the log.
class JobLog::Indexer final : public SegmentVisitor {
 public:
  Indexer(LiveIndex* index, ReplayFilter* live_records, ReplayFilter* live_notes)
      : index_(*index), live_records_(*live_records), live_notes_(*live_notes) {}

  void OnRecord(const RecordSummary& record) override {
    index_.AddRecord(record);
    if (record.replaces) live_records_.Replace(record.key, record.position, record.ends);
  }
  void OnNotes(const NotesBody& notes, LogPosition position) override {
    index_.AddNotes(notes.key, notes.replaces, notes.payloads, position.segment);
    if (notes.replaces) live_notes_.Replace(notes.key, position, Ends(notes));
  }

 private:
  LiveIndex& index_;
  ReplayFilter& live_records_;
  ReplayFilter& live_notes_;
};

StatusOr<std::unique_ptr<JobLog>> JobLog::Open(FileSystem* fs, std::string dir,
                                               JobLogOptions options) {
  if (options.job_id.size() > kMaxJobIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the job's id has ", options.job_id.size(),
                                                   " bytes, and it may have ", kMaxJobIdBytes));
  }
  std::unique_ptr<JobLog> log(new JobLog(fs, std::move(dir), std::move(options)));
  HB_RETURN_IF_ERROR(fs->CreateDirectories(log->dir_));
  StatusOr<std::unique_ptr<FileLock>> lock = fs->Lock(absl::StrCat(log->dir_, "/LOCK"));
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("job '", log->options_.job_id, "' is already running: another process holds '",
                     log->dir_, "'; stop that one first"));
  }
  HB_RETURN_IF_ERROR(lock.status());
  log->lock_ = *std::move(lock);

  HB_ASSIGN_OR_RETURN(std::vector<uint64_t> segments, log->ListSegments());
  if (!segments.empty()) {
    HB_ASSIGN_OR_RETURN(const bool removed, log->RemoveUnusedSegment(segments.back()));
    if (removed) segments.pop_back();
  }
  if (segments.empty()) {
    HB_RETURN_IF_ERROR(log->StartSegment(1));
  } else {
    HB_RETURN_IF_ERROR(log->OpenSegments(segments));
  }
  return log;
}

std::string JobLog::PathOf(uint64_t segment) const {
  return absl::StrCat(dir_, "/", SegmentName(segment));
}

StatusOr<std::vector<uint64_t>> JobLog::ListSegments() const {
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_->List(dir_));
  std::vector<uint64_t> segments;
  for (const std::string& name : names) {
    if (const std::optional<uint64_t> segment = SegmentOfName(name)) segments.push_back(*segment);
  }
  std::sort(segments.begin(), segments.end());
  return segments;
}

// A crash during StartSegment leaves a file without a valid header, in which nothing can have been
// written.
StatusOr<bool> JobLog::RemoveUnusedSegment(uint64_t segment) {
  const std::string path = PathOf(segment);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs_->OpenForRead(path));
  HB_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const SegmentHeader any = {.job_id = options_.job_id};
  if (size > any.Encode().size()) return false;
  const Status valid = SegmentReader::Open(fs_, path).status();
  if (!absl::IsDataLoss(valid)) {
    HB_RETURN_IF_ERROR(valid);
    return false;
  }
  HB_RETURN_IF_ERROR(fs_->Remove(path));
  HB_RETURN_IF_ERROR(fs_->SyncDirectory(dir_));
  return true;
}

Status JobLog::OpenSegments(const std::vector<uint64_t>& segments) {
  segment_ = segments.back();
  // Which segments count is said by the last one.
  HB_ASSIGN_OR_RETURN(SegmentScan last, ScanSegment(fs_, PathOf(segment_), true, nullptr));
  HB_RETURN_IF_ERROR(CheckOwner(last.header, segment_));
  first_needed_segment_ = last.first_needed_segment;

  LiveIndex index;
  std::map<uint64_t, uint64_t> segment_sizes;
  Indexer indexer(&index, &live_records_, &live_notes_);
  std::optional<SegmentScan> previous;
  for (uint64_t segment = first_needed_segment_; segment <= segment_; ++segment) {
    const std::string path = PathOf(segment);
    if (!std::binary_search(segments.begin(), segments.end(), segment)) {
      return absl::DataLossError(absl::StrCat(
          "'", path,
          "' is missing and the job's log needs it; restore the job's directory from a copy"));
    }
    HB_ASSIGN_OR_RETURN(SegmentScan scan, ScanSegment(fs_, path, segment == segment_, &indexer));
    HB_RETURN_IF_ERROR(CheckOwner(scan.header, segment));
    if (previous.has_value() && (scan.header.last_sealed != previous->last_sealed ||
                                 scan.header.next_note != previous->next_note)) {
      return absl::DataLossError(absl::StrCat(
          "'", path, "' is damaged at offset 0: it does not continue the segment before it; ",
          "restore the job's directory from a copy"));
    }
    segment_sizes[segment] = scan.end;
    previous = std::move(scan);
  }
  last = *std::move(previous);
  next_note_ = last.next_note;
  {
    MutexLock lock(&mutex_);
    last_sealed_ = last.last_sealed;
    index_ = std::move(index);
    segment_sizes_ = std::move(segment_sizes);
  }

  const std::string path = PathOf(segment_);
  discarded_tail_bytes_ = last.file_size - last.end;
  if (discarded_tail_bytes_ > 0) HB_RETURN_IF_ERROR(fs_->Truncate(path, last.end));
  HB_RETURN_IF_ERROR(fs_->RewriteInPlace(path, std::min(last.synced, last.end)));
  HB_RETURN_IF_ERROR(fs_->SyncDirectory(dir_));
  for (const uint64_t segment : segments) {
    if (segment < first_needed_segment_) HB_RETURN_IF_ERROR(fs_->Remove(PathOf(segment)));
  }
  HB_ASSIGN_OR_RETURN(writer_, SegmentWriter::Resume(fs_, path, last.header.salt));
  return absl::OkStatus();
}

Status JobLog::CheckOwner(const SegmentHeader& header, uint64_t segment) const {
  if (header.job_id != options_.job_id) {
    return absl::FailedPreconditionError(absl::StrCat("the log in '", dir_, "' is that of job '",
                                                      header.job_id, "', not of '", options_.job_id,
                                                      "'; give this job a directory of its own"));
  }
  if (header.segment != segment || header.first_needed_segment > segment ||
      header.first_needed_segment == 0) {
    return absl::DataLossError(
        absl::StrCat("'", PathOf(segment),
                     "' is damaged at offset 0: it is not the segment that its "
                     "name says; restore the job's directory from a copy"));
  }
  return absl::OkStatus();
}

Status JobLog::StartSegment(uint64_t segment) {
  const SegmentHeader header = {.salt = rng_.Next(),
                                .segment = segment,
                                .last_sealed = last_sealed(),
                                .next_note = next_note_,
                                .first_needed_segment = first_needed_segment_,
                                .job_id = options_.job_id};
  HB_ASSIGN_OR_RETURN(writer_, SegmentWriter::Create(fs_, dir_, header));
  segment_ = segment;
  MutexLock lock(&mutex_);
  segment_sizes_[segment] = writer_->offset();
  return absl::OkStatus();
}

Status JobLog::Recover(ReplayVisitor* visitor) {
  if (written_) {
    return absl::FailedPreconditionError("the job's log is replayed only before it is written to");
  }
  for (uint64_t segment = first_needed_segment_; segment <= segment_; ++segment) {
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader,
                        SegmentReader::Open(fs_, PathOf(segment)));
    while (true) {
      HB_ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome, reader->Next());
      if (outcome == SegmentReader::Outcome::kEnd) break;
      if (outcome == SegmentReader::Outcome::kInvalid) {
        return absl::DataLossError(absl::StrCat("'", reader->path(), "' changed at offset ",
                                                reader->position(), " after it had been verified"));
      }
      const FrameHeader& frame = reader->frame();
      if (frame.kind == FrameKind::kRecords) {
        RecordReader records(reader->body());
        RecordView record;
        while (records.Next(&record)) {
          const uint64_t offset = frame.offset + FrameHeader::kBytes + record.offset;
          if (!live_records_.IsLive(record.key, {segment, offset})) continue;
          HB_RETURN_IF_ERROR(visitor->OnRecord(frame.number, record.key.op, record.key.unit,
                                               record.replaces, record.payload));
        }
      } else if (frame.kind == FrameKind::kNotes) {
        const std::optional<NotesBody> notes = NotesBody::Decode(reader->body());
        if (!notes.has_value() || !live_notes_.IsLive(notes->key, {segment, frame.offset}))
          continue;
        bool replaces = notes->replaces;
        for (const std::string_view payload : notes->payloads) {
          HB_RETURN_IF_ERROR(visitor->OnNote(notes->key.op, notes->key.unit, replaces, payload));
          replaces = false;
        }
      }
    }
  }
  return absl::OkStatus();
}

Status JobLog::Seal(EpochId epoch, std::span<const EpochRecords* const> parts) {
  HB_RETURN_IF_ERROR(Usable());
  if (epoch <= last_sealed()) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", epoch, " cannot follow epoch ", last_sealed()));
  }
  for (const EpochRecords* part : parts) HB_RETURN_IF_ERROR(part->status());
  const Status status = WriteEpoch(epoch, parts);
  return status.ok() ? status : Failed(status, absl::StrCat("sealing epoch ", epoch));
}

Status JobLog::WriteEpoch(EpochId epoch, std::span<const EpochRecords* const> parts) {
  HB_RETURN_IF_ERROR(RollWhenFull());
  HB_RETURN_IF_ERROR(CarryNotes());
  summaries_.clear();
  SealBody seal;
  for (const EpochRecords* part : parts) HB_RETURN_IF_ERROR(WritePart(epoch, *part, &seal));
  {
    // The records are true together with the seal, so it may already count on them.
    MutexLock lock(&mutex_);
    for (const RecordSummary& record : summaries_) index_.AddRecord(record);
    seal.first_needed_segment =
        std::max(first_needed_segment_, index_.FirstNeededSegment(segment_));
  }
  HB_RETURN_IF_ERROR(writer_->Append(FrameKind::kSeal, epoch, seal.Encode()));
  HB_RETURN_IF_ERROR(writer_->Sync());
  first_needed_segment_ = seal.first_needed_segment;
  {
    MutexLock lock(&mutex_);
    last_sealed_ = epoch;
    segment_sizes_[segment_] = writer_->offset();
  }
  return RemoveUnneeded();
}

Status JobLog::WritePart(EpochId epoch, const EpochRecords& part, SealBody* seal) {
  const std::string_view bytes = part.bytes();
  size_t frame_start = 0;
  const auto write_frame = [&](size_t end) -> Status {
    const std::string_view body = bytes.substr(frame_start, end - frame_start);
    ++seal->frame_count;
    seal->body_bytes += body.size();
    frame_start = end;
    return writer_->Append(FrameKind::kRecords, epoch, body);
  };
  RecordReader records(bytes);
  RecordView record;
  while (records.Next(&record)) {
    if (record.offset > frame_start &&
        record.offset + record.size_bytes - frame_start > options_.frame_bytes) {
      HB_RETURN_IF_ERROR(write_frame(record.offset));
    }
    const uint64_t offset = writer_->offset() + FrameHeader::kBytes + (record.offset - frame_start);
    summaries_.push_back({.key = record.key,
                          .epoch = epoch,
                          .position = {segment_, offset},
                          .replaces = record.replaces,
                          .ends = record.replaces && record.payload.empty(),
                          .size_bytes = record.size_bytes});
  }
  HB_CHECK(records.ok());
  return bytes.empty() ? absl::OkStatus() : write_frame(bytes.size());
}

Status JobLog::AppendNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload,
                          bool sync) {
  HB_RETURN_IF_ERROR(Usable());
  if (payload.size() > EpochRecords::kMaxPayloadBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a note of ", payload.size(), " bytes; one may have ", EpochRecords::kMaxPayloadBytes));
  }
  Status status = RollWhenFull();
  if (status.ok()) {
    NotesBody notes = {.key = {op, unit}, .replaces = replaces, .payloads = {}};
    if (!replaces || !payload.empty()) notes.payloads.push_back(payload);
    status = WriteNotes(notes);
  }
  if (status.ok() && sync) status = writer_->Sync();
  return status.ok() ? status
                     : Failed(status, absl::StrCat("noting a decision of operator ",
                                                   static_cast<uint32_t>(op)));
}

Status JobLog::WriteNotes(const NotesBody& notes) {
  HB_RETURN_IF_ERROR(writer_->Append(FrameKind::kNotes, next_note_, notes.Encode()));
  ++next_note_;
  MutexLock lock(&mutex_);
  index_.AddNotes(notes.key, notes.replaces, notes.payloads, segment_);
  segment_sizes_[segment_] = writer_->offset();
  return absl::OkStatus();
}

Status JobLog::Sync() {
  HB_RETURN_IF_ERROR(Usable());
  const Status status = writer_->Sync();
  return status.ok() ? status : Failed(status, "syncing");
}

Status JobLog::Close() {
  HB_RETURN_IF_ERROR(Sync());
  Status status = writer_->Append(FrameKind::kClose, 0, "");
  if (status.ok()) status = writer_->Sync();
  if (status.ok()) status = writer_->Close();
  failure_ = absl::FailedPreconditionError("the job's log is closed");
  lock_.reset();
  return status;
}

Status JobLog::RollWhenFull() {
  if (!written_) {
    written_ = true;
    live_records_.Clear();
    live_notes_.Clear();
  }
  if (writer_->offset() < options_.segment_bytes) return absl::OkStatus();
  // The successor vouches for all of this one.
  HB_RETURN_IF_ERROR(writer_->Sync());
  HB_RETURN_IF_ERROR(writer_->Close());
  return StartSegment(segment_ + 1);
}

// Units are written again by their operators (UnitsToRewrite), notes by the log itself.
Status JobLog::CarryNotes() {
  std::vector<LiveIndex::LiveNotes> to_carry;
  {
    MutexLock lock(&mutex_);
    const uint64_t oldest = index_.FirstNeededSegment(segment_);
    if (!WantsRewriting() || oldest == segment_) return absl::OkStatus();
    to_carry = index_.NotesIn(oldest);
  }
  for (const LiveIndex::LiveNotes& notes : to_carry) {
    HB_RETURN_IF_ERROR(
        WriteNotes({notes.key, true, {notes.payloads.begin(), notes.payloads.end()}}));
  }
  return absl::OkStatus();
}

Status JobLog::RemoveUnneeded() {
  std::vector<uint64_t> unneeded;
  {
    MutexLock lock(&mutex_);
    for (const auto& [segment, size] : segment_sizes_) {
      if (segment < first_needed_segment_) unneeded.push_back(segment);
    }
  }
  for (const uint64_t segment : unneeded) {
    // One that will not go is tried again after the next seal, and at opening.
    const Status status = fs_->Remove(PathOf(segment));
    if (!status.ok() && !absl::IsNotFound(status)) continue;
    MutexLock lock(&mutex_);
    segment_sizes_.erase(segment);
  }
  return absl::OkStatus();
}

Status JobLog::Usable() const { return failure_; }

Status JobLog::Failed(const Status& error, absl::string_view doing) {
  const absl::string_view advice =
      absl::IsResourceExhausted(error) ? "free space on that disk" : "check that disk";
  failure_ = Status(error.code(),
                    absl::StrCat(doing, ": ", error.message(), "; everything up to epoch ",
                                 last_sealed(), " is safe: ", advice, " and start the job again"));
  return failure_;
}

EpochId JobLog::last_sealed() const {
  MutexLock lock(&mutex_);
  return last_sealed_;
}

void JobLog::RetainFrom(OperatorId op, EpochId epoch) {
  MutexLock lock(&mutex_);
  index_.RetainFrom(op, epoch);
}

bool JobLog::WantsRewriting() const {
  return SizeLocked() > std::max(options_.rewrite_above_bytes, 2 * index_.compact_bytes());
}

std::vector<UnitKey> JobLog::UnitsToRewrite(size_t budget_bytes) const {
  MutexLock lock(&mutex_);
  if (!WantsRewriting() || segment_sizes_.empty()) return {};
  return index_.OldestUnits(segment_sizes_.rbegin()->first, budget_bytes);
}

uint64_t JobLog::SizeLocked() const {
  uint64_t size = 0;
  for (const auto& [segment, segment_size] : segment_sizes_) size += segment_size;
  return size;
}

uint64_t JobLog::size_bytes() const {
  MutexLock lock(&mutex_);
  return SizeLocked();
}

uint64_t JobLog::live_bytes() const {
  MutexLock lock(&mutex_);
  return index_.live_bytes();
}

}  // namespace hornbeam::engine
