// Status and StatusOr for everything that can fail without a bug of ours; see STYLE in CONTRIBUTING.md.
//
// A message says what, where and what to do; each layer adds one phrase in front ("reading job log: ...").
// An error is returned or logged, never both.
#ifndef HORNBEAM_BASE_STATUS_H_
#define HORNBEAM_BASE_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hornbeam {

using absl::Status;
using absl::StatusOr;

// The same error with "prefix: " in front of its message. OK stays OK.
Status Annotate(const Status& status, absl::string_view prefix);

// The status of the last failed system call: "opening 'x': No space left on device".
Status ErrnoStatus(int error, absl::string_view what);

namespace internal {
// A failed HB_CHECK ends the process: it is a bug of ours, never something a pipeline, an RPC or the disk can cause.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace internal

}  // namespace hornbeam

#define HB_CHECK(condition) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::hornbeam::internal::CheckFailed(__FILE__, __LINE__, #condition))

#define HB_RETURN_IF_ERROR(expr)                      \
  do {                                                \
    if (::absl::Status hb_status = (expr); !hb_status.ok()) return hb_status; \
  } while (false)

#define HB_CONCAT_INNER_(a, b) a##b
#define HB_CONCAT_(a, b) HB_CONCAT_INNER_(a, b)
// HB_ASSIGN_OR_RETURN(auto x, F());
#define HB_ASSIGN_OR_RETURN(lhs, expr)                        \
  auto HB_CONCAT_(hb_statusor_, __LINE__) = (expr);           \
  if (!HB_CONCAT_(hb_statusor_, __LINE__).ok()) return std::move(HB_CONCAT_(hb_statusor_, __LINE__)).status(); \
  lhs = *std::move(HB_CONCAT_(hb_statusor_, __LINE__))

#endif  // HORNBEAM_BASE_STATUS_H_
