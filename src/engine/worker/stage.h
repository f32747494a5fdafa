// One stage on one worker: its operators, the channels that feed it, and how far it has come.
//
// Called by its worker's thread alone. Watermarks and markers pass through the operators in topological order, so what an
// operator emits at a marker belongs to the epoch that the marker ends.
#ifndef HORNBEAM_ENGINE_WORKER_STAGE_H_
#define HORNBEAM_ENGINE_WORKER_STAGE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/exchange/channel.h"
#include "engine/exchange/exchange_sender.h"
#include "engine/operator.h"
#include "engine/progress/input_watermark.h"
#include "engine/source/source_operator.h"

namespace hornbeam::engine {

class Stage {
 public:
  explicit Stage(JobContext* job) : job_(job) {}

  // Construction: nodes in topological order, then the channels. `upstream` -1 makes it the root.
  int AddNode(std::unique_ptr<Operator> op, const OperatorContext& context, int upstream, int upstream_output);
  void AddSender(std::unique_ptr<ExchangeSender> sender, const OperatorContext& context, int upstream,
                 int upstream_output);
  void AddInput(Channel* channel, int port, Parker* sender);
  // `always_polled`: also while the sinks have no room, as what their answers are needs it.
  void SetSource(SourceOperator* source, bool always_polled) {
    source_ = source;
    always_polled_ = always_polled;
  }
  // `outputs[i]`: how many output PCollections node i has. Opens every operator and joins them.
  Status Open(const std::vector<int>& outputs);

  // May it run: nothing waits in an outbox.
  bool HasRoom() const;
  // Takes in one message, or polls the source. False when there was nothing to do.
  StatusOr<bool> RunOnce();
  // Passes on what was gathered for fuller batches; true when anything moved.
  bool Flush();
  bool DrainOutboxes();

  // A source stage's marker comes from the worker.
  Status PassMarker(EpochId epoch, EpochRecords* records);
  // The stage stands at a marker that all its inputs have sent: PassMarker may be called.
  bool AtMarker() const { return !inputs_.empty() && inputs_at_marker_ == inputs_.size(); }
  bool has_source() const { return source_ != nullptr; }

  void Drain();

  Status OnProcessingTime(model::ProcessingTime now);
  model::ProcessingTime NextProcessingTime() const;

  // Between PassMarker and whatever comes next: writes the whole state of the unit once more, where it is this stage's.
  Status Rewrite(UnitKey unit, EpochRecords* records);

  // What the last run had sealed as this stage's input watermark (unit 0), or as that of a source's split: it resumes there.
  Status RestoreWatermark(uint32_t unit, std::string_view payload);
  // Before the first RunOnce.
  Status Start();
  // The worker that records the input watermark with each epoch, for all workers: where every input comes by key it is
  // the same on all of them.
  void RecordWatermarkAs(OperatorId id) { watermark_id_ = id; }

  bool finished() const { return finished_; }
  SourceOperator* source() const { return source_; }

  struct Node {
    std::unique_ptr<Operator> op;
    OperatorContext context;
    int upstream = -1;
    int upstream_output = 0;
    bool is_sender = false;
    std::atomic<int64_t> input_watermark_us{model::kMinEventTimeUs};   // for people
    std::atomic<int64_t> output_watermark_us{model::kMinEventTimeUs};
  };
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

 private:
  struct Input {
    Channel* channel = nullptr;
    int port = 0;
    Parker* sender = nullptr;  // told when the channel has room again
    bool at_marker = false;
    InputWatermark* watermark = nullptr;  // of the port
    size_t channel_of_port = 0;
  };

  void MakeInputWatermarks();
  // An operator that acts as a source rests when sources do.
  bool MayRunTimersOf(const Operator& op) const;
  Status Handle(size_t input, Message message);
  Status HandleWatermark(Input& input, model::EventTime watermark);
  Status AfterBatch();
  Status AfterPoll();
  Status AdvanceWatermark(model::EventTime root_input);
  void RecordWatermark(EpochRecords* records) const;

  JobContext* const job_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<ExchangeSender*> senders_;
  std::vector<Input> inputs_;
  std::unique_ptr<InputWatermark> input_watermark_;                // of all ports but side inputs
  std::vector<std::unique_ptr<InputWatermark>> side_watermarks_;   // one for each side input
  int first_side_port_ = 0;
  model::EventTime restored_watermark_ = model::EventTime::Min();
  std::optional<OperatorId> watermark_id_;
  model::EventTime recorded_watermark_ = model::EventTime::Min();
  SourceOperator* source_ = nullptr;
  bool always_polled_ = false;
  bool generates_watermarks_ = false;  // one of the operators does
  model::EventTime source_watermark_ = model::EventTime::Min();
  size_t next_input_ = 0;
  size_t inputs_at_marker_ = 0;
  bool finished_ = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WORKER_STAGE_H_
