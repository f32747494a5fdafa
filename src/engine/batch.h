// What moves through the engine: many elements at once, column by column.
//
// A batch is owned by exactly one operator at a time and is moved from one to the next; values are moved out of it, never
// re-encoded, between C++ stages. Columns that are the same for every element are held once.
#ifndef HORNBEAM_ENGINE_BATCH_H_
#define HORNBEAM_ENGINE_BATCH_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/key_hash.h"
#include "model/pane.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

// One value per element, held once while all are equal.
template <typename T>
class UniformColumn {
 public:
  UniformColumn() = default;
  explicit UniformColumn(T value) : uniform_(std::move(value)) {}

  bool is_uniform() const { return each_.empty(); }
  // Only while is_uniform().
  const T& uniform() const { return uniform_; }
  const T& operator[](size_t i) const { return each_.empty() ? uniform_ : each_[i]; }

  // The value of element number `size`, of a column that has `size` elements.
  void Append(const T& value, size_t size) {
    if (each_.empty()) {
      if (size == 0) {
        uniform_ = value;
        return;
      }
      if (value == uniform_) return;
      each_.assign(size, uniform_);
    }
    each_.push_back(value);
  }
  void SetUniform(T value) {
    each_.clear();
    uniform_ = std::move(value);
  }
  void Truncate(size_t size) {
    if (!each_.empty()) each_.resize(size);
  }

 private:
  T uniform_{};
  std::vector<T> each_;
};

// The columns that every batch has, whatever its elements are.
class Batch {
 public:
  virtual ~Batch() = default;

  size_t size() const { return timestamps.size(); }
  bool empty() const { return timestamps.empty(); }

  // A copy with the values copied; only where one output goes to several consumers.
  virtual std::unique_ptr<Batch> Clone() const = 0;

  std::vector<model::EventTime> timestamps;
  UniformColumn<model::Window> windows;
  UniformColumn<model::PaneInfo> panes{model::PaneInfo::NoFiring()};
  // Past a keyed exchange: the hash of each element's key. Empty before.
  std::vector<model::KeyHash> hashes;
  // What model::Slice values point into; lives as long as the batch and what is made of it.
  std::shared_ptr<const void> owner;

 protected:
  Batch() = default;
  Batch(const Batch&) = default;
};

template <typename T>
class TypedBatch final : public Batch {
 public:
  TypedBatch() = default;
  TypedBatch(const TypedBatch&) = default;

  void Reserve(size_t n) {
    values.reserve(n);
    timestamps.reserve(n);
  }

  void Append(T value, model::EventTime timestamp, const model::Window& window, const model::PaneInfo& pane) {
    windows.Append(window, values.size());
    panes.Append(pane, values.size());
    timestamps.push_back(timestamp);
    values.push_back(std::move(value));
  }

  // Drops the elements from number `size` on.
  void Truncate(size_t size) {
    values.resize(size);
    timestamps.resize(size);
    windows.Truncate(size);
    panes.Truncate(size);
    if (hashes.size() > size) hashes.resize(size);
  }

  std::unique_ptr<Batch> Clone() const override {
    if constexpr (std::is_copy_constructible_v<T>) {
      return std::make_unique<TypedBatch>(*this);
    } else {
      HB_CHECK(!"an element that cannot be copied has two consumers");
      return nullptr;
    }
  }

  std::vector<T> values;
};

// The typed view of a batch whose element type the plan guarantees.
template <typename T>
std::unique_ptr<TypedBatch<T>> As(std::unique_ptr<Batch> batch) {
  return std::unique_ptr<TypedBatch<T>>(static_cast<TypedBatch<T>*>(batch.release()));
}

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_BATCH_H_
