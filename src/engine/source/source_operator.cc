#include "engine/source/source_operator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/coder.h"

namespace hornbeam::engine {

SourceOperator::~SourceOperator() = default;

Status SourceOperator::Open(const OperatorContext& context, int outputs) {
  HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
  for (uint32_t number = 0; number < splits_; ++number) {
    if (!context.Owns(number)) continue;
    HB_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, new_reader_(number));
    ReaderContext reader_context{context.job, context.name, number, [this] { wake_(); }};
    HB_RETURN_IF_ERROR(reader->Open(reader_context));  // the stage says whose it is
    if (reader->waits_for_quiescence()) context.job->AwaitQuiescence();
    if (reader->acknowledges() && context.job->options().state_dir.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("'", context.name, "' reads what is gone once it is acknowledged, and this job keeps nothing: give the job "
                       "a state directory"));
    }
    Split split;
    split.number = number;
    split.reader = std::move(reader);
    owned_.push_back(std::move(split));
  }
  return absl::OkStatus();
}

Status SourceOperator::Start() {
  for (Split& split : owned_) {
    const Status started = split.over ? split.reader->StartFinished() : split.reader->Start();
    HB_RETURN_IF_ERROR(Annotate(started, absl::StrCat("starting '", context().name, "'")));
    SetCounted(split, !split.finished);
  }
  return absl::OkStatus();
}

void SourceOperator::SetCounted(Split& split, bool counted) {
  if (split.reader->waits_for_quiescence() || split.counted == counted) return;
  split.counted = counted;
  counted ? context().job->BeginWork() : context().job->EndWork();
}

StatusOr<bool> SourceOperator::Poll() {
  for (size_t tried = 0; tried < owned_.size(); ++tried) {
    Split& split = owned_[next_];
    next_ = (next_ + 1) % owned_.size();
    if (split.finished) continue;
    if (split.reader->waits_for_quiescence() && !context().job->quiescent()) continue;
    StatusOr<Polled> result = split.reader->Poll(context().job->options().batch_size);
    if (!result.ok()) return Annotate(result.status(), absl::StrCat("reading '", context().name, "'"));
    Polled& polled = *result;
    const bool has_batch = polled.batch != nullptr && !polled.batch->empty();
    const bool moved = polled.watermark > split.watermark;
    split.watermark = std::max(split.watermark, polled.watermark);
    if (polled.state == Polled::State::kFinished) {
      split.finished = true;
      split.watermark = model::EventTime::Max();
    }
    const bool something = has_batch || moved || split.finished || polled.state == Polled::State::kData;
    // Before the split stops counting: another thread must not see quiescence in between.
    if (something) context().job->BeginWork();
    SetCounted(split, polled.state == Polled::State::kData);
    if (has_batch) {
      OperatorCounters::Add(counters().elements_in, static_cast<int64_t>(polled.batch->size()));
      HB_RETURN_IF_ERROR(output(0).Emit(std::move(polled.batch)));
    }
    if (something) return true;
  }
  return false;
}

model::EventTime SourceOperator::watermark() const {
  model::EventTime least = model::EventTime::Max();
  for (const Split& split : owned_) least = std::min(least, split.watermark);
  return least;
}

bool SourceOperator::finished() const {
  return std::all_of(owned_.begin(), owned_.end(), [](const Split& split) { return split.finished; });
}

void SourceOperator::OnDrain() {
  for (Split& split : owned_) {
    if (!split.over) split.reader->Drain();
  }
}

void SourceOperator::OnSealed(EpochId epoch) {
  for (Split& split : owned_) {
    if (!split.over) split.reader->OnSealed(epoch);
  }
}

Backlog SourceOperator::GetBacklog() const {
  Backlog total;
  const auto add = [](int64_t& sum, int64_t part) {
    if (part >= 0) sum = std::max<int64_t>(sum, 0) + part;
  };
  for (const Split& split : owned_) {
    if (split.over) continue;
    const Backlog backlog = split.reader->GetBacklog();
    add(total.elements, backlog.elements);
    add(total.bytes, backlog.bytes);
    total.oldest_age_ms = std::max(total.oldest_age_ms, backlog.oldest_age_ms);
  }
  return total;
}

Status SourceOperator::OnMarker(EpochId epoch, EpochRecords* records) {
  for (Split& split : owned_) {
    if (split.over) continue;
    ReaderRecords reader_records(records, context().id, split.number);
    HB_RETURN_IF_ERROR(split.reader->OnMarker(epoch, &reader_records));
    if (split.watermark > split.recorded_watermark) RecordWatermark(split, records);
  }
  return absl::OkStatus();
}

void SourceOperator::RecordWatermark(Split& split, EpochRecords* records) {
  split.recorded_watermark = split.watermark;
  model::Coder<model::EventTime>::Encode(split.watermark, records->Begin(watermark_id_, split.number, true));
  records->End();
}

void SourceOperator::RewriteWatermark(UnitKey unit, EpochRecords* records) {
  if (unit.op != watermark_id_) return;
  if (Split* const split = Find(unit.unit)) RecordWatermark(*split, records);
}

// So that what a split puts out is late after a restart if it was before.
Status SourceOperator::RestoreWatermark(uint32_t number, std::string_view payload) {
  Split* const split = Find(number);
  if (split == nullptr) return NoSuchSplit(number);
  ByteReader in(payload);
  if (!model::Coder<model::EventTime>::Decode(in, &split->watermark)) {
    return absl::DataLossError(absl::StrCat("the log holds a malformed watermark of '", context().name, "'"));
  }
  split->recorded_watermark = split->watermark;
  split->finished = split->watermark >= model::EventTime::Max();
  split->over = split->finished;
  return absl::OkStatus();
}

Status SourceOperator::NoSuchSplit(uint32_t number) const {
  return absl::FailedPreconditionError(
      absl::StrCat("the state directory holds a position in part ", number, " of '", context().name,
                   "', which has fewer parts now: start the job with as many workers and inputs as before, or with a new "
                   "state directory"));
}

SourceOperator::Split* SourceOperator::Find(uint32_t number) {
  const auto at = std::find_if(owned_.begin(), owned_.end(), [&](const Split& s) { return s.number == number; });
  return at == owned_.end() ? nullptr : &*at;
}

Status SourceOperator::Restore(uint32_t unit, bool replaces, std::string_view payload) {
  Split* const split = Find(unit);
  if (split == nullptr) return NoSuchSplit(unit);
  return split->reader->Restore(replaces, payload);
}

Status SourceOperator::Rewrite(uint32_t unit, EpochRecords* records) {
  Split* const split = Find(unit);
  if (split == nullptr) return absl::OkStatus();
  ReaderRecords reader_records(records, context().id, unit);
  return split->reader->Rewrite(&reader_records);
}

}  // namespace hornbeam::engine
