// What a front end attaches to a transform so that the engine can run it: how to make its operator on each worker.
#ifndef HORNBEAM_ENGINE_PLAN_OPERATOR_FACTORY_H_
#define HORNBEAM_ENGINE_PLAN_OPERATOR_FACTORY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "engine/exchange/exchange_sender.h"
#include "engine/job/job_context.h"
#include "engine/operator.h"
#include "engine/sink/sink_delivery.h"
#include "engine/sink/sink_writer.h"
#include "engine/source/reader.h"
#include "model/pipeline.h"

namespace hornbeam::engine {

// How a transform takes its place in a stage.
enum class Shape {
  kSource,       // begins a stage; no input
  kElementwise,  // fused with what is before it
  kKeyed,        // begins a stage behind a keyed exchange
  kFlatten,      // merges its inputs
  kSideInput,    // begins a stage: its first input stays on its worker, the others go to all workers
  kSink,         // elementwise, with a delivery of the job's
  kAnswers,      // a source of what a sink answers; its input edge is the sink, and carries nothing
};

// Immutable; shared by the job's workers. A front end fills in what its shape needs.
struct OperatorFactory final : public model::TransformPayload {
  Shape shape = Shape::kElementwise;

  // What the operator's records in the job's log look like: the signatures of its keys and of what it keeps by key
  // (model/coder_signature.h). A pipeline in which a step of the same name has another one cannot take over its state. Empty for
  // an operator that keeps nothing by key.
  std::string state_signature;

  // kElementwise, kKeyed, kSideInput.
  std::function<std::unique_ptr<Operator>()> new_operator;
  // kKeyed: the sending half of the exchange in front of it.
  std::function<std::unique_ptr<ExchangeSender>()> new_sender;

  // kSource: how many splits, numbered from 0, and the reader of each. Split n belongs to worker n % workers.
  uint32_t splits = 1;
  bool one_split_per_worker = false;  // as many splits as workers, whatever `splits` says
  std::function<StatusOr<std::unique_ptr<Reader>>(uint32_t split, JobContext* job)> new_reader;

  // kSink: the job-wide half, and the half on each worker.
  std::function<StatusOr<std::unique_ptr<SinkWriter>>(JobContext* job)> new_writer;
  std::function<std::unique_ptr<Operator>(SinkDelivery*)> new_sink_operator;
  // kAnswers: reads from the delivery of the sink `answers_of`.
  std::function<std::unique_ptr<Reader>(SinkDelivery*)> new_answer_reader;
  model::TransformId answers_of{};
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_PLAN_OPERATOR_FACTORY_H_
