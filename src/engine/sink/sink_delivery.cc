#include "engine/sink/sink_delivery.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/log.h"

namespace hornbeam::engine {
namespace {

constexpr auto kFirstBackoff = std::chrono::milliseconds(20);
constexpr auto kLongestBackoff = std::chrono::seconds(5);

// What a writer, or a library below it, throws is an error of the job.
template <typename F>
Status Guarded(F f) {
  try {
    return f();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an exception left the writer: ", error.what()));
  } catch (...) {
    return absl::InternalError("an exception that is not a std::exception left the writer");
  }
}

}  // namespace

SinkDelivery::SinkDelivery(JobContext* job, std::string name, std::unique_ptr<SinkWriter> writer, Readers readers)
    : job_(job), name_(std::move(name)), writer_(std::move(writer)), readers_(readers) {}

SinkDelivery::~SinkDelivery() { Stop(); }

// A note is all that a sink remembers: the last delivery confirmed, the writer's state, and the answers that no sealed
// epoch has consumed. docs/formats/job_log.md has its layout.
Status SinkDelivery::WriteNote(bool sync) {
  // Before anything of it is remembered: the next run comes to the same delivery, and says the same.
  if (!given_answers_.empty() && !readers_.answers) {
    return absl::FailedPreconditionError(
        "the destination refused rows, and nothing in the pipeline reads what it refuses: read it, so that the job can go on "
        "without such rows");
  }
  std::string note;
  {
    MutexLock lock(&mutex_);
    if (answers_over_) given_answers_.clear();
    for (std::string& encoded : given_answers_) {
      job_->AddUndelivered(encoded.size());
      kept_answers_.push_back({next_answer_++, std::move(encoded)});
    }
    given_answers_.clear();
    PutVarint(&note, last_.first);
    PutVarint(&note, last_.second);
    PutVarint(&note, next_answer_);
    PutVarint(&note, kept_answers_.size());
    for (const Answered& answer : kept_answers_) {
      PutVarint(&note, answer.number);
      PutBytes(&note, answer.encoded);
    }
  }
  PutBytes(&note, state_);
  HB_RETURN_IF_ERROR(append_note_(note, sync));
  PublishAnswers();
  return absl::OkStatus();
}

Status SinkDelivery::RestoreNote(std::string_view note) {
  ByteReader in(note);
  MutexLock lock(&mutex_);
  last_.first = in.Varint();
  last_.second = static_cast<uint32_t>(in.Varint());
  next_answer_ = in.Varint();
  DropKeptAnswers(UINT64_MAX);
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    Answered& answer = kept_answers_.emplace_back();
    answer.number = in.Varint();
    answer.encoded.assign(in.Bytes());
    job_->AddUndelivered(answer.encoded.size());
  }
  state_.assign(in.Bytes());
  if (!in.ok()) return absl::DataLossError(absl::StrCat("the log holds a malformed note of sink '", name_, "'"));
  return absl::OkStatus();
}

StatusOr<std::string> SinkDelivery::NoteOfNewJob(std::string_view note) {
  ByteReader in(note);
  in.Varint();
  in.Varint();
  std::string renewed;
  PutVarint(&renewed, 0);
  PutVarint(&renewed, 0);
  PutVarint(&renewed, in.Varint());
  const uint64_t answers = in.Varint();
  PutVarint(&renewed, answers);
  for (uint64_t left = answers; left > 0 && in.ok(); --left) {
    PutVarint(&renewed, in.Varint());
    PutBytes(&renewed, in.Bytes());
  }
  in.Bytes();  // the writer's state
  PutBytes(&renewed, {});
  if (!in.ok() || !in.done()) return absl::DataLossError("the log holds a malformed note of a sink");
  return renewed;
}

Status SinkDelivery::RestoreRows(EpochId epoch, uint32_t shard, std::string_view framed_rows) {
  MutexLock lock(&mutex_);
  std::vector<Part>& parts = parts_[{epoch, shard}];
  parts.push_back({static_cast<int>(parts.size()), std::string(framed_rows)});
  job_->AddUndelivered(framed_rows.size());
  deliverable_through_ = std::max(deliverable_through_, epoch);
  return absl::OkStatus();
}

Status SinkDelivery::Start(AppendNote append_note, std::function<void(Status)> on_error) {
  append_note_ = std::move(append_note);
  on_error_ = std::move(on_error);
  {
    // What the last note says is confirmed came before the crash; the rest is delivered again.
    MutexLock lock(&mutex_);
    while (!parts_.empty() && parts_.begin()->first <= last_) {
      for (const Part& part : parts_.begin()->second) job_->TakeUndelivered(part.framed_rows.size());
      parts_.erase(parts_.begin());
    }
    answers_ = kept_answers_;
    published_answers_ = next_answer_ - 1;
    CountAnswers();
    UpdateDelivered();
  }
  HB_RETURN_IF_ERROR(Annotate(writer_->Open(this, state_), absl::StrCat("opening sink '", name_, "'")));
  if (job_->options().deterministic_seed == 0) {
    thread_ = std::jthread([this] {
      if (Status status = Guarded([this] { return Run(); }); !status.ok()) on_error_(std::move(status));
    });
  }
  return absl::OkStatus();
}

