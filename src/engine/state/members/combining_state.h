// CombiningState: an accumulator of a CombineFn per key and window.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_

#include <string>
#include <utility>

#include "engine/state/members/optional_state.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

// CombineFn as for CombinePerKey (hornbeam/transforms/combine.h). The first Add of a call copies the accumulator, to be able to
// go back.
template <typename CombineFn>
class CombiningState final : public OptionalState<typename CombineFn::AccumulatorT> {
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = typename CombineFn::OutputT;
  using typename OptionalState<AccumulatorT>::Slot;

 public:
  explicit CombiningState(std::string name, CombineFn fn = {})
      : OptionalState<AccumulatorT>(std::move(name)), fn_(std::move(fn)) {}

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

  std::string type() const override { return "combining<" + model::CoderSignature<AccumulatorT>() + ">"; }

 private:
  AccumulatorT& Accumulator() {
    Slot& at = this->ToChange();
    if (!at) at.emplace(fn_.CreateAccumulator());
    return *at;
  }

  const CombineFn fn_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_COMBINING_STATE_H_
