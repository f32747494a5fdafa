#include "engine/epoch/committer.h"

#include <algorithm>
#include <utility>

namespace hornbeam::engine {

Committer::Committer(JobLog* log, OnSealed on_sealed, CommitterOptions options)
    : log_(log), on_sealed_(std::move(on_sealed)), options_(options) {
  if (options_.threaded) thread_ = std::jthread([this] { Run(); });
}

Committer::~Committer() { Stop(); }

void Committer::Submit(EpochParts epoch) {
  MutexLock lock(&mutex_);
  while (options_.threaded && !stopping_ && epochs_.size() + sealing_ >= options_.max_queued) {
    progress_.Wait(&mutex_);
  }
  if (stopping_) return;
  epochs_.push_back(std::move(epoch));
  work_.Signal();
}

Status Committer::AppendNote(OperatorId op, uint32_t unit, bool replaces,
                             std::string_view payload, bool sync) {
  const Status stopped = absl::CancelledError("the job is ending: no decision is taken any more");
  if (!options_.threaded) {
    {
      MutexLock lock(&mutex_);
      if (stopping_) return stopped;
    }
    return log_->AppendNote(op, unit, replaces, payload, sync);
  }
  PendingNote note = {op, unit, replaces, payload, sync};
  MutexLock lock(&mutex_);
  if (stopping_) return stopped;
  notes_.push_back(&note);
  work_.Signal();
  while (!note.done) progress_.Wait(&mutex_);
  return note.status;
}

size_t Committer::queued() const {
  MutexLock lock(&mutex_);
  return epochs_.size() + sealing_;
}

void Committer::CommitNow() {
  HB_CHECK(!options_.threaded);
  while (true) {
    EpochParts epoch;
    {
      MutexLock lock(&mutex_);
      if (epochs_.empty()) return;
      epoch = std::move(epochs_.front());
      epochs_.pop_front();
      sealing_ = 1;
    }
    Report(Seal(epoch));
  }
}

void Committer::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    work_.SignalAll();
    progress_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  if (!options_.threaded) CommitNow();
}

void Committer::Run() {
  while (true) {
    std::vector<PendingNote*> notes;
    std::optional<EpochParts> epoch;
    {
      MutexLock lock(&mutex_);
      while (epochs_.empty() && notes_.empty() && !stopping_) work_.Wait(&mutex_);
      if (epochs_.empty() && notes_.empty()) return;
      notes.swap(notes_);
      if (!epochs_.empty()) {
        epoch = std::move(epochs_.front());
        epochs_.pop_front();
        sealing_ = 1;
      }
    }
    Commit(notes, epoch);
  }
}

void Committer::Commit(const std::vector<PendingNote*>& notes,
                       const std::optional<EpochParts>& epoch) {
  std::vector<Status> statuses;
  statuses.reserve(notes.size());
  for (const PendingNote* note : notes) {
    statuses.push_back(
        log_->AppendNote(note->op, note->unit, note->replaces, note->payload, /*sync=*/false));
  }
  StatusOr<EpochId> sealed = EpochId{0};
  if (epoch.has_value()) sealed = Seal(*epoch);
  if (!notes.empty()) {
    // Costs nothing after a seal, which has synced them too.
    const bool sync =
        std::any_of(notes.begin(), notes.end(), [](const PendingNote* note) { return note->sync; });
    const Status synced = sync ? log_->Sync() : absl::OkStatus();
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < notes.size(); ++i) {
      notes[i]->status = statuses[i].ok() ? synced : statuses[i];
      notes[i]->done = true;
    }
    progress_.SignalAll();
  }
  if (epoch.has_value()) Report(std::move(sealed));
}

StatusOr<EpochId> Committer::Seal(const EpochParts& epoch) {
  std::vector<const EpochRecords*> parts;
  parts.reserve(epoch.parts.size());
  for (const EpochRecords& part : epoch.parts) parts.push_back(&part);
  HB_RETURN_IF_ERROR(log_->Seal(epoch.epoch, parts));
  return epoch.epoch;
}

void Committer::Report(StatusOr<EpochId> sealed) {
  {
    MutexLock lock(&mutex_);
    sealing_ = 0;
    progress_.SignalAll();
  }
  on_sealed_(std::move(sealed));
}

}  // namespace hornbeam::engine
