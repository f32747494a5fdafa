// ValueState: one value per key and window.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_

#include <string>
#include <utility>

#include "engine/state/members/optional_state.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

template <typename T>
class ValueState final : public OptionalState<T> {
  using typename OptionalState<T>::Slot;

 public:
  explicit ValueState(std::string name) : OptionalState<T>(std::move(name)) {}

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
  void Write(T value) { this->ToReplace().emplace(std::move(value)); }
  // To be changed in place; a T{} is made where there is none. The first use in a call copies the value, to be able to go back.
  T& Mutable() {
    Slot& at = this->ToChange();
    return at ? *at : at.emplace();
  }

  std::string type() const override { return "value<" + model::CoderSignature<T>() + ">"; }

 private:
  static const T& None() {
    static const T* const kNone = new T{};
    return *kNone;
  }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_VALUE_STATE_H_
