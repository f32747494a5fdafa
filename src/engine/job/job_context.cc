#include "engine/job/job_context.h"

namespace hornbeam::engine {

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
