#include "engine/worker/stage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/coder.h"

namespace hornbeam::engine {

int Stage::AddNode(std::unique_ptr<Operator> op, const OperatorContext& context, int upstream, int upstream_output) {
  auto node = std::make_unique<Node>();
  node->op = std::move(op);
  node->context = context;
  node->upstream = upstream;
  node->upstream_output = upstream_output;
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Stage::AddSender(std::unique_ptr<ExchangeSender> sender, const OperatorContext& context, int upstream,
                      int upstream_output) {
  senders_.push_back(sender.get());
  nodes_[static_cast<size_t>(AddNode(std::move(sender), context, upstream, upstream_output))]->is_sender = true;
}

void Stage::AddInput(Channel* channel, int port, Parker* sender) { inputs_.push_back({channel, port, sender, false}); }

Status Stage::Open(const std::vector<int>& outputs) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    const int count = i < outputs.size() ? outputs[i] : 0;
    HB_RETURN_IF_ERROR(Annotate(node.op->Open(node.context, count), absl::StrCat("'", node.context.name, "'")));
    generates_watermarks_ |= node.op->generates_watermarks();
    if (node.upstream < 0) continue;
    nodes_[static_cast<size_t>(node.upstream)]
        ->op->output(static_cast<size_t>(node.upstream_output))
        .AddConsumer(node.op.get(), 0);
  }
  if (!inputs_.empty()) MakeInputWatermarks();
  return absl::OkStatus();
}

void Stage::MakeInputWatermarks() {
  int ports = 0;
  for (const Input& input : inputs_) ports = std::max(ports, input.port + 1);
  const int side_ports = nodes_[0]->op->side_inputs();
  first_side_port_ = ports - side_ports;
  std::vector<size_t> channels(static_cast<size_t>(side_ports) + 1, 0);  // of the main ports together, then of each side input
  const auto group_of = [this](const Input& input) { return static_cast<size_t>(std::max(0, input.port - first_side_port_ + 1)); };
  for (Input& input : inputs_) input.channel_of_port = channels[group_of(input)]++;
  input_watermark_ = std::make_unique<InputWatermark>(channels[0]);
  for (size_t i = 1; i < channels.size(); ++i) side_watermarks_.push_back(std::make_unique<InputWatermark>(channels[i]));
  for (Input& input : inputs_) {
    const size_t group = group_of(input);
    input.watermark = group == 0 ? input_watermark_.get() : side_watermarks_[group - 1].get();
  }
}

bool Stage::HasRoom() const {
  return std::all_of(senders_.begin(), senders_.end(), [](const ExchangeSender* s) { return s->HasRoom(); });
}

bool Stage::DrainOutboxes() {
  bool moved = false;
  for (ExchangeSender* sender : senders_) moved |= sender->Drain();
  return moved;
}

bool Stage::Flush() {
  bool moved = false;
  for (ExchangeSender* sender : senders_) moved |= sender->Flush();
  return moved;
}

StatusOr<bool> Stage::RunOnce() {
  if (source_ != nullptr) {
    if (finished_ || (!always_polled_ && !job_->sinks_have_room())) return false;
    HB_ASSIGN_OR_RETURN(const bool worked, source_->Poll());
    if (!worked) return false;
    job_->NoteActivity();
    const Status status = AfterPoll();
    job_->EndWork();  // which Poll began
    HB_RETURN_IF_ERROR(status);
    return true;
  }
  for (size_t tried = 0; tried < inputs_.size(); ++tried) {
    const size_t at = next_input_;
    next_input_ = (next_input_ + 1) % inputs_.size();
    Input& input = inputs_[at];
    if (input.at_marker) continue;
    bool was_full = false;
    Message message;
    if (!input.channel->TryPop(&message, &was_full)) continue;
    if (was_full) input.sender->Unpark();
    const bool counted = message.is_work();
    const Status status = Handle(at, std::move(message));
    if (counted) job_->EndWork();
    HB_RETURN_IF_ERROR(status);
    return true;
  }
  return false;
}

