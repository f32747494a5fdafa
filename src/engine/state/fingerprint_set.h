// A set of 128-bit fingerprints: open addressing in one array, 16 bytes a slot, nothing else.
#ifndef HORNBEAM_ENGINE_STATE_FINGERPRINT_SET_H_
#define HORNBEAM_ENGINE_STATE_FINGERPRINT_SET_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/key_hash.h"

namespace hornbeam::engine {

// Single-threaded. Elements are taken away only all together.
class FingerprintSet {
 public:
  // True when it was not there.
  bool Insert(const model::KeyHash& fingerprint) {
    if (fingerprint == model::KeyHash{}) return !std::exchange(has_zero_, true);  // the mark of a free slot
    if ((size_ + 1) * 4 > slots_.size() * 3) Grow();
    for (size_t at = fingerprint.low & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == fingerprint) return false;
      if (slots_[at] == model::KeyHash{}) {
        slots_[at] = fingerprint;
        ++size_;
        return true;
      }
    }
  }

  // Ahead of Insert for the same fingerprint, some time before.
  void Prefetch(const model::KeyHash& fingerprint) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[fingerprint.low & mask_]);
  }

  bool Contains(const model::KeyHash& fingerprint) const {
    if (fingerprint == model::KeyHash{}) return has_zero_;
    if (slots_.empty()) return false;
    for (size_t at = fingerprint.low & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == fingerprint) return true;
      if (slots_[at] == model::KeyHash{}) return false;
    }
  }

  size_t size() const { return size_ + (has_zero_ ? 1 : 0); }
  size_t memory_bytes() const { return slots_.capacity() * sizeof(model::KeyHash); }

  template <typename Visit>
  void ForEach(Visit visit) const {
    if (has_zero_) visit(model::KeyHash{});
    for (const model::KeyHash& slot : slots_) {
      if (slot != model::KeyHash{}) visit(slot);
    }
  }

 private:
  void Grow() {
    const std::vector<model::KeyHash> old = std::move(slots_);
    slots_.assign(old.empty() ? 16 : old.size() * 2, model::KeyHash{});
    mask_ = slots_.size() - 1;
    for (const model::KeyHash& fingerprint : old) {
      if (fingerprint == model::KeyHash{}) continue;
      size_t at = fingerprint.low & mask_;
      while (slots_[at] != model::KeyHash{}) at = (at + 1) & mask_;
      slots_[at] = fingerprint;
    }
  }

  std::vector<model::KeyHash> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
  bool has_zero_ = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_FINGERPRINT_SET_H_
