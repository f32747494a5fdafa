#include "connectors/files/read/files_reader.h"

#include "absl/strings/str_cat.h"
#include "engine/job/job_context.h"
#include "model/coder.h"

namespace hornbeam::connectors {
namespace {

using engine::Polled;
using model::EventTime;

enum RecordKind : char { kAll = 0, kFound = 1, kProgress = 2 };

// Parts go to splits by name and place, so that every split comes to the same sharing on its own.
std::string PartName(const FilePart& part) {
  return absl::StrCat(part.file.path, "\n", part.begin);
}

// In the file, compressed.
int64_t BytesOf(const FilePart& part) {
  return static_cast<int64_t>(std::min(part.end, part.file.size_bytes) -
                              std::min(part.begin, part.file.size_bytes));
}

}  // namespace

Status PartsReader::Open(const engine::ReaderContext& context) {
  context_ = context;
  FileSystem* const fs = context.job->options().fs;
  HB_ASSIGN_OR_RETURN(store_, FileStoreOf(files_.search.pattern, fs));
  // A file that is split is of interest to every split.
  const bool shared = files_.splitting == Splitting::kParts;
  watch_ = std::make_unique<FileWatch>(files_.search, shared ? 0 : context.split,
                                       shared ? 1 : kFileSplits, fs);
  return absl::OkStatus();
}

Status PartsReader::AddParts(const io::FileMetadata& file) {
  HB_ASSIGN_OR_RETURN(const io::Compression compression,
                      io::ResolveCompression(files_.compression, file.path));
  const EventTime found = files_.search.watch ? watch_->watermark() : EventTime::Min();
  FilePart part{file, compression, 0, UINT64_MAX};
  if (files_.splitting == Splitting::kWholeFiles) {
    pending_.push_back({std::move(part), found});
    return absl::OkStatus();
  }
  const uint64_t step =
      compression == io::Compression::kUncompressed ? files_.part_bytes : UINT64_MAX;
  do {
    part.end = file.size_bytes - part.begin > step ? part.begin + step : UINT64_MAX;
    if (model::HashKeyBytes(PartName(part)).high % kFileSplits == context_.split)
      pending_.push_back({part, found});
    part.begin = part.end;
  } while (part.end != UINT64_MAX);
  return absl::OkStatus();
}

Status PartsReader::Look() {
  std::vector<io::FileMetadata> files;
  HB_RETURN_IF_ERROR(watch_->Look(context_.job->Now(), &files));
  for (const io::FileMetadata& file : files) HB_RETURN_IF_ERROR(AddParts(file));
  int64_t bytes = 0;
  for (const Pending& pending : pending_) bytes += BytesOf(pending.part);
  pending_bytes_.store(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

// What is read on from the middle must be what was read up to there.
Status PartsReader::CheckUnchanged(const FilePart& part) const {
  HB_ASSIGN_OR_RETURN(const std::vector<io::FileMetadata> now,
                      store_->List(FilePattern::Literal(part.file.path)));
  if (!now.empty() && now[0].etag == part.file.etag) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", part.file.path, now.empty() ? "' is gone" : "' has changed",
                   " since the job had begun to read it",
                   "; put it back, or start the job with a new state directory"));
}

Status PartsReader::OpenNext() {
  const FilePart& part = pending_.front().part;
  if (!position_.empty()) HB_RETURN_IF_ERROR(CheckUnchanged(part));
  HB_RETURN_IF_ERROR(OpenPart(store_.get(), part, position_));
  position_.clear();
  open_ = true;
  return absl::OkStatus();
}

// Records of the first pending part; null behind its last. After UNAVAILABLE it may be called
// again.
Status PartsReader::ReadPending(size_t max_elements, std::unique_ptr<engine::Batch>* batch) {
  if (!open_) HB_RETURN_IF_ERROR(OpenNext());
  std::string before;
  PutPosition(&before);
  StatusOr<std::unique_ptr<engine::Batch>> read =
      ReadBatch(max_elements, pending_.front().timestamp);
  if (absl::IsUnavailable(read.status())) {
    position_ = std::move(before);
    open_ = false;
  }
  HB_RETURN_IF_ERROR(read.status());
  *batch = *std::move(read);
  return absl::OkStatus();
}

void PartsReader::NextPart() {
  pending_bytes_.fetch_sub(BytesOf(pending_.front().part), std::memory_order_relaxed);
  pending_.pop_front();
  ++passed_;
  open_ = false;
  progressed_ = true;
}

EventTime PartsReader::Watermark() const {
  if (!files_.search.watch) return EventTime::Min();
  return pending_.empty() ? watch_->watermark() : pending_.front().timestamp;
}

StatusOr<Polled> PartsReader::Poll(size_t max_elements) {
  Polled polled;
  polled.state = Polled::State::kFinished;
  if (drained_) return polled;
  if (watch_->IsDue(context_.job->Now())) {
    // A store that is away is asked again at the next time; a bounded read asks at the next poll.
    if (const Status looked = Look(); !looked.ok() && !absl::IsUnavailable(looked)) return looked;
  }
  while (!pending_.empty()) {
    const Status read = ReadPending(max_elements, &polled.batch);
    if (absl::IsUnavailable(read)) {
      polled.state = Polled::State::kNothing;
      polled.watermark = Watermark();
      return polled;
    }
    HB_RETURN_IF_ERROR(read);
    if (polled.batch != nullptr) {
      progressed_ = true;
      polled.state = Polled::State::kData;
      polled.watermark = Watermark();
      return polled;
    }
    NextPart();
  }
  if (!watch_->ended()) polled.state = Polled::State::kNothing;
  polled.watermark = Watermark();
  return polled;
}

void PartsReader::PutPending(std::string* out, size_t from) const {
  PutVarint(out, pending_.size() - from);
  for (size_t i = from; i < pending_.size(); ++i) {
    const auto& [part, timestamp] = pending_[i];
    model::Coder<io::FileMetadata>::Encode(part.file, out);
    out->push_back(static_cast<char>(part.compression));
    PutVarint(out, part.begin);
    PutVarint(out, part.end);
    PutSigned(out, timestamp.us);
  }
}

bool PartsReader::RestorePending(ByteReader& in) {
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    Pending& pending = pending_.emplace_back();
    model::Coder<io::FileMetadata>::Decode(in, &pending.part.file);
    pending.part.compression = static_cast<io::Compression>(in.Byte());
    pending.part.begin = in.Varint();
    pending.part.end = in.Varint();
    pending.timestamp.us = in.Signed();
  }
  return in.ok();
}

