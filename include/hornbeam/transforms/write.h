// Write: the way out for connectors (engine/sink/sink_writer.h).
#ifndef HORNBEAM_TRANSFORMS_WRITE_H_
#define HORNBEAM_TRANSFORMS_WRITE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/sink/answer_reader.h"
#include "engine/sink/sink_operator.h"
#include "hornbeam/pipeline.h"

namespace hornbeam {

// What a sink gives back to the pipeline. What is given and not read fails the job: it would be lost in silence.
template <typename Refused, typename Answer>
struct WriteResult {
  PCollection<Refused> refused;  // elements that could not be encoded
  PCollection<Answer> answers;   // what the destination said: refused rows, finished files
};

// Writes elements of type T. `Refused` is made of an element and why it was refused; `Answer` is what the writer gives to its
// journal, encoded with Coder<Answer>.
template <typename T, typename Refused, typename Answer>
class Write : public PTransform {
 public:
  std::string urn;
  std::function<StatusOr<std::unique_ptr<engine::SinkWriter>>(engine::JobContext*)> new_writer;
  std::function<std::unique_ptr<engine::RowEncoder<T>>()> new_encoder;
  std::function<Refused(const T&, const Status&)> refuse;

  WriteResult<Refused, Answer> Expand(const PCollection<T>& input, const std::string& name) const {
    Pipeline& pipeline = input.pipeline();
    auto sink = std::make_shared<engine::OperatorFactory>();
    sink->shape = engine::Shape::kSink;
    sink->new_writer = new_writer;
    sink->new_sink_operator = [encoder = new_encoder, refuse = refuse](engine::SinkDelivery* delivery) {
      return std::make_unique<engine::SinkOperator<T, Refused>>(delivery, encoder(), refuse);
    };
    const auto refused = internal::Handle<Refused>(
        pipeline, pipeline.Add(name, urn, {input.id()}, std::move(sink), {input.windowing()}, input.bounded()));

    auto answers = std::make_shared<engine::OperatorFactory>();
    answers->shape = engine::Shape::kAnswers;
    answers->answers_of = pipeline.last_transform();
    answers->new_answer_reader = [](engine::SinkDelivery* delivery) {
      return std::make_unique<engine::AnswerReader<Answer>>(delivery);
    };
    return {refused, internal::Handle<Answer>(pipeline, pipeline.Add(absl::StrCat(name, "/Answers"),
                                                                     "hornbeam:transform:answers:v1", {},
                                                                     std::move(answers), {WindowingStrategy{}},
                                                                     input.bounded()))};
  }
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_WRITE_H_
