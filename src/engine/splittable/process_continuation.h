// What a splittable DoFn says at the end of a call (Beam's ProcessContinuation).
#ifndef HORNBEAM_ENGINE_SPLITTABLE_PROCESS_CONTINUATION_H_
#define HORNBEAM_ENGINE_SPLITTABLE_PROCESS_CONTINUATION_H_

#include "model/time.h"

namespace hornbeam::engine {

class ProcessContinuation {
 public:
  // All of the restriction has been claimed, or TryClaim was false.
  static ProcessContinuation Stop() { return {}; }
  // There is more, but not now: call again for the rest after `delay` of processing time.
  static ProcessContinuation Resume(model::Duration delay = {}) {
    ProcessContinuation resume;
    resume.resumes_ = true;
    resume.delay_ = delay;
    return resume;
  }

  bool resumes() const { return resumes_; }
  model::Duration delay() const { return delay_; }

 private:
  bool resumes_ = false;
  model::Duration delay_{};
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_PROCESS_CONTINUATION_H_
