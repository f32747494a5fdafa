#include "engine/state/state_member.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace hornbeam::engine {

thread_local StateMembers* StateScope::current_ = nullptr;

StateMember::~StateMember() {
  // A copy on the way to its place.
  if (StateMembers* const members = StateScope::current()) std::erase(members->all_, this);
}

void StateMember::Add() {
  if (StateMembers* const members = StateScope::current()) members->all_.push_back(this);
}

StateFrame* StateMember::NoFrame() {
  static StateFrame* const kNone = new StateFrame;
  return kNone;
}

void StateMember::ThrowOutsideOfCall() const {
  throw std::logic_error(absl::StrCat("'", name_,
                                      "' was used where there is no key: use state and timers in ProcessElement, OnTimer and "
                                      "OnWindowExpiration of a DoFn that derives from StatefulDoFn"));
}

}  // namespace hornbeam::engine
