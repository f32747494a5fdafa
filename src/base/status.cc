#include "base/status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace hornbeam {

Status Annotate(const Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  Status annotated(status.code(), absl::StrCat(prefix, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { annotated.SetPayload(url, payload); });
  return annotated;
}

Status ErrnoStatus(int error, absl::string_view what) {
  return Status(absl::ErrnoToStatusCode(error), absl::StrCat(what, ": ", std::strerror(error)));
}

namespace internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace internal
}  // namespace hornbeam
