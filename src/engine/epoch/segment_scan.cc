#include "engine/epoch/segment_scan.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/epoch/epoch_records.h"
#include "engine/epoch/segment_reader.h"

namespace hornbeam::engine {
namespace {

class Scanner {
 public:
  Scanner(SegmentReader* reader, bool last, SegmentVisitor* visitor)
      : reader_(*reader), last_(last), visitor_(visitor) {
    scan_.header = reader->header();
    scan_.header_size = scan_.end = reader->header_size();
    scan_.file_size = reader->file_size();
    scan_.last_sealed = scan_.header.last_sealed;
    scan_.next_note = scan_.header.next_note;
    scan_.first_needed_segment = scan_.header.first_needed_segment;
  }

  StatusOr<SegmentScan> Run() {
    while (true) {
      HB_ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome, reader_.Next());
      if (outcome != SegmentReader::Outcome::kFrame) {
        HB_RETURN_IF_ERROR(CheckEnd(outcome));
        return scan_;
      }
      const FrameHeader& frame = reader_.frame();
      if (frame.synced > frame.offset || frame.synced < scan_.synced) {
        return Damage("a frame contradicts the one before it");
      }
      scan_.synced = frame.synced;
      switch (frame.kind) {
        case FrameKind::kRecords: HB_RETURN_IF_ERROR(OnRecords()); break;
        case FrameKind::kSeal: HB_RETURN_IF_ERROR(OnSeal()); break;
        case FrameKind::kNotes: HB_RETURN_IF_ERROR(OnNotes()); break;
        case FrameKind::kClose: HB_RETURN_IF_ERROR(OnClose()); break;
      }
    }
  }

 private:
  Status DamageAt(uint64_t offset, absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(
        "'", reader_.path(), "' is damaged at offset ", offset, ": ", what,
        "; restore the job's directory from a copy, or start the job in an empty one"));
  }
  Status Damage(absl::string_view what) const { return DamageAt(reader_.frame().offset, what); }

  Status CheckEnd(SegmentReader::Outcome outcome) {
    const uint64_t stopped_at = reader_.position();
    if (!last_) {
      if (outcome == SegmentReader::Outcome::kInvalid) {
        return DamageAt(stopped_at, "no valid frame, though a later segment exists");
      }
      if (scan_.end != stopped_at) {
        return DamageAt(scan_.end, "an epoch without its seal, though a later segment exists");
      }
      return absl::OkStatus();
    }
    if (outcome == SegmentReader::Outcome::kEnd) return absl::OkStatus();
    HB_ASSIGN_OR_RETURN(const uint64_t synced, reader_.SyncedAccordingToTheRest());
    if (synced > stopped_at) {
      return DamageAt(
          stopped_at,
          absl::StrCat("no valid frame, though the file was on disk up to offset ", synced));
    }
    return absl::OkStatus();
  }

  Status OnRecords() {
    const FrameHeader& frame = reader_.frame();
    if (frames_ == 0) epoch_ = frame.number;
    if (epoch_ <= scan_.last_sealed || frame.number != epoch_) {
      return Damage("records of an epoch out of order");
    }
    ++frames_;
    body_bytes_ += frame.body_size;
    RecordReader records(reader_.body());
    RecordView record;
    while (records.Next(&record)) {
      const uint64_t offset = frame.offset + FrameHeader::kBytes + record.offset;
      pending_.push_back({.key = record.key,
                          .epoch = epoch_,
                          .position = {scan_.header.segment, offset},
                          .replaces = record.replaces,
                          .ends = record.replaces && record.payload.empty(),
                          .size_bytes = record.size_bytes});
    }
    if (!records.ok()) return Damage("a record leaves its frame");
    return absl::OkStatus();
  }

  Status OnSeal() {
    const FrameHeader& frame = reader_.frame();
    const std::optional<SealBody> seal = SealBody::Decode(reader_.body());
    if (!seal.has_value()) return Damage("a malformed seal");
    if (frame.number <= scan_.last_sealed || (frames_ > 0 && frame.number != epoch_) ||
        seal->frame_count != frames_ || seal->body_bytes != body_bytes_) {
      return Damage("a seal that does not fit the records before it");
    }
    if (seal->first_needed_segment < scan_.first_needed_segment ||
        seal->first_needed_segment > scan_.header.segment) {
      return Damage("a seal that needs segments which cannot be");
    }
    if (visitor_ != nullptr) {
      for (const RecordSummary& record : pending_) visitor_->OnRecord(record);
    }
    scan_.first_needed_segment = seal->first_needed_segment;
    scan_.last_sealed = frame.number;
    scan_.end = reader_.position();
    pending_.clear();
    frames_ = 0;
    body_bytes_ = 0;
    return absl::OkStatus();
  }

  Status OnNotes() {
    const FrameHeader& frame = reader_.frame();
    const std::optional<NotesBody> notes = NotesBody::Decode(reader_.body());
    if (!notes.has_value()) return Damage("malformed notes");
    if (frames_ > 0 || frame.number != scan_.next_note) return Damage("notes out of order");
    if (visitor_ != nullptr) {
      visitor_->OnNotes(*notes, {scan_.header.segment, frame.offset});
    }
    ++scan_.next_note;
    scan_.end = reader_.position();
    return absl::OkStatus();
  }

  Status OnClose() {
    if (frames_ > 0) return Damage("an orderly end within an epoch");
    scan_.end = reader_.position();
    return absl::OkStatus();
  }

  SegmentReader& reader_;
  const bool last_;
  SegmentVisitor* const visitor_;
  SegmentScan scan_;
  // The epoch whose seal has not come yet.
  EpochId epoch_ = 0;
  uint32_t frames_ = 0;
  uint64_t body_bytes_ = 0;
  std::vector<RecordSummary> pending_;
};

}  // namespace

StatusOr<SegmentScan> ScanSegment(FileSystem* fs, const std::string& path, bool last,
                                  SegmentVisitor* visitor) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader, SegmentReader::Open(fs, path));
  return Scanner(reader.get(), last, visitor).Run();
}

}  // namespace hornbeam::engine
