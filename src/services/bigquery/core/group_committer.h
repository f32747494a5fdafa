// Makes appended rows durable, many appends in one transaction: a commit costs milliseconds however
// many rows it has.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_GROUP_COMMITTER_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_GROUP_COMMITTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/store/row_chunk.h"

namespace hornbeam::services::bigquery {

// Why an append was refused, beyond its status code.
enum class AppendRefusal {
  kNone,
  kTableNotFound,
  kStreamNotFound,
  kStreamFinalized,
  kOffsetAlreadyExists,
  kOffsetOutOfRange,
  kSchemaChanged
};

struct AppendOutcome {
  Status status;
  AppendRefusal refusal = AppendRefusal::kNone;
  // Where the first row is; of a stream with offsets only.
  int64_t offset = 0;
};

// The rows of one request: all of them become durable, or none.
struct Append {
  // The version that the chunks were laid out for.
  std::shared_ptr<const Table> table;
  std::vector<RowChunk> chunks;
  int64_t rows = 0;
  // Empty: no stream (the default stream, insertAll).
  std::string stream;
  // What the client expects the stream's next offset to be; none: wherever it is.
  std::optional<int64_t> offset;
  // Called once, on the committer's thread (or by Submit, after Stop), when the rows are on disk or
  // refused. Quick.
  std::function<void(const AppendOutcome&)> done;
};

// Thread-safe. One thread takes all that is waiting and commits it, rows and stream offsets in one
// transaction. Appends are taken in the order of Submit.
class GroupCommitter {
 public:
  explicit GroupCommitter(Catalog* catalog);
  ~GroupCommitter() { Stop(); }

  void Submit(Append append);
  // Submit, and wait for the outcome.
  AppendOutcome SubmitAndWait(Append append);
  // Commits what was submitted and ends the thread. Later appends are refused with UNAVAILABLE.
  // Idempotent.
  void Stop();

  // Since the start, for the metrics.
  int64_t rows_committed() const { return rows_committed_.load(std::memory_order_relaxed); }
  int64_t transactions() const { return transactions_.load(std::memory_order_relaxed); }

 private:
  void Loop();
  void CommitGroup(std::vector<Append>* group);
  // Tries to commit all of `appends` together. Refused ones (offsets, missing tables) get their
  // outcome and do not hinder the rest; an error is of the whole transaction, and then nothing of
  // it is written.
  Status CommitTogether(const std::vector<Append*>& appends, std::vector<AppendOutcome>* outcomes);
  AppendOutcome CheckStream(const Append& append,
                            std::map<std::string, int64_t>* next_offsets) const;

  Catalog* const catalog_;
  Mutex mutex_;
  CondVar wake_;
  std::vector<Append> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> rows_committed_{0};
  std::atomic<int64_t> transactions_{0};
  std::thread thread_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_GROUP_COMMITTER_H_
