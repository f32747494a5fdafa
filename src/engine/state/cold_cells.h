// The cells of one operator that are out of memory, in its worker's ColdStore.
//
// A cell is found by its window and the hash of its key; its bytes are the operator's own. The key in the store is: operator (4
// bytes), window (start, end: 8 each), the hash (high half, low half: 8 each), all big-endian, so that the cells of a (window,
// slice) stand together: the slice is the first byte of the hash. What is in memory too is newer: an operator looks there first.
#ifndef HORNBEAM_ENGINE_STATE_COLD_CELLS_H_
#define HORNBEAM_ENGINE_STATE_COLD_CELLS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "engine/job/job_context.h"
#include "engine/state/cold_store.h"
#include "model/key_hash.h"
#include "model/window.h"

namespace hornbeam::engine {

// Single-threaded, on one worker.
class ColdCells {
 public:
  ColdCells(JobContext* job, int worker, OperatorId op) : job_(job), worker_(worker), op_(op) {}

  // Puts a cell there or replaces it, with the next Flush at the latest.
  Status Put(const model::Window& window, const model::KeyHash& hash, std::string_view cell);
  Status Flush();

  // False where there is none. As the others, REQUIRES that all puts are flushed.
  StatusOr<bool> Get(const model::Window& window, const model::KeyHash& hash, std::string* cell);
  Status Remove(const model::Window& window, const model::KeyHash& hash);
  // All of a (window, slice), in the order of their hashes. `visit` may remove the cell that it is given, and put none.
  Status ForEach(const model::Window& window, uint32_t slice,
                 absl::FunctionRef<Status(const model::KeyHash& hash, std::string_view cell)> visit);
  Status RemoveAll(const model::Window& window, uint32_t slice);

 private:
  std::string PrefixOf(const model::Window& window) const;
  std::string KeyOf(const model::Window& window, const model::KeyHash& hash) const;
  std::string PrefixOf(const model::Window& window, uint32_t slice) const;

  JobContext* const job_;
  const int worker_;
  const OperatorId op_;
  ColdBatch batch_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_COLD_CELLS_H_
