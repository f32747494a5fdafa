// Where a worker puts state that has no room in memory.
//
// A cold store is scratch: what makes state durable is the job's log, which has all of it, so a store begins empty in every
// run of a job, and a crash loses nothing with it. Keys and values are bytes; keys are ordered as bytes are.
#ifndef HORNBEAM_ENGINE_STATE_COLD_STORE_H_
#define HORNBEAM_ENGINE_STATE_COLD_STORE_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"

namespace hornbeam::engine {

// Entries on their way into a store, in one buffer. The later of two with one key counts.
class ColdBatch {
 public:
  void Add(std::string_view key, std::string_view value) {
    bytes_.append(key).append(value);
    sizes_.push_back({static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
  }
  // visit(key, value)
  template <typename Visit>
  void ForEach(Visit visit) const {
    std::string_view left = bytes_;
    for (const Sizes& sizes : sizes_) {
      visit(left.substr(0, sizes.key), left.substr(sizes.key, sizes.value));
      left.remove_prefix(sizes.key + sizes.value);
    }
  }
  size_t size_bytes() const { return bytes_.size(); }
  bool empty() const { return sizes_.empty(); }
  void Clear() {
    bytes_.clear();
    sizes_.clear();
  }

 private:
  struct Sizes {
    uint32_t key;
    uint32_t value;
  };
  std::string bytes_;
  std::vector<Sizes> sizes_;
};

// Single-threaded. After an error what the store holds is not to be relied on: the job fails.
class ColdStore {
 public:
  virtual ~ColdStore() = default;

  // Puts or replaces all of these, in any order of their keys.
  virtual Status Put(const ColdBatch& batch) = 0;
  // False where there is none.
  virtual StatusOr<bool> Get(std::string_view key, std::string* value) = 0;
  virtual Status Remove(std::string_view key) = 0;
  // In the order of the keys, those that begin with `prefix`. An error of `visit` ends it. `visit` may remove the
  // entry that it is given, and must not change the store otherwise.
  virtual Status Scan(std::string_view prefix,
                      absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) = 0;
  virtual Status RemoveAll(std::string_view prefix) = 0;
};

// In RocksDB, in a directory of its own, which is emptied at first. `memory_bytes`: what its caches may take, about.
// Errors name the directory: RESOURCE_EXHAUSTED where the disk is full, else INTERNAL.
StatusOr<std::unique_ptr<ColdStore>> OpenRocksColdStore(const std::string& directory, size_t memory_bytes);

// A fake, in memory.
class MemoryColdStore final : public ColdStore {
 public:
  Status Put(const ColdBatch& batch) override {
    batch.ForEach([this](std::string_view key, std::string_view value) { entries_.insert_or_assign(std::string(key), value); });
    return absl::OkStatus();
  }
  StatusOr<bool> Get(std::string_view key, std::string* value) override {
    const auto at = entries_.find(key);
    if (at != entries_.end()) value->assign(at->second);
    return at != entries_.end();
  }
  Status Remove(std::string_view key) override {
    if (const auto at = entries_.find(key); at != entries_.end()) entries_.erase(at);
    return absl::OkStatus();
  }
  Status Scan(std::string_view prefix, absl::FunctionRef<Status(std::string_view, std::string_view)> visit) override {
    for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix);) {
      const auto next = std::next(at);
      HB_RETURN_IF_ERROR(visit(at->first, at->second));
      at = next;
    }
    return absl::OkStatus();
  }
  Status RemoveAll(std::string_view prefix) override {
    auto at = entries_.lower_bound(prefix);
    while (at != entries_.end() && at->first.starts_with(prefix)) at = entries_.erase(at);
    return absl::OkStatus();
  }

 private:
  std::map<std::string, std::string, std::less<>> entries_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_COLD_STORE_H_
