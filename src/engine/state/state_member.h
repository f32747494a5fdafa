// A state or timer that a DoFn declares as a member, as its operator sees it.
//
// An operator copies its DoFn inside a StateScope; the members of the copy make themselves known there. They get a place in
// the layout of the operator's cells, and from then on a state reads and writes its slot of the cell at hand: nothing is
// looked up.
//
// A call of the DoFn is an overlay on the slots it touches: states write in place and keep what they need to go back, timers
// keep what is to be set. Then either Commit or Rollback is called of each member that the call has touched.
#ifndef HORNBEAM_ENGINE_STATE_STATE_MEMBER_H_
#define HORNBEAM_ENGINE_STATE_STATE_MEMBER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "engine/state/state_frame.h"

namespace hornbeam::engine {

// The members of one copy of a DoFn, in the order of their declaration.
class StateMembers {
 public:
  const std::vector<StateMember*>& all() const { return all_; }

 private:
  friend class StateMember;
  std::vector<StateMember*> all_;
};

// While it lives, members that are made or copied on this thread are added to `members`.
class StateScope {
 public:
  explicit StateScope(StateMembers* members) : outer_(std::exchange(current_, members)) {}
  ~StateScope() { current_ = outer_; }
  StateScope(const StateScope&) = delete;
  StateScope& operator=(const StateScope&) = delete;

  static StateMembers* current() { return current_; }

 private:
  static thread_local StateMembers* current_;
  StateMembers* const outer_;
};

class StateMember {
 public:
  // Unique among the members of a DoFn: state is found again by it after a restart.
  const std::string& name() const { return name_; }

  // For operators. `slot` is this member's in some cell. ---------------------------------------------------------------

  // What it is and how its values are written: state of another type cannot become its.
  virtual std::string type() const = 0;

  virtual size_t slot_size() const = 0;
  virtual size_t slot_align() const = 0;
  virtual void Construct(void* slot) const = 0;  // empty
  virtual void Destroy(void* slot) const = 0;

  // The end of a call that has touched it. Commit returns whether the slot holds something now.
  virtual bool Commit(void* slot) = 0;
  virtual void Rollback(void* slot) = 0;

  // Appends all that the slot holds, or what has changed since it was last logged in either way.
  virtual void LogAll(void* slot, std::string* out) const = 0;
  virtual void LogChanges(void* slot, std::string* out) const = 0;
  // The inverse of either, on a slot that is as it was when that was logged (`all`: on an empty one). The frame has the cell.
  // False where the bytes are not of it. *filled: whether the slot holds something then.
  virtual bool Restore(void* slot, bool all, ByteReader& in, bool* filled) = 0;

  // Where its slot lies in a cell, and its number.
  void Place(size_t number, size_t offset) {
    number_ = number;
    offset_ = offset;
  }
  void Use(StateFrame* frame) { frame_ = frame; }
  size_t number() const { return number_; }
  void EndCall() { is_touched_ = false; }

 protected:
  explicit StateMember(std::string name) : name_(std::move(name)) { Add(); }
  StateMember(const StateMember& other) : name_(other.name_) { Add(); }
  StateMember& operator=(const StateMember&) { return *this; }  // it is what it was declared as
  virtual ~StateMember();

  // The slot of the cell at hand. Throws std::logic_error outside of a call that has one.
  template <typename Slot>
  Slot& slot() const {
    if (frame_->cell == nullptr) ThrowOutsideOfCall();
    return *reinterpret_cast<Slot*>(frame_->cell + offset_);
  }
  // Before the first write of a call; true when it is the first.
  bool Touch() {
    if (is_touched_) return false;
    is_touched_ = true;
    frame_->touched.push_back(this);
    return true;
  }
  StateFrame& frame() const { return *frame_; }
  [[noreturn]] void ThrowOutsideOfCall() const;

 private:
  void Add();

  const std::string name_;
  StateFrame* frame_ = NoFrame();
  size_t offset_ = 0;
  size_t number_ = 0;
  bool is_touched_ = false;

  static StateFrame* NoFrame();
};

// The parts of a StateMember that follow from the type of its slot.
template <typename Slot>
class StateMemberOf : public StateMember {
 public:
  size_t slot_size() const final { return sizeof(Slot); }
  size_t slot_align() const final { return alignof(Slot); }
  void Construct(void* slot) const final { new (slot) Slot(); }
  void Destroy(void* slot) const final { static_cast<Slot*>(slot)->~Slot(); }

 protected:
  using StateMember::StateMember;
  Slot& at_hand() const { return this->template slot<Slot>(); }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_STATE_MEMBER_H_