void SinkDelivery::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  ready_.SignalAll();
  if (thread_.joinable()) thread_.join();
}

void SinkDelivery::Stage(EpochId epoch, uint32_t shard, int worker, std::string framed_rows) {
  job_->AddUndelivered(framed_rows.size());
  MutexLock lock(&mutex_);
  std::vector<Part>& parts = parts_[{epoch, shard}];
  // Replay sees the workers' records in this order, so the live order must be the same.
  const auto at = std::upper_bound(parts.begin(), parts.end(), worker,
                                   [](int w, const Part& part) { return w < part.worker; });
  parts.insert(at, {worker, std::move(framed_rows)});
  if (job_->options().mode == ProcessingMode::kAtLeastOnce) ready_.Signal();
}

void SinkDelivery::InputFinished(EpochId epoch) {
  MutexLock lock(&mutex_);
  ++workers_finished_;
  finish_after_ = std::max(finish_after_, epoch);
}

void SinkDelivery::OnSealed(EpochId epoch) {
  MutexLock lock(&mutex_);
  deliverable_through_ = std::max(deliverable_through_, epoch);
  UpdateDelivered();
  ready_.Signal();
}

EpochId SinkDelivery::newest_epoch() const {
  MutexLock lock(&mutex_);
  return last_.first;
}

bool SinkDelivery::ConfirmedThrough(EpochId epoch) const {
  MutexLock lock(&mutex_);
  if (delivering_ != 0 && delivering_ <= epoch) return false;
  return parts_.empty() || parts_.begin()->first.first > epoch;
}

void SinkDelivery::UpdateDelivered() {
  EpochId delivered = deliverable_through_;
  if (delivering_ != 0) delivered = std::min(delivered, delivering_ - 1);
  if (!parts_.empty()) delivered = std::min(delivered, parts_.begin()->first.first - 1);
  delivered_epoch_.store(delivered, std::memory_order_release);
}

bool SinkDelivery::HasReady() const {
  if (parts_.empty()) return false;
  return job_->options().mode == ProcessingMode::kAtLeastOnce || parts_.begin()->first.first <= deliverable_through_;
}

bool SinkDelivery::TakeReady(std::pair<EpochId, uint32_t>* key, std::vector<Part>* parts) {
  MutexLock lock(&mutex_);
  if (!HasReady()) return false;
  *key = parts_.begin()->first;
  *parts = std::move(parts_.begin()->second);
  parts_.erase(parts_.begin());
  delivering_ = key->first;
  return true;
}

