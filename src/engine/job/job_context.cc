#include "engine/job/job_context.h"

#include "absl/strings/str_cat.h"

namespace hornbeam::engine {
namespace {

// The part of the budget for state that cold stores may take for themselves.
constexpr size_t kColdStorePart = 8;

}  // namespace

StatusOr<ColdStore*> JobContext::ColdStoreOf(int worker) {
  std::unique_ptr<ColdStore>& store = cold_stores_[static_cast<size_t>(worker)];
  if (store == nullptr) {
    StatusOr<std::unique_ptr<ColdStore>> opened =
        options_.new_cold_store
            ? options_.new_cold_store(worker)
            : OpenRocksColdStore(absl::StrCat(options_.state_dir, "/cold/", worker),
                                 options_.state_memory_bytes / kColdStorePart / cold_stores_.size());
    HB_RETURN_IF_ERROR(opened.status());
    store = *std::move(opened);
  }
  return store.get();
}

std::vector<std::function<void()>> JobContext::TakeFinalizers(EpochId sealed) {
  std::vector<std::function<void()>> taken;
  MutexLock lock(&mutex_);
  std::erase_if(finalizers_, [&](auto& added) {
    if (added.first > sealed) return false;
    for (std::function<void()>& callback : added.second) taken.push_back(std::move(callback));
    return true;
  });
  return taken;
}

}  // namespace hornbeam::engine