void PartsReader::PutProgress(std::string* out) const {
  PutVarint(out, passed_);
  std::string position = position_;
  if (open_) PutPosition(&position);
  PutBytes(out, position);
}

Status PartsReader::OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) {
  if (!recorded_any_) return Rewrite(records);
  if (watch_->has_news()) {
    std::string found(1, kFound);
    watch_->PutNews(&found);
    const size_t unrecorded = static_cast<size_t>(passed_ + pending_.size() - recorded_found_);
    // Parts that came and went within the epoch are in nobody's way.
    PutPending(&found, pending_.size() - std::min(unrecorded, pending_.size()));
    recorded_found_ = passed_ + pending_.size();
    records->Add(false, found);
  }
  if (progressed_) {
    std::string progress(1, kProgress);
    PutProgress(&progress);
    PutVarint(&progress, pending_.size());
    records->Add(false, progress);
    progressed_ = false;
  }
  return absl::OkStatus();
}

Status PartsReader::Rewrite(engine::ReaderRecords* records) {
  std::string all(1, kAll);
  watch_->PutAll(&all);
  PutPending(&all, 0);
  PutProgress(&all);
  records->Add(true, all);
  recorded_any_ = true;
  recorded_found_ = passed_ + pending_.size();
  progressed_ = false;
  return absl::OkStatus();
}

Status PartsReader::Restore(bool replaces, std::string_view payload) {
  ByteReader in(payload);
  const char kind = static_cast<char>(in.Byte());
  bool good = kind >= kAll && kind <= kProgress;
  if (good && kind != kProgress) {
    if (kind == kAll) pending_.clear();
    good = watch_->Restore(in) && RestorePending(in);
  }
  if (good && kind != kFound) {
    passed_ = in.Varint();
    position_.assign(in.Bytes());
    // Of what was pending so many are left.
    if (kind == kProgress) {
      const uint64_t left = in.Varint();
      while (pending_.size() > left) pending_.pop_front();
      good = pending_.size() == left;
    }
  }
  if (!good || !in.ok() || !in.done()) {
    return absl::DataLossError(absl::StrCat("the log holds a malformed position in the files of '",
                                            files_.search.pattern, "'"));
  }
  recorded_any_ = true;
  recorded_found_ = passed_ + pending_.size();
  return absl::OkStatus();
}

engine::Backlog PartsReader::GetBacklog() const {
  engine::Backlog backlog;
  backlog.bytes = std::max<int64_t>(0, pending_bytes_.load(std::memory_order_relaxed));
  return backlog;
}

}  // namespace hornbeam::connectors
