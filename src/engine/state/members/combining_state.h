// CombiningState: an accumulator of a CombineFn per key and window.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_

#include <optional>
#include <string>
#include <utility>

#include "engine/state/state_member.h"
#include "model/coder.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

// CombineFn as for CombinePerKey (hornbeam/transforms/combine.h). The first Add of a call copies the accumulator, to be able to
// go back.
template <typename CombineFn>
class CombiningState final : public StateMemberOf<std::optional<typename CombineFn::AccumulatorT>> {
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = typename CombineFn::OutputT;
  using Slot = std::optional<AccumulatorT>;

 public:
  explicit CombiningState(std::string name, CombineFn fn = {}) : StateMemberOf<Slot>(std::move(name)), fn_(std::move(fn)) {}

  bool IsEmpty() const { return !this->at_hand().has_value(); }
  // Of nothing, where nothing was added.
  OutputT Read() const {
    const Slot& at = this->at_hand();
    return at ? fn_.ExtractOutput(*at) : fn_.ExtractOutput(fn_.CreateAccumulator());
  }
  AccumulatorT GetAccumulator() const {
    const Slot& at = this->at_hand();
    return at ? *at : fn_.CreateAccumulator();
  }
  void Add(const InputT& input) { fn_.AddInput(Accumulator(), input); }
  void AddAccumulator(const AccumulatorT& accumulator) { fn_.MergeAccumulators(Accumulator(), accumulator); }
  void Clear() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = std::move(at);
    at.reset();
  }

  std::string type() const override { return "combining<" + model::CoderSignature<AccumulatorT>() + ">"; }
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
  AccumulatorT& Accumulator() {
    Slot& at = this->at_hand();
    if (this->Touch()) before_ = at;
    if (!at) at.emplace(fn_.CreateAccumulator());
    return *at;
  }

  const CombineFn fn_;
  Slot before_;  // the call under way
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_
