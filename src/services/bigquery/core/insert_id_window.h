// Best-effort deduplication of tabledata.insertAll, by insertId within about a minute.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_INSERT_ID_WINDOW_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_INSERT_ID_WINDOW_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace hornbeam::services::bigquery {

// Thread-safe. An id is remembered for one to two minutes, in memory: two sets that take turns.
class InsertIdWindow {
 public:
  explicit InsertIdWindow(Clock* clock) : clock_(clock) {}

  // True when `id` was not seen for this table in the window; it is from now on.
  bool Add(std::string_view table, std::string_view id);
  // Takes an id back whose row was not written after all.
  void Remove(std::string_view table, std::string_view id);

 private:
  void Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::string Key(std::string_view table, std::string_view id);

  Clock* const clock_;
  Mutex mutex_;
  std::array<absl::flat_hash_set<std::string>, 2> seen_ ABSL_GUARDED_BY(mutex_);
  int64_t minute_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_INSERT_ID_WINDOW_H_
