// ValueState: one value per key and window.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_

#include <optional>
#include <string>
#include <utility>

#include "engine/state/state_member.h"
#include "model/coder.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

template <typename T>
class ValueState final : public StateMemberOf<std::optional<T>> {
  using Slot = std::optional<T>;

 public:
  explicit ValueState(std::string name) : StateMemberOf<Slot>(std::move(name)) {}

  bool IsEmpty() const { return !this->at_hand().has_value(); }
  // A T{} where there is none. The reference holds until the next write or the end of the call.
  const T& Read() const {
    const Slot& value = this->at_hand();
    return value ? *value : None();
  }
  // Null where there is none.
  const T* Find() const {
    const Slot& value = this->at_hand();
    return value ? &*value : nullptr;
  }
  void Write(T value) {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = std::move(at);
    at.emplace(std::move(value));
  }
  // To be changed in place; a T{} is made where there is none. The first use in a call copies the value, to be able to go back.
  T& Mutable() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = at;
    return at ? *at : at.emplace();
  }
  void Clear() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = std::move(at);
    at.reset();
  }

  std::string type() const override { return "value<" + model::CoderSignature<T>() + ">"; }
  bool Commit(void* slot) override {
    before_.reset();
    return static_cast<Slot*>(slot)->has_value();
  }
  void Rollback(void* slot) override {
    *static_cast<Slot*>(slot) = std::move(before_);
    before_.reset();
  }
  void LogAll(void* slot, std::string* out) const override { model::Coder<Slot>::Encode(*static_cast<Slot*>(slot), out); }
  void LogChanges(void* slot, std::string* out) const override { LogAll(slot, out); }
  bool Restore(void* slot, bool all, ByteReader& in, bool* filled) override {
    Slot& at = *static_cast<Slot*>(slot);
    if (!model::Coder<Slot>::Decode(in, &at)) return false;
    *filled = at.has_value();
    return true;
  }

 private:
  static const T& None() {
    static const T* const kNone = new T{};
    return *kNone;
  }

  Slot before_;  // the call under way
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_
