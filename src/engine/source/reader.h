// The world's side of a source: gives elements, says how far event time has come, and takes back what is sealed.
#ifndef HORNBEAM_ENGINE_SOURCE_READER_H_
#define HORNBEAM_ENGINE_SOURCE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/epoch/epoch_records.h"
#include "model/time.h"

namespace hornbeam::engine {

class JobContext;

// What waits outside, for people and metrics. -1: not known.
struct Backlog {
  int64_t elements = -1;
  int64_t bytes = -1;
  int64_t oldest_age_ms = -1;
};

struct ReaderContext {
  JobContext* job = nullptr;
  std::string name;             // the transform's
  uint32_t split = 0;
  std::function<void()> wake;   // any thread: there may be something to poll
};

struct Polled {
  enum class State {
    kData,      // `batch` is not empty; ask again soon
    kNothing,   // nothing now; the worker may sleep until `wake` is called
    kFinished,  // nothing ever again
  };
  State state = State::kNothing;
  std::unique_ptr<Batch> batch;
  // Nothing older will come after this batch. Never goes back.
  model::EventTime watermark = model::EventTime::Min();
};

// Adds records of one reader to an epoch.
class ReaderRecords {
 public:
  ReaderRecords(EpochRecords* records, OperatorId op, uint32_t split) : records_(records), op_(op), split_(split) {}
  // `replaces`: all that was added before is void.
  void Add(bool replaces, std::string_view payload) { records_->Add(op_, split_, replaces, payload); }

 private:
  EpochRecords* records_;
  OperatorId op_;
  uint32_t split_;
};

// Reads one split of a source. Belongs to one worker and is called from its thread, except where it says otherwise;
// never blocks (what must wait for I/O does so on a thread of its own and calls `wake`).
class Reader {
 public:
  virtual ~Reader() = default;

  // Before anything else; then Restore for each record of an earlier run, then Start, then the rest.
  virtual Status Open(const ReaderContext& context) = 0;
  virtual Status Restore(bool replaces, std::string_view payload) = 0;
  virtual Status Start() { return absl::OkStatus(); }
  // Instead of Start, where the sealed epochs of earlier runs hold all that this reader will ever give: acknowledge again what
  // may not have been. Only Rewrite may be called after it.
  virtual Status StartFinished() { return absl::OkStatus(); }

  // At most `max_elements`. An error fails the job.
  virtual StatusOr<Polled> Poll(size_t max_elements) = 0;

  // The epoch ends between the last Poll and the next: record the position, and what else must outlive a crash.
  virtual Status OnMarker(EpochId epoch, ReaderRecords* records) = 0;
  // The whole state as one record that replaces all before.
  virtual Status Rewrite(ReaderRecords* records) = 0;
  // Any thread. All that was polled before this epoch's marker is durable: acknowledge it.
  virtual void OnSealed(EpochId epoch) {}

  // Take in nothing new, give back what was not polled, and finish.
  virtual void Drain() = 0;
  // Any thread.
  virtual Backlog GetBacklog() const { return {}; }
  // What is sealed is acknowledged to the outside and gone there: only a job that keeps a log may read it.
  virtual bool acknowledges() const { return false; }
  // Polled only when nothing else is under way in the whole job (TestStream).
  virtual bool waits_for_quiescence() const { return false; }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SOURCE_READER_H_
