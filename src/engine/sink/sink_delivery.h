// Keeps a sink's output until its epoch is sealed, then takes it to the writer, in the order of epochs.
//
// Threads: workers Stage, the coordinator calls OnSealed, one thread of this object (or, in a deterministic run, whoever
// calls Step) talks to the writer, and the worker that reads the answers takes them.
#ifndef HORNBEAM_ENGINE_SINK_SINK_DELIVERY_H_
#define HORNBEAM_ENGINE_SINK_SINK_DELIVERY_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/job/job_context.h"
#include "engine/sink/sink_writer.h"

namespace hornbeam::engine {

class SinkDelivery final : private SinkJournal {
 public:
  // Puts a note of this sink into the job's log; blocks until it is on disk when `sync`.
  using AppendNote = std::function<Status(std::string_view note, bool sync)>;

  // Whether anything in the pipeline reads the elements that the encoder refuses, and the answers. What nobody reads would be
  // lost in silence, so it fails the job.
  struct Readers {
    bool refused = true;
    bool answers = true;
  };
  SinkDelivery(JobContext* job, std::string name, std::unique_ptr<SinkWriter> writer, Readers readers);
  ~SinkDelivery() override;

  // Recovery, before Start and in the order of the log: a note, or a sealed epoch's records of this sink.
  Status RestoreNote(std::string_view note);
  // What a job that begins with this sink's note as another left it has: the answers that are not consumed, and nothing of what was
  // delivered and where. DATA_LOSS for a malformed one.
  static StatusOr<std::string> NoteOfNewJob(std::string_view note);
  Status RestoreRows(EpochId epoch, uint32_t shard, std::string_view framed_rows);

  // Opens the writer (blocking) and, unless the run is deterministic, starts the thread. `on_error` is called once, from the
  // delivery thread, when the job has to fail.
  Status Start(AppendNote append_note, std::function<void(Status)> on_error);
  void Stop();  // ends the thread after the delivery under way; idempotent

  // Worker threads. `framed_rows`: each row with its length in front (PutBytes).
  // Exactly-once: it waits for the seal of `epoch`. At-least-once: it goes to the writer at once.
  void Stage(EpochId epoch, uint32_t shard, int worker, std::string framed_rows);
  // One worker, with `epoch`, has sent all it will ever send.
  void InputFinished(EpochId epoch);

  // Coordinator.
  void OnSealed(EpochId epoch);
  // All that was staged up to and with `epoch` is confirmed by the destination.
  bool ConfirmedThrough(EpochId epoch) const;
  // Every epoch up to this one is delivered: its records are no longer needed in the log.
  EpochId delivered_epoch() const { return delivered_epoch_.load(std::memory_order_acquire); }
  // Of the newest delivery that is confirmed; after recovery what the last note says.
  EpochId newest_epoch() const;
  // The input has finished, all is delivered, and the writer's Finish has returned.
  bool done() const { return done_.load(std::memory_order_acquire); }

  // The answers' reader. Moves what is there into *out; each has a number, ascending from 1.
  struct Answered {
    uint64_t number = 0;
    std::string encoded;
  };
  void TakeAnswers(size_t at_most, std::vector<Answered>* out);
  // Answers up to `number` are consumed by a sealed epoch, or were by an earlier run: they need not be kept.
  void AnswersConsumed(uint64_t number);
  // An earlier run has consumed all of them; what a repeated Finish says again is not needed.
  void AnswersOver();
  void SetAnswersWake(std::function<void()> wake);

  // One delivery on the calling thread; true when there was one. Deterministic runs only.
  StatusOr<bool> Step();

  int64_t rows_delivered() const { return rows_delivered_.load(std::memory_order_relaxed); }
  const std::string& name() const { return name_; }
  bool refused_are_read() const { return readers_.refused; }

 private:
  struct Part {
    int worker = 0;
    std::string framed_rows;
  };
  // Ordered by epoch, then shard: the order of delivery.
  using Parts = std::map<std::pair<EpochId, uint32_t>, std::vector<Part>>;

  Status Save(std::string_view state) override;
  void Remember(std::string_view state) override { state_.assign(state); }
  void Answer(std::string encoded) override;

  Status Run();  // until stopped
  bool HasReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the next delivery that is ready; false when there is none.
  bool TakeReady(std::pair<EpochId, uint32_t>* key, std::vector<Part>* parts);
  // It failed, and comes again ahead of what was staged for the same epoch and shard meanwhile.
  void PutBack(const std::pair<EpochId, uint32_t>& key, std::vector<Part> parts);
  Status Deliver(const std::pair<EpochId, uint32_t>& key, const std::vector<Part>& parts);
  Status WriteNote(bool sync);
  void PublishAnswers();
  void CountAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropKeptAnswers(uint64_t through) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateDelivered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ReadyToFinish();

  JobContext* const job_;
  const std::string name_;
  const std::unique_ptr<SinkWriter> writer_;
  const Readers readers_;
  AppendNote append_note_;
  std::function<void(Status)> on_error_;

  mutable Mutex mutex_;
  CondVar ready_;
  Parts parts_ ABSL_GUARDED_BY(mutex_);
  EpochId deliverable_through_ ABSL_GUARDED_BY(mutex_) = 0;
  int workers_finished_ ABSL_GUARDED_BY(mutex_) = 0;
  EpochId finish_after_ ABSL_GUARDED_BY(mutex_) = 0;  // the epoch that must be sealed before Finish
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Answered> answers_ ABSL_GUARDED_BY(mutex_);   // published, not yet taken by the reader
  // Not yet consumed by a sealed epoch; their bytes count as undelivered.
  std::deque<Answered> kept_answers_ ABSL_GUARDED_BY(mutex_);
  bool answers_counted_ ABSL_GUARDED_BY(mutex_) = false;  // as work under way: the reader has not found answers_ empty yet
  bool answers_over_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_answer_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t published_answers_ ABSL_GUARDED_BY(mutex_) = 0;  // the newest that the reader may see
  std::function<void()> answers_wake_ ABSL_GUARDED_BY(mutex_);
  EpochId delivering_ ABSL_GUARDED_BY(mutex_) = 0;  // the epoch of the delivery under way; 0 when there is none
  std::pair<EpochId, uint32_t> last_ ABSL_GUARDED_BY(mutex_){0, 0};  // the newest delivery that is confirmed

  std::string state_;  // delivery thread: what the writer saved last
  std::vector<std::string> given_answers_;  // delivery thread: since the last note; they go with a delivery that fails
  std::atomic<EpochId> delivered_epoch_{0};
  std::atomic<bool> done_{false};
  std::atomic<int64_t> rows_delivered_{0};
  std::jthread thread_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SINK_SINK_DELIVERY_H_
