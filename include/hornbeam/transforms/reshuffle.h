// Reshuffle: the elements, unchanged, spread evenly over all workers; what is in front of it is not fused with what is behind.
//
// Timestamps, windows and panes stay as they are (Beam's Reshuffle). For work that is much more than its element: a few elements
// that each stand for a file, or what a slow call follows. Elements of one key may part: group by it where that matters.
#ifndef HORNBEAM_TRANSFORMS_RESHUFFLE_H_
#define HORNBEAM_TRANSFORMS_RESHUFFLE_H_

#include <memory>
#include <string>
#include <utility>

#include "engine/exchange/spread_exchange.h"
#include "engine/operators/pass_through.h"
#include "hornbeam/pipeline.h"

namespace hornbeam {

class Reshuffle : public PTransform {
 public:
  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->shape = engine::Shape::kKeyed;
    factory->new_sender = [] { return std::make_unique<engine::SpreadExchange<T>>(); };
    factory->new_operator = [] { return std::make_unique<engine::PassThroughOperator>(); };
    Pipeline& pipeline = input.pipeline();
    const PCollection<T> output = internal::Handle<T>(
        pipeline, pipeline.Add(name, "beam:transform:reshuffle:v1", {input.id()}, std::move(factory), {input.windowing()},
                               input.bounded()));
    if (pipeline.sliced(input.id())) pipeline.MarkSliced(output.id());
    return output;
  }
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_RESHUFFLE_H_
