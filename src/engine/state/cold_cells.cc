#include "engine/state/cold_cells.h"

#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

constexpr size_t kBatchBytes = 1 << 20;
constexpr size_t kHashBytes = 16;

void PutBigEndian64(std::string* out, uint64_t v) { PutFixed64(out, __builtin_bswap64(v)); }

// In the order of their values, negative ones first.
void PutOrdered(std::string* out, int64_t v) { PutBigEndian64(out, static_cast<uint64_t>(v) ^ (uint64_t{1} << 63)); }

model::KeyHash HashIn(std::string_view key) {
  ByteReader in(key.substr(key.size() - kHashBytes));
  model::KeyHash hash;
  hash.high = __builtin_bswap64(in.Fixed64());
  hash.low = __builtin_bswap64(in.Fixed64());
  return hash;
}

}  // namespace

std::string ColdCells::PrefixOf(const model::Window& window) const {
  std::string key;
  PutFixed32(&key, __builtin_bswap32(static_cast<uint32_t>(op_)));
  PutOrdered(&key, window.start.us);
  PutOrdered(&key, window.end.us);
  return key;
}

std::string ColdCells::PrefixOf(const model::Window& window, uint32_t slice) const {
  std::string key = PrefixOf(window);
  key.push_back(static_cast<char>(slice));
  return key;
}

std::string ColdCells::KeyOf(const model::Window& window, const model::KeyHash& hash) const {
  std::string key = PrefixOf(window);
  PutBigEndian64(&key, hash.high);
  PutBigEndian64(&key, hash.low);
  return key;
}

Status ColdCells::Put(const model::Window& window, const model::KeyHash& hash, std::string_view cell) {
  batch_.Add(KeyOf(window, hash), cell);
  return batch_.size_bytes() < kBatchBytes ? absl::OkStatus() : Flush();
}

Status ColdCells::Flush() {
  if (batch_.empty()) return absl::OkStatus();
  HB_ASSIGN_OR_RETURN(ColdStore* const store, job_->ColdStoreOf(worker_));
  HB_RETURN_IF_ERROR(store->Put(batch_));
  batch_.Clear();
  return absl::OkStatus();
}

StatusOr<bool> ColdCells::Get(const model::Window& window, const model::KeyHash& hash, std::string* cell) {
  HB_ASSIGN_OR_RETURN(ColdStore* const store, job_->ColdStoreOf(worker_));
  return store->Get(KeyOf(window, hash), cell);
}

Status ColdCells::Remove(const model::Window& window, const model::KeyHash& hash) {
  HB_ASSIGN_OR_RETURN(ColdStore* const store, job_->ColdStoreOf(worker_));
  return store->Remove(KeyOf(window, hash));
}

Status ColdCells::ForEach(const model::Window& window, uint32_t slice,
                          absl::FunctionRef<Status(const model::KeyHash&, std::string_view)> visit) {
  HB_ASSIGN_OR_RETURN(ColdStore* const store, job_->ColdStoreOf(worker_));
  return store->Scan(PrefixOf(window, slice),
                     [&](std::string_view key, std::string_view cell) { return visit(HashIn(key), cell); });
}

Status ColdCells::RemoveAll(const model::Window& window, uint32_t slice) {
  HB_ASSIGN_OR_RETURN(ColdStore* const store, job_->ColdStoreOf(worker_));
  return store->RemoveAll(PrefixOf(window, slice));
}

}  // namespace hornbeam::engine
