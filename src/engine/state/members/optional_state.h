// What ValueState and CombiningState have in common: a slot with one value or none, written whole.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_OPTIONAL_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_OPTIONAL_STATE_H_

#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "engine/state/state_member.h"
#include "model/coder.h"

namespace hornbeam::engine {

template <typename T>
class OptionalState : public StateMemberOf<std::optional<T>> {
 protected:
  using Slot = std::optional<T>;

 public:
  bool IsEmpty() const { return !this->at_hand().has_value(); }
  void Clear() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = std::move(at);
    at.reset();
  }

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

 protected:
  using StateMemberOf<Slot>::StateMemberOf;
  // To be written anew, without a look at what was there.
  Slot& ToReplace() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = std::move(at);
    return at;
  }
  // To be changed in place: the first use in a call copies the value, to be able to go back.
  Slot& ToChange() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = at;
    return at;
  }

 private:
  Slot before_;  // the call under way
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_OPTIONAL_STATE_H_
