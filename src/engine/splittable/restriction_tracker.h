// What a splittable DoFn claims its work from.
//
// A Tracker is the program's (or OffsetRangeTracker): it knows the restriction of one call and how much of it has been claimed.
//
//   using Restriction; using Position;              // Restriction has a coder
//   explicit Tracker(Restriction restriction);
//   bool TryClaim(const Position& position);        // false: it is not in the restriction, and the call returns
//   std::optional<Restriction> TrySplit(double fraction);   // keeps what has been claimed and that part of the rest; what is cut off
//   Status CheckDone() const;                       // an error while there is something left to claim
//   const Restriction& restriction() const;
//   Progress GetProgress() const;
//
// The DoFn gets it inside a RestrictionTracker, which cuts the rest off once the step has done its share: the next TryClaim is then
// false, and what was cut off goes on later. All of it is on the worker's thread.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_TRACKER_H_
#define HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_TRACKER_H_

#include <optional>
#include <utility>

#include "base/status.h"
#include "engine/splittable/progress.h"
#include "engine/splittable/work_budget.h"

namespace hornbeam::engine {

template <typename Tracker>
class RestrictionTracker {
 public:
  using Restriction = typename Tracker::Restriction;

  // `budget` outlives it.
  RestrictionTracker(Restriction restriction, WorkBudget* budget) : tracker_(std::move(restriction)), budget_(budget) {}

  // True: the position is this call's to process. False: return.
  bool TryClaim(const typename Tracker::Position& position) {
    if (has_claimed_ && !residual_ && budget_->is_spent()) residual_ = tracker_.TrySplit(0);
    if (!tracker_.TryClaim(position)) return false;
    has_claimed_ = true;
    budget_->Spend(1);
    return true;
  }

  const Restriction& restriction() const { return tracker_.restriction(); }
  Progress GetProgress() const { return tracker_.GetProgress(); }

  // For the operator. What was cut off during the call, or, where nothing was and `rest` is asked for, what is left at its end.
  std::optional<Restriction> TakeResidual(bool rest) {
    if (!residual_ && rest) residual_ = tracker_.TrySplit(0);
    return std::exchange(residual_, std::nullopt);
  }
  Status CheckDone() const { return tracker_.CheckDone(); }

 private:
  Tracker tracker_;
  WorkBudget* const budget_;
  bool has_claimed_ = false;  // a call comes forward by one position at least
  std::optional<Restriction> residual_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_RESTRICTION_TRACKER_H_
