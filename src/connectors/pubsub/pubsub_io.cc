#include "hornbeam/io/pubsub_io.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "connectors/pubsub/pubsub_reader.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {
namespace {

constexpr char kUrn[] = "beam:transform:pubsub_read:v1";

PCollection<PubsubMessage> ReadAll(const PubsubReadOptions& options, Pipeline& pipeline,
                                   const std::string& name) {
  return Read<PubsubMessage>(
             kUrn, 1, false,
             [options](uint32_t, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
               return std::make_unique<connectors::PubsubReader>(options);
             })
      .Expand(pipeline, name);
}

}  // namespace

PCollection<PubsubMessage> ReadFromPubsub::Expand(Pipeline& pipeline,
                                                  const std::string& name) const {
  PCollection<PubsubMessage> all = ReadAll(options_, pipeline, name);
  if (options_.timestamp_attribute.empty()) return all;
  const auto check = [](PubsubMessage&& message, OutputReceiver<PubsubMessage>& out) {
    if (!message.timestamp_error.empty()) {
      throw std::runtime_error(absl::StrCat(
          "Pub/Sub message ", message.message_id, ": ", message.timestamp_error,
          "; read the subscription WithDeadLetters to keep such messages out of the pipeline"));
    }
    out.Output(std::move(message));
  };
  return all.Apply(absl::StrCat(name, "/CheckTimestamps"), ParDo<PubsubMessage>(check));
}

PubsubReadResult ReadFromPubsubWithDeadLetters::Expand(Pipeline& pipeline,
                                                       const std::string& name) const {
  const OutputTag<PubsubMessage> kMessages{"messages"};
  const OutputTag<PubsubMessage> kDeadLetters{"dead_letters"};
  const auto split = [](PubsubMessage&& message, OutputReceiver<PubsubMessage>& messages,
                        OutputReceiver<PubsubMessage>& dead_letters) {
    (message.timestamp_error.empty() ? messages : dead_letters).Output(std::move(message));
  };
  const auto outputs = ReadAll(options_, pipeline, name)
                           .Apply(absl::StrCat(name, "/SplitByTimestamp"),
                                  ParDo(split).WithOutputs(kMessages, kDeadLetters));
  return {outputs.Get(kMessages), outputs.Get(kDeadLetters)};
}

}  // namespace hornbeam::io