Status Stage::Handle(size_t at, Message message) {
  switch (message.kind) {
    case Message::Kind::kBatch:
      HB_RETURN_IF_ERROR(nodes_[0]->op->Receive(inputs_[at].port, std::move(message.batch)));
      return AfterBatch();
    case Message::Kind::kWatermark: return HandleWatermark(inputs_[at], message.watermark);
    case Message::Kind::kMarker:
      inputs_[at].at_marker = true;
      ++inputs_at_marker_;
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

Status Stage::HandleWatermark(Input& input, model::EventTime watermark) {
  if (!input.watermark->Advance(input.channel_of_port, watermark)) return absl::OkStatus();
  if (input.port >= first_side_port_) {
    HB_RETURN_IF_ERROR(Annotate(nodes_[0]->op->AdvanceSideWatermark(input.port, input.watermark->Get()),
                                absl::StrCat("'", nodes_[0]->context.name, "'")));
  }
  return AdvanceWatermark(std::max(restored_watermark_, input_watermark_->Get()));
}

Status Stage::AfterPoll() {
  const model::EventTime watermark = source_->watermark();
  if (watermark <= source_watermark_) return AfterBatch();
  source_watermark_ = watermark;
  return AdvanceWatermark(watermark);
}

Status Stage::AfterBatch() {
  if (!generates_watermarks_) return absl::OkStatus();
  return AdvanceWatermark(model::EventTime{nodes_[0]->input_watermark_us.load(std::memory_order_relaxed)});
}

Status Stage::AdvanceWatermark(model::EventTime root_input) {
  for (std::unique_ptr<Node>& node : nodes_) {
    const model::EventTime input =
        node->upstream < 0
            ? root_input
            : model::EventTime{nodes_[static_cast<size_t>(node->upstream)]->output_watermark_us.load(
                  std::memory_order_relaxed)};
    StatusOr<model::EventTime> output = node->op->AdvanceWatermark(input);
    if (!output.ok()) return Annotate(output.status(), absl::StrCat("'", node->context.name, "'"));
    node->input_watermark_us.store(input.us, std::memory_order_relaxed);
    const int64_t before = node->output_watermark_us.load(std::memory_order_relaxed);
    node->output_watermark_us.store(std::max(before, output->us), std::memory_order_relaxed);
  }
  if (root_input >= model::EventTime::Max()) {
    finished_ = std::all_of(nodes_.begin(), nodes_.end(), [](const std::unique_ptr<Node>& node) {
      return node->output_watermark_us.load(std::memory_order_relaxed) >= model::kMaxEventTimeUs;
    });
  }
  return absl::OkStatus();
}

Status Stage::PassMarker(EpochId epoch, EpochRecords* records) {
  for (std::unique_ptr<Node>& node : nodes_) {
    HB_RETURN_IF_ERROR(Annotate(node->op->OnMarker(epoch, records), absl::StrCat("'", node->context.name, "'")));
  }
  if (const model::EventTime input{nodes_[0]->input_watermark_us.load(std::memory_order_relaxed)};
      watermark_id_ && input > recorded_watermark_) {
    recorded_watermark_ = input;
    RecordWatermark(records);
  }
  for (Input& input : inputs_) input.at_marker = false;
  inputs_at_marker_ = 0;
  return absl::OkStatus();
}

void Stage::RecordWatermark(EpochRecords* records) const {
  model::Coder<model::EventTime>::Encode(recorded_watermark_, records->Begin(*watermark_id_, 0, true));
  records->End();
}

Status Stage::Rewrite(UnitKey unit, EpochRecords* records) {
  if (watermark_id_ && unit.op == *watermark_id_) RecordWatermark(records);
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node->context.id == unit.op && (node->context.Owns(unit.unit) || node->op->restores_everywhere(unit.unit))) {
      HB_RETURN_IF_ERROR(node->op->Rewrite(unit.unit, records));
    }
  }
  if (source_ != nullptr) source_->RewriteWatermark(unit, records);
  return absl::OkStatus();
}

Status Stage::RestoreWatermark(uint32_t unit, std::string_view payload) {
  if (source_ != nullptr) {
    return source_->context().Owns(unit) ? source_->RestoreWatermark(unit, payload) : absl::OkStatus();
  }
  ByteReader in(payload);
  if (!model::Coder<model::EventTime>::Decode(in, &restored_watermark_)) {
    return absl::DataLossError(absl::StrCat("the log holds a malformed watermark of '", nodes_[0]->context.name, "'"));
  }
  recorded_watermark_ = restored_watermark_;
  return absl::OkStatus();
}

Status Stage::Start() {
  if (source_ != nullptr) {
    HB_RETURN_IF_ERROR(source_->Start());
    source_watermark_ = source_->watermark();  // Max() where no split is this worker's
  }
  const model::EventTime input = source_ != nullptr ? source_watermark_ : restored_watermark_;
  if (restored_watermark_ > model::EventTime::Min()) nodes_[0]->op->RestoreWatermark(restored_watermark_);
  // A generator's restored estimate is passed on before the first batch can be.
  if (input > model::EventTime::Min() || generates_watermarks_) return AdvanceWatermark(input);
  return absl::OkStatus();
}

void Stage::Drain() {
  for (std::unique_ptr<Node>& node : nodes_) node->op->OnDrain();
}

bool Stage::MayRunTimersOf(const Operator& op) const {
  return !op.acts_as_source() || (HasRoom() && job_->sinks_have_room());
}

Status Stage::OnProcessingTime(model::ProcessingTime now) {
  bool fired = false;
  for (std::unique_ptr<Node>& node : nodes_) {
    if (node->op->NextProcessingTime() > now || !MayRunTimersOf(*node->op)) continue;
    fired = true;
    HB_RETURN_IF_ERROR(Annotate(node->op->OnProcessingTime(now), absl::StrCat("'", node->context.name, "'")));
  }
  if (!fired) return absl::OkStatus();
  job_->NoteActivity();
  // What fired may have held the watermark.
  const model::EventTime input{nodes_[0]->input_watermark_us.load(std::memory_order_relaxed)};
  return AdvanceWatermark(input);
}

model::ProcessingTime Stage::NextProcessingTime() const {
  model::ProcessingTime next = model::ProcessingTime::Never();
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (MayRunTimersOf(*node->op)) next = std::min(next, node->op->NextProcessingTime());
  }
  return next;
}

}  // namespace hornbeam::engine
