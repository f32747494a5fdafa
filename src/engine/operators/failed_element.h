// An element that a DoFn could not process, as its dead letter.
#ifndef HORNBEAM_ENGINE_OPERATORS_FAILED_ELEMENT_H_
#define HORNBEAM_ENGINE_OPERATORS_FAILED_ELEMENT_H_

#include <cstdint>
#include <string>

#include "model/coder.h"
#include "model/time.h"

namespace hornbeam::engine {

// What happens to an element whose DoFn threw JobOptions::attempts times.
enum class FailurePolicy {
  kFail,        // the job fails, with a message that names transform, window and element
  kDeadLetter,  // the element goes to the transform's failed output, and the job goes on
  kRetry,       // it is parked, holding its watermark, and tried again for ever, ever less often; while
                // too much is parked (JobOptions::undelivered_limit_bytes) sources rest
};

struct FailedElement {
  std::string transform;
  std::string error;
  std::string window;
  model::EventTime timestamp;
  std::string element;  // text as it is; what is not text as its coder writes it; empty without a coder
  int64_t attempts = 0;

  friend bool operator==(const FailedElement&, const FailedElement&) = default;
};

HORNBEAM_CODER(FailedElement, transform, error, window, timestamp, element, attempts)

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_FAILED_ELEMENT_H_
