// BagState: values of a key and window, in the order in which they were added.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_BAG_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_BAG_STATE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/state/state_member.h"
#include "model/coder.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

template <typename T>
struct BagSlot {
  std::vector<T> values;
  size_t logged = 0;     // how many of the values the log has
  bool replaced = false;  // the log has values that are gone
};

// The log hears of what was added alone, until a Clear.
template <typename T>
class BagState final : public StateMemberOf<BagSlot<T>> {
  using Slot = BagSlot<T>;

 public:
  explicit BagState(std::string name) : StateMemberOf<Slot>(std::move(name)) {}

  bool IsEmpty() const { return this->at_hand().values.empty(); }
  size_t size() const { return this->at_hand().values.size(); }
  // The reference holds until the next write or the end of the call.
  const std::vector<T>& Read() const { return this->at_hand().values; }
  void Add(T value) {
    Slot& at = this->at_hand();
    if (this->Touch()) size_before_ = at.values.size();
    at.values.push_back(std::move(value));
  }
  void Clear() { (void)Take(); }
  // Reads and clears. Copies what the call did not add itself, to be able to go back.
  std::vector<T> Take() {
    Slot& at = this->at_hand();
    if (this->Touch()) size_before_ = at.values.size();
    if (before_) return std::exchange(at.values, {});
    before_ = std::exchange(at.values, {});
    return *before_;
  }

  std::string type() const override { return "bag<" + model::CoderSignature<T>() + ">"; }
  bool Commit(void* slot) override {
    Slot& at = *static_cast<Slot*>(slot);
    if (before_) {
      at.replaced = true;
      at.logged = 0;
      before_.reset();
    }
    return !at.values.empty();
  }
  void Rollback(void* slot) override {
    Slot& at = *static_cast<Slot*>(slot);
    if (before_) {
      at.values = std::move(*before_);
      before_.reset();
    }
    at.values.erase(at.values.begin() + static_cast<std::ptrdiff_t>(size_before_), at.values.end());
  }

  // Whether it replaces (1 byte), a count, and so many values.
  void LogAll(void* slot, std::string* out) const override { Log(*static_cast<Slot*>(slot), true, out); }
  void LogChanges(void* slot, std::string* out) const override {
    Slot& at = *static_cast<Slot*>(slot);
    Log(at, at.replaced, out);
  }
  bool Restore(void* slot, bool all, ByteReader& in, bool* filled) override {
    Slot& at = *static_cast<Slot*>(slot);
    if (in.Byte() != 0) at.values.clear();
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
      if (!model::Coder<T>::Decode(in, &at.values.emplace_back())) return false;
    }
    at.logged = at.values.size();
    *filled = !at.values.empty();
    return in.ok();
  }

 private:
  static void Log(Slot& at, bool all, std::string* out) {
    const size_t from = all ? 0 : at.logged;
    out->push_back(all ? 1 : 0);
    PutVarint(out, at.values.size() - from);
    for (size_t i = from; i < at.values.size(); ++i) model::Coder<T>::Encode(at.values[i], out);
    at.logged = at.values.size();
    at.replaced = false;
  }

  // The call under way: how many there were, and all of them once they are cleared (with what the call had added).
  size_t size_before_ = 0;
  std::optional<std::vector<T>> before_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_BAG_STATE_H_
