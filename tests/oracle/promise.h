// What the engine promises about a pipeline's outputs, so that exactly that is compared.
//
// Of one TestStream every pane is promised, as long as the elements of each key come in an order
// of their own and meet the same watermarks. Four things take that away, in Beam as here, and then
// a grouping promises what all its panes together hold, or, accumulating, what the last one holds:
//  - Elements of different origins meet under one key (a Flatten; new keys behind a grouping; new
//    windows behind merging ones, which may end at the same instant): their order depends on
//    workers and batches.
//  - Panes that are late where they are put out (a grouping in front allows lateness): with several
//    workers, the watermark of all of them may or may not have passed when such a pane arrives; and
//    a restart shows holds that were released since the watermark moved last.
//  - A processing-time trigger in front: so it is with a watermark that a firing releases.
//  - A processing-time trigger behind a grouping that fires before the end of its windows, with
//    several workers or a restart: whether the clock or the released watermark moves first.
// With two TestStreams nobody says whose event comes first. So no element may be late in its own, and
// the clock means nothing to what comes of the second.
#ifndef HORNBEAM_TESTS_ORACLE_PROMISE_H_
#define HORNBEAM_TESTS_ORACLE_PROMISE_H_

#include <vector>

#include "base/status.h"
#include "hornbeam/testing/modes.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

enum class Promised {
  kPanes,  // every pane
  kUnion,  // of each key and window, the values of all panes together, or those of the last pane
};

struct Promise {
  enum class Order {
    kTotal,   // all elements come in one order
    kPerKey,  // those of each key do
    kNone,
  };
  Order order = Order::kTotal;
  bool is_steady = true;  // elements meet the same watermarks in all modes
  bool is_prompt = true;  // and the watermark moves at the same steps of the clock
  Promised promised = Promised::kPanes;
};

// Of each step, or INVALID_ARGUMENT for a pipeline of which nothing can be said, as where a
// grouping that promises a union has a trigger that loses data, or windows that merge, or is read
// by another step.
StatusOr<std::vector<Promise>> PromisesOf(const PipelineSpec& spec, const TestMode& mode);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_PROMISE_H_
