// The restrictions that a splittable DoFn has to process on one worker, in the order in which their turn comes.
//
// Each is opaque bytes here, belongs to a unit of the operator's state in the job's log and has a number there
// (docs/formats/job_log.md, Restrictions), and holds the watermark. Single-threaded.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_QUEUE_H_
#define HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_QUEUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "engine/operator.h"
#include "engine/progress/holds.h"
#include "model/time.h"

namespace hornbeam::engine {

class RestrictionQueue {
 public:
  // A count and, in the low 8 bits, the unit: so it is no other's wherever the unit goes.
  using Number = uint64_t;
  // The turn of what has not asked for a delay: at once, whatever the clock says.
  static constexpr model::ProcessingTime kAtOnce{INT64_MIN};

  // `unit`: a key slice.
  void Add(uint32_t unit, model::EventTime hold, std::string payload);

  // Takes the turn of the first restriction whose time has come. It keeps its hold; Requeue or Finish follows.
  std::optional<Number> PopDue(model::ProcessingTime now);
  const std::string& payload(Number number) const { return waiting_.at(number).payload; }
  // The rest of it has its turn at `due`, behind those that are there.
  void Requeue(Number number, model::ProcessingTime due, model::EventTime hold, std::string payload);
  void Finish(Number number);
  // Delays are over.
  void MakeAllDue();

  model::ProcessingTime NextDue() const { return turns_.empty() ? model::ProcessingTime::Never() : turns_.begin()->first.first; }
  // One could be processed at once: the job is not quiescent.
  bool has_work() const { return NextDue() == kAtOnce; }
  // The least that is held; Max() without any.
  model::EventTime HeldTime() const { return holds_.Min(); }
  size_t size() const { return waiting_.size(); }

  // Adds what has changed since the last call to the epoch's records of operator `op`.
  void LogChanges(OperatorId op, EpochRecords* records);
  // All of a unit, as one record that replaces all earlier ones.
  void LogAll(OperatorId op, uint32_t unit, EpochRecords* records) const;
  Status Restore(uint32_t unit, bool replaces, std::string_view record);

 private:
  enum class Op : uint8_t { kPut = 1, kRemove = 2 };
  static constexpr int kUnitBits = 8;
  struct Waiting {
    uint32_t unit = 0;
    model::ProcessingTime due = kAtOnce;
    uint64_t turn = 0;  // its place among those due at the same time
    Hold hold;
    std::string payload;
  };

  void Schedule(Number number, Waiting& waiting, model::ProcessingTime due);
  void Erase(std::map<Number, Waiting>::iterator at);
  void LogPut(Number number, const Waiting& waiting, std::string* out) const;

  HoldSet holds_;  // before those that hold
  std::map<Number, Waiting> waiting_;
  std::map<std::pair<model::ProcessingTime, uint64_t>, Number> turns_;
  std::map<uint32_t, std::set<Number>> units_;    // what each has
  std::map<uint32_t, std::set<Number>> changed_;  // to be logged: new, with other content, or gone
  uint64_t last_count_ = 0;
  uint64_t last_turn_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_QUEUE_H_