void SinkDelivery::PutBack(const std::pair<EpochId, uint32_t>& key, std::vector<Part> parts) {
  MutexLock lock(&mutex_);
  delivering_ = 0;
  std::vector<Part>& again = parts_[key];
  again.insert(again.begin(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
}

bool SinkDelivery::ReadyToFinish() {
  MutexLock lock(&mutex_);
  return !done_ && workers_finished_ == job_->options().workers && parts_.empty() && delivering_ == 0 &&
         deliverable_through_ >= finish_after_;
}

Status SinkDelivery::Deliver(const std::pair<EpochId, uint32_t>& key, const std::vector<Part>& parts) {
  std::vector<std::string_view> rows;
  size_t bytes = 0;
  for (const Part& part : parts) {
    bytes += part.framed_rows.size();
    ByteReader in(part.framed_rows);
    while (!in.done()) rows.push_back(in.Bytes());
    if (!in.ok()) return absl::DataLossError(absl::StrCat("the log holds malformed rows of sink '", name_, "'"));
  }
  if (Status status = Guarded([&] { return writer_->Deliver({key.first, key.second, rows}); }); !status.ok()) {
    given_answers_.clear();  // the delivery comes again, and they with it
    return status;
  }
  job_->Reach(CommitPoint::kRowsDelivered);
  {
    MutexLock lock(&mutex_);
    last_ = std::max(last_, key);  // at-least-once, a worker may have been ahead of another
  }
  // Before the delivery shows: the log drops the rows of what shows, and must not do so while it has no note of their delivery.
  // Not synced: a confirmation that a crash forgets is found out again, since a delivery is idempotent.
  HB_RETURN_IF_ERROR(WriteNote(false));
  job_->Reach(CommitPoint::kDeliveryNoted);
  {
    MutexLock lock(&mutex_);
    delivering_ = 0;
    UpdateDelivered();
  }
  rows_delivered_.fetch_add(static_cast<int64_t>(rows.size()), std::memory_order_relaxed);
  job_->TakeUndelivered(bytes);
  job_->NoteActivity();
  job_->coordinator.Unpark();
  return absl::OkStatus();
}

StatusOr<bool> SinkDelivery::Step() {
  std::pair<EpochId, uint32_t> key;
  std::vector<Part> parts;
  if (TakeReady(&key, &parts)) {
    const Status status = Deliver(key, parts);
    if (absl::IsUnavailable(status)) {
      PutBack(key, std::move(parts));
      return true;
    }
    HB_RETURN_IF_ERROR(Annotate(status, absl::StrCat("sink '", name_, "'")));
    return true;
  }
  if (ReadyToFinish()) {
    HB_RETURN_IF_ERROR(Annotate(Guarded([this] { return writer_->Finish(); }), absl::StrCat("finishing sink '", name_, "'")));
    job_->Reach(CommitPoint::kSinkFinished);
    HB_RETURN_IF_ERROR(WriteNote(false));  // answers may have come of it
    done_.store(true, std::memory_order_release);
    std::function<void()> wake;
    {
      MutexLock lock(&mutex_);
      wake = answers_wake_;
    }
    if (wake) wake();
    job_->coordinator.Unpark();
    return true;
  }
  return false;
}

Status SinkDelivery::Run() {
  std::chrono::microseconds backoff{0};
  std::string last_problem;
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (backoff.count() > 0 && !stopping_) ready_.WaitFor(&mutex_, backoff);
      while (!stopping_ && !HasReady()) {
        if (!done_ && workers_finished_ == job_->options().workers && parts_.empty() &&
            deliverable_through_ >= finish_after_) {
          break;
        }
        ready_.Wait(&mutex_);
      }
      if (stopping_) return absl::OkStatus();
    }
    std::pair<EpochId, uint32_t> key;
    std::vector<Part> parts;
    if (!TakeReady(&key, &parts)) {
      HB_RETURN_IF_ERROR(Step().status());
      continue;
    }
    const Status status = Deliver(key, parts);
    if (status.ok()) {
      backoff = std::chrono::microseconds(0);
      continue;
    }
    if (!absl::IsUnavailable(status)) return Annotate(status, absl::StrCat("sink '", name_, "'"));
    if (last_problem != status.message()) {
      last_problem = std::string(status.message());
      LogWarning(absl::StrCat("sink '", name_, "' is trying again: ", last_problem));
    }
    backoff = std::clamp<std::chrono::microseconds>(backoff * 2, kFirstBackoff, kLongestBackoff);
    PutBack(key, std::move(parts));
  }
}

Status SinkDelivery::Save(std::string_view state) {
  state_.assign(state);
  HB_RETURN_IF_ERROR(WriteNote(true));
  job_->Reach(CommitPoint::kDecisionNoted);
  return absl::OkStatus();
}

void SinkDelivery::Answer(std::string encoded) { given_answers_.push_back(std::move(encoded)); }

// Only what is in the log ahead of any epoch that can consume it.
void SinkDelivery::PublishAnswers() {
  std::function<void()> wake;
  {
    MutexLock lock(&mutex_);
    if (published_answers_ + 1 == next_answer_) return;
    for (const Answered& answer : kept_answers_) {
      if (answer.number > published_answers_) answers_.push_back(answer);
    }
    published_answers_ = next_answer_ - 1;
    CountAnswers();
    wake = answers_wake_;
  }
  if (wake) wake();
}

// Answers that wait for their reader are work under way, and so are those that it took last until it asks again.
void SinkDelivery::CountAnswers() {
  const bool counted = !answers_.empty();
  if (counted == answers_counted_) return;
  answers_counted_ = counted;
  counted ? job_->BeginWork() : job_->EndWork();
}

void SinkDelivery::TakeAnswers(size_t at_most, std::vector<Answered>* out) {
  MutexLock lock(&mutex_);
  CountAnswers();
  while (!answers_.empty() && at_most-- > 0) {
    out->push_back(std::move(answers_.front()));
    answers_.pop_front();
  }
}

void SinkDelivery::AnswersConsumed(uint64_t number) {
  MutexLock lock(&mutex_);
  DropKeptAnswers(number);
  while (!answers_.empty() && answers_.front().number <= number) answers_.pop_front();
}

void SinkDelivery::AnswersOver() {
  MutexLock lock(&mutex_);
  answers_over_ = true;
  DropKeptAnswers(UINT64_MAX);
  answers_.clear();
  CountAnswers();
}

void SinkDelivery::DropKeptAnswers(uint64_t through) {
  while (!kept_answers_.empty() && kept_answers_.front().number <= through) {
    job_->TakeUndelivered(kept_answers_.front().encoded.size());
    kept_answers_.pop_front();
  }
}

void SinkDelivery::SetAnswersWake(std::function<void()> wake) {
  MutexLock lock(&mutex_);
  answers_wake_ = std::move(wake);
}

}  // namespace hornbeam::engine
