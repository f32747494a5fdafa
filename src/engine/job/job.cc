#include "engine/job/job.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/machine_memory.h"
#include "engine/exchange/broadcast.h"
#include "engine/exchange/flatten.h"
#include "engine/job/state_transfer.h"
#include "engine/source/source_operator.h"

namespace hornbeam::engine {
namespace {

JobOptions WithDefaults(JobOptions options) {
  if (options.workers <= 0) options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.batch_size = std::max<size_t>(options.batch_size, 1);
  if (options.state_memory_bytes == 0) options.state_memory_bytes = static_cast<size_t>(MachineMemoryBytes()) / 2;
  const bool has_disk = options.fs == FileSystem::Posix() || options.new_cold_store != nullptr;
  if (options.state_dir.empty() || !has_disk) options.state_memory_bytes = 0;  // no limit: there is nowhere else
  return options;
}

// The name under which a keyed stage's input watermark is kept, and those of a source's splits.
OperatorId WatermarkIdOf(const std::string& root_name) { return OperatorIdOf(absl::StrCat(root_name, "#watermark")); }

// The name under which the job itself notes how it ends.
OperatorId EndId() { return OperatorIdOf("#end"); }

// What user code throws where no element is to blame, as an error of the job.
template <typename F>
auto WithoutExceptions(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an exception left a transform: ", error.what()));
  } catch (...) {
    return absl::InternalError("an exception that is not a std::exception left a transform");
  }
}

}  // namespace

Job::Job(model::Pipeline pipeline, JobOptions options)
    : pipeline_(std::move(pipeline)), context_(WithDefaults(std::move(options))) {}

StatusOr<std::unique_ptr<Job>> Job::Create(model::Pipeline pipeline, JobOptions options) {
  std::unique_ptr<Job> job(new Job(std::move(pipeline), std::move(options)));
  HB_ASSIGN_OR_RETURN(job->plan_, MakePlan(job->pipeline_));
  const JobOptions& used = job->context_.options();
  if (!used.state_dir.empty()) {
    HB_RETURN_IF_ERROR(job->TakeOverState());
    JobLogOptions log_options;
    log_options.job_id = used.name;
    log_options.rewrite_above_bytes = used.log_rewrite_above_bytes;
    log_options.segment_bytes = used.log_segment_bytes;
    StatusOr<std::unique_ptr<JobLog>> log = JobLog::Open(used.fs, used.state_dir, std::move(log_options));
    if (!log.ok()) return Annotate(log.status(), absl::StrCat("opening the job's log in '", used.state_dir, "'"));
    job->log_ = *std::move(log);
  }
  return job;
}

StatusOr<UpdateReport> Job::CheckUpdate(const model::Pipeline& pipeline, const JobOptions& options) {
  HB_RETURN_IF_ERROR(MakePlan(pipeline).status());
  HB_ASSIGN_OR_RETURN(const std::optional<PipelineManifest> before, ReadManifest(*options.fs, options.state_dir));
  if (!before) return absl::NotFoundError(absl::StrCat("no job has run in '", options.state_dir, "'"));
  return CompareForUpdate(*before, ManifestOf(pipeline), options.update);
}

// Says under which names the log has, or will have, each step's state.
Status Job::TakeOverState() {
  const JobOptions& options = context_.options();
  if (!options.restore_from.empty()) {
    HB_RETURN_IF_ERROR(Annotate(RestoreSnapshot(*options.fs, options.restore_from, options.state_dir, options.name),
                                absl::StrCat("beginning with the snapshot in '", options.restore_from, "'")));
  }
  manifest_ = ManifestOf(pipeline_);
  HB_ASSIGN_OR_RETURN(const std::optional<PipelineManifest> before, ReadManifest(*options.fs, options.state_dir));
  if (!before) return absl::OkStatus();
  HB_ASSIGN_OR_RETURN(UpdateReport report, CompareForUpdate(*before, manifest_, options.update));
  HB_RETURN_IF_ERROR(report.status());
  if (report.changes_anything()) {
    LogInfo(absl::StrCat("job '", options.name, "' goes on with another pipeline:\n", report.ToString()));
  }
  manifest_ = std::move(report.next);
  for (PlanStage& stage : plan_.stages) {
    for (PlanNode& node : stage.nodes) {
      node.state_name = manifest_.Find(pipeline_.transform(node.transform).name)->state_name;
      node.op = OperatorIdOf(node.state_name);
    }
  }
  return absl::OkStatus();
}

Job::~Job() {
  Cancel();
  (void)Wait();
}

Status Job::MakeDeliveries() {
  for (size_t i = 0; i < pipeline_.transforms().size(); ++i) {
    const model::Transform& transform = pipeline_.transforms()[i];
    const auto& factory = static_cast<const OperatorFactory&>(*transform.payload);
    if (factory.shape != Shape::kSink) continue;
    HB_ASSIGN_OR_RETURN(std::unique_ptr<SinkWriter> writer, factory.new_writer(&context_));
    deliveries_[model::TransformId{static_cast<int32_t>(i)}] =
        std::make_unique<SinkDelivery>(&context_, transform.name, std::move(writer), ReadersOf(transform));
  }
  return absl::OkStatus();
}

SinkDelivery::Readers Job::ReadersOf(const model::Transform& sink) const {
  SinkDelivery::Readers readers{.refused = IsRead(pipeline_, sink.outputs[0]), .answers = false};
  for (const model::Transform& transform : pipeline_.transforms()) {
    const auto& factory = static_cast<const OperatorFactory&>(*transform.payload);
    if (factory.shape != Shape::kAnswers || &pipeline_.transform(factory.answers_of) != &sink) continue;
    readers.answers |= IsRead(pipeline_, transform.outputs[0]);
  }
  return readers;
}

void Job::MakeChannels() {
  const size_t n = workers_.size();
  for (const PlanEdge& edge : plan_.edges) {
    Connected connected{&edge, {}};
    connected.channels.resize(n);
    for (size_t from = 0; from < n; ++from) {
      connected.channels[from].resize(n);
      for (size_t to = 0; to < n; ++to) {
        if (edge.keyed || edge.broadcast || from == to) connected.channels[from][to] = std::make_unique<Channel>();
      }
    }
    edges_.push_back(std::move(connected));
  }
}

StatusOr<std::unique_ptr<Operator>> Job::MakeOperator(const PlanNode& node, Stage& stage) {
  const OperatorFactory& factory = *node.factory;
  switch (factory.shape) {
    case Shape::kElementwise:
    case Shape::kSideInput:
    case Shape::kKeyed: return factory.new_operator();
    case Shape::kFlatten: return std::make_unique<FlattenOperator>();
    case Shape::kSink: return factory.new_sink_operator(deliveries_.at(node.transform).get());
    case Shape::kSource:
    case Shape::kAnswers: break;
  }
  uint32_t splits = factory.one_split_per_worker ? static_cast<uint32_t>(context_.options().workers) : factory.splits;
  SourceOperator::NewReader new_reader = [this, &factory](uint32_t split) { return factory.new_reader(split, &context_); };
  if (factory.shape == Shape::kAnswers) {
    splits = 1;
    SinkDelivery* const delivery = deliveries_.at(factory.answers_of).get();
    new_reader = [&factory, delivery](uint32_t) -> StatusOr<std::unique_ptr<Reader>> {
      return factory.new_answer_reader(delivery);
    };
  }
  auto source = std::make_unique<SourceOperator>(splits, std::move(new_reader));
  stage.SetSource(source.get(), /*always_polled=*/factory.shape == Shape::kAnswers);
  return source;
}

Status Job::MakeStage(int worker_index, int stage_index) {
  Worker& worker = *workers_[static_cast<size_t>(worker_index)];
  const PlanStage& planned = plan_.stages[static_cast<size_t>(stage_index)];
  Stage& stage = *worker.AddStage();
  OperatorContext context;
  context.job = &context_;
  context.worker = worker_index;
  context.workers = context_.options().workers;

  std::vector<int> outputs;
  for (const PlanNode& node : planned.nodes) {
    const model::Transform& transform = pipeline_.transform(node.transform);
    context.id = node.op;
    context.name = transform.name;
    HB_ASSIGN_OR_RETURN(std::unique_ptr<Operator> op, MakeOperator(node, stage));
    if (auto* source = dynamic_cast<SourceOperator*>(op.get())) {
      source->SetWake([parker = &worker.parker()] { parker->Unpark(); });
      source->RecordWatermarksAs(WatermarkIdOf(node.state_name));
    }
    stage.AddNode(std::move(op), context, node.upstream, node.upstream_output);
    outputs.push_back(static_cast<int>(transform.outputs.size()));
  }
  for (Connected& edge : edges_) {
    if (edge.edge->from_stage == stage_index) {
      std::unique_ptr<ExchangeSender> sender;
      if (edge.edge->keyed) {
        sender = edge.edge->keyed_by->new_sender();
      } else if (edge.edge->broadcast) {
        sender = std::make_unique<BroadcastSender>();
      } else {
        sender = std::make_unique<ForwardSender>();
      }
      std::vector<ExchangeSender::Receiver> receivers;
      for (size_t to = 0; to < workers_.size(); ++to) {
        Channel* const channel = edge.channels[static_cast<size_t>(worker_index)][to].get();
        receivers.push_back({channel, channel ? &workers_[to]->parker() : nullptr});
      }
      sender->Connect(std::move(receivers));
      const PlanNode& from = planned.nodes[static_cast<size_t>(edge.edge->from_node)];
      context.name = absl::StrCat(pipeline_.transform(from.transform).name, "#exchange");
      context.id = OperatorIdOf(context.name);
      stage.AddSender(std::move(sender), context, edge.edge->from_node, edge.edge->from_output);
    }
    if (edge.edge->to_stage == stage_index) {
      for (size_t from = 0; from < workers_.size(); ++from) {
        Channel* const channel = edge.channels[from][static_cast<size_t>(worker_index)].get();
        if (channel != nullptr) stage.AddInput(channel, edge.edge->to_port, &workers_[from]->parker());
      }
    }
  }
  const PlanNode& root = planned.nodes[0];
  if (worker_index == 0 && root.factory->shape == Shape::kKeyed) {
    stage.RecordWatermarkAs(WatermarkIdOf(root.state_name));
  }
  return stage.Open(outputs);
}

Status Job::MakeWorkers() {
  for (int i = 0; i < context_.options().workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        &context_, i, [this](Contribution contribution) { coordinator_->Contribute(std::move(contribution)); }));
  }
  context_.SetOnTimeMoved([this] {
    for (const std::unique_ptr<Worker>& worker : workers_) worker->NoteTimeMoved();
  });
  context_.SetWakeWorkers([this] {
    for (const std::unique_ptr<Worker>& worker : workers_) worker->parker().Unpark();
  });
  MakeChannels();
  for (int w = 0; w < context_.options().workers; ++w) {
    for (size_t s = 0; s < plan_.stages.size(); ++s) HB_RETURN_IF_ERROR(MakeStage(w, static_cast<int>(s)));
  }
  return absl::OkStatus();
}

// Hands what the log holds to those who wrote it: sinks to their delivery, everything else to the operator on the worker
// that owns the unit now.
class Job::Recovery final : public ReplayVisitor {
 public:
  explicit Recovery(Job* job) : job_(job) {
    for (size_t s = 0; s < job->plan_.stages.size(); ++s) {
      const std::vector<PlanNode>& nodes = job->plan_.stages[s].nodes;
      for (size_t n = 0; n < nodes.size(); ++n) {
        places_[nodes[n].op] = {s, n};
        if (nodes[n].factory->shape == Shape::kSink) sinks_[nodes[n].op] = job->deliveries_.at(nodes[n].transform).get();
      }
      watermarks_[WatermarkIdOf(nodes[0].state_name)] = s;
    }
    for (const std::string& name : job->manifest_.dropped) {
      dropped_.insert(OperatorIdOf(name));
      dropped_.insert(WatermarkIdOf(name));
    }
  }

  // Ends every unit of dropped state that the log still has.
  EpochRecords Ends() const {
    EpochRecords ends;
    for (const UnitKey& unit : dropped_units_) ends.Add(unit.op, unit.unit, true, {});
    return ends;
  }

  Status OnRecord(EpochId epoch, OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    if (const auto sink = sinks_.find(op); sink != sinks_.end()) return sink->second->RestoreRows(epoch, unit, payload);
    if (const auto stage = watermarks_.find(op); stage != watermarks_.end()) {
      for (const std::unique_ptr<Worker>& worker : job_->workers_) {
        HB_RETURN_IF_ERROR(worker->stages()[stage->second]->RestoreWatermark(unit, payload));
      }
      return absl::OkStatus();
    }
    const auto place = places_.find(op);
    if (place == places_.end()) {
      if (!dropped_.contains(op)) return Unknown();
      dropped_units_.insert({op, unit});
      return absl::OkStatus();
    }
    if (OperatorOn(0, place->second).restores_everywhere(unit)) {
      for (size_t w = 0; w < job_->workers_.size(); ++w) {
        HB_RETURN_IF_ERROR(OperatorOn(w, place->second).Restore(unit, replaces, payload));
      }
      return absl::OkStatus();
    }
    const size_t owner = unit % job_->workers_.size();
    return OperatorOn(owner, place->second).Restore(unit, replaces, payload);
  }

  Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    if (op == EndId()) {
      if (payload.size() != 1 || static_cast<uint8_t>(payload[0]) > static_cast<uint8_t>(End::kDone)) {
        return absl::DataLossError("the log holds a malformed note of how the job ended");
      }
      job_->noted_end_ = static_cast<End>(payload[0]);
      return absl::OkStatus();
    }
    const auto sink = sinks_.find(op);
    if (sink == sinks_.end()) return dropped_.contains(op) ? absl::OkStatus() : Unknown();
    return sink->second->RestoreNote(payload);
  }

 private:
  Operator& OperatorOn(size_t worker, const std::pair<size_t, size_t>& place) const {
    return *job_->workers_[worker]->stages()[place.first]->nodes()[place.second]->op;
  }

  static Status Unknown() {
    return absl::FailedPreconditionError(
        "the state directory holds state of a step that this pipeline does not have; give the step its old name back, name it in "
        "the update options (renamed, drop_state_of), or start the job with another state directory");
  }

  Job* const job_;
  std::map<OperatorId, std::pair<size_t, size_t>> places_;
  std::map<OperatorId, size_t> watermarks_;
  std::map<OperatorId, SinkDelivery*> sinks_;
  std::set<OperatorId> dropped_;
  std::set<UnitKey> dropped_units_;
};

Status Job::Recover() {
  if (log_ == nullptr) return absl::OkStatus();
  Recovery recovery(this);
  HB_RETURN_IF_ERROR(Annotate(log_->Recover(&recovery), absl::StrCat("recovering job '", context_.options().name, "'")));
  dropped_ends_ = recovery.Ends();
  // From here on the log speaks of these steps. Before anything else is written to it.
  const JobOptions& options = context_.options();
  HB_ASSIGN_OR_RETURN(const std::optional<PipelineManifest> noted, ReadManifest(*options.fs, options.state_dir));
  return noted == manifest_ ? absl::OkStatus() : WriteManifest(*options.fs, options.state_dir, manifest_);
}

Status Job::Start() {
  const bool deterministic = context_.options().deterministic_seed != 0;
  started_at_us_ = context_.options().clock->NowMicros();
  HB_RETURN_IF_ERROR(MakeDeliveries());
  HB_RETURN_IF_ERROR(MakeWorkers());
  HB_RETURN_IF_ERROR(Recover());
  context_.Reach(CommitPoint::kRecovered);
  HB_RETURN_IF_ERROR(GoOnFrom(noted_end_));
  // A sink may have rows of an epoch that was never sealed (at-least-once): its number is not given again.
  EpochId last = log_ != nullptr ? log_->last_sealed() : 0;
  for (const auto& [transform, delivery] : deliveries_) last = std::max(last, delivery->newest_epoch());
  context_.SetFirstEpoch(last + 1);
  if (log_ != nullptr) {
    committer_ = std::make_unique<Committer>(
        log_.get(), [this](StatusOr<EpochId> sealed) { coordinator_->OnCommitted(std::move(sealed)); },
        CommitterOptions{.threaded = !deterministic});
  }
  coordinator_ = std::make_unique<EpochCoordinator>(&context_, log_.get(), committer_.get());
  coordinator_->AddToFirstEpoch(std::move(dropped_ends_));
  std::vector<Worker*> workers;
  for (const std::unique_ptr<Worker>& worker : workers_) workers.push_back(worker.get());
  coordinator_->SetWorkers(std::move(workers));
  std::vector<EpochCoordinator::Sink> sinks;
  for (const auto& [transform, delivery] : deliveries_) {
    const OperatorId op = StateIdOf(transform);
    sinks.push_back({op, delivery.get()});
    HB_RETURN_IF_ERROR(delivery->Start(
        [this, op](std::string_view note, bool sync) -> Status {
          if (committer_ == nullptr) return absl::OkStatus();
          return Annotate(committer_->AppendNote(op, 0, true, note, sync), "the job's log");
        },
        [this](Status status) { Fail(std::move(status)); }));
  }
  coordinator_->SetSinks(std::move(sinks));
  JobState starting = JobState::kStarting;
  state_.compare_exchange_strong(starting, noted_end_ == End::kDraining ? JobState::kDraining : JobState::kRunning);
  if (!deterministic) return RunThreads();
  for (const std::unique_ptr<Worker>& worker : workers_) HB_RETURN_IF_ERROR(worker->Start());
  return absl::OkStatus();
}

OperatorId Job::StateIdOf(model::TransformId transform) const {
  for (const PlanStage& stage : plan_.stages) {
    for (const PlanNode& node : stage.nodes) {
      if (node.transform == transform) return node.op;
    }
  }
  return OperatorIdOf(pipeline_.transform(transform).name);
}

void Job::SaveSnapshot(std::string directory, std::function<void(Status)> done) {
  const JobState now = state();
  if (log_ == nullptr || (now != JobState::kRunning && now != JobState::kDraining)) {
    return done(absl::FailedPreconditionError(absl::StrCat("job '", context_.options().name, "' ",
                                                           log_ == nullptr ? "keeps no state" : "is not running",
                                                           ", so there is nothing to take a snapshot of")));
  }
  coordinator_->RunBetweenEpochs([this, directory = std::move(directory), done = std::move(done)](StatusOr<EpochId> sealed) {
    if (!sealed.ok()) return done(sealed.status());
    const JobOptions& options = context_.options();
    done(Annotate(engine::SaveSnapshot(*options.fs, options.state_dir, options.name, *sealed, directory), "saving a snapshot"));
  });
}

Status Job::GoOnFrom(End end) {
  const std::string& name = context_.options().name;
  switch (end) {
    case End::kNone: break;
    case End::kDraining:
      LogInfo(absl::StrCat("job '", name, "' was being drained; it goes on with that"));
      for (const std::unique_ptr<Worker>& worker : workers_) worker->RequestDrain();
      break;
    case End::kDrained:
      return absl::FailedPreconditionError(absl::StrCat("job '", name, "' was drained and has nothing left to do; start it with "
                                                        "a new state directory or another name"));
    case End::kDone: LogInfo(absl::StrCat("job '", name, "' had come to the end of its input before")); break;
  }
  return absl::OkStatus();
}

Status Job::NoteEnd(End end) {
  if (committer_ == nullptr) return absl::OkStatus();
  const char note = static_cast<char>(end);
  return Annotate(committer_->AppendNote(EndId(), 0, true, {&note, 1}, true), "the job's log");
}

Status Job::RunThreads() {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    threads_.emplace_back([this, w = worker.get()](std::stop_token stop) {
      if (Status status = WithoutExceptions([&] { return w->Run(stop); }); !status.ok()) Fail(std::move(status));
    });
  }
  coordinator_thread_ = std::jthread([this](std::stop_token stop) {
    while (!stop.stop_requested() && !cancelled_.load(std::memory_order_acquire)) {
      const StatusOr<bool> worked = WithoutExceptions([this] { return coordinator_->Step(); });
      if (!worked.ok()) {
        Fail(worked.status());
        break;
      }
      if (coordinator_->done()) break;
      if (*worked) continue;
      model::Duration sleep = model::Millis(100);
      if (const model::ProcessingTime next = coordinator_->NextStart(); next < model::ProcessingTime::Never()) {
        sleep = std::clamp(next - context_.Now(), model::Micros(0), sleep);
      } else if (!coordinator_->busy()) {
        sleep = std::max(context_.options().epoch_interval, model::Millis(20));  // activity does not wake this thread
      }
      context_.coordinator.Park(std::chrono::microseconds(sleep.us));
    }
    Conclude();
  });
  return absl::OkStatus();
}

StatusOr<bool> Job::StepSomething(Rng& rng) {
  // Everyone is tried once, starting at a random one: an interleaving that the seed decides.
  const size_t actors = workers_.size() + deliveries_.size() + 1;
  const size_t first = rng.Below(actors);
  for (size_t tried = 0; tried < actors; ++tried) {
    const size_t actor = (first + tried) % actors;
    StatusOr<bool> worked = false;
    if (actor < workers_.size()) {
      worked = workers_[actor]->RunOnce();
    } else if (actor < workers_.size() + deliveries_.size()) {
      worked = std::next(deliveries_.begin(), static_cast<std::ptrdiff_t>(actor - workers_.size()))->second->Step();
    } else if (coordinator_->busy() || rng.OneIn(4) || tried + 1 == actors) {
      worked = coordinator_->Step();
      if (committer_ != nullptr) committer_->CommitNow();
    }
    if (!worked.ok() || *worked) return worked;
  }
  // The last to be tried may have been skipped by chance.
  return coordinator_->Step();
}

Status Job::RunDeterministically() {
  Rng rng(context_.options().deterministic_seed);
  const EpochId stop_at = context_.first_epoch() - 1 + static_cast<EpochId>(stop_after_epochs_);
  int steps_left = stop_after_steps_;
  int idle = 0;
  while (!coordinator_->done() && !cancelled_) {
    StatusOr<bool> worked = WithoutExceptions([&] { return StepSomething(rng); });
    if (!worked.ok()) {
      Fail(worked.status());
      break;
    }
    if (stop_after_epochs_ > 0 && coordinator_->last_sealed() >= stop_at && steps_left-- == 0) {
      if (at_stop_) at_stop_();
      cancelled_ = true;
    }
    idle = *worked ? 0 : idle + 1;
    if (idle > 1000) {
      Fail(absl::InternalError("the job is stuck: nothing can move, and it has not finished"));
      break;
    }
  }
  Conclude();
  return StopAll();
}

// The end of every run whose threads were started: nothing is called done before the log is closed.
void Job::Conclude() {
  const JobState end = cancelled_                         ? JobState::kCancelled
                       : state_ == JobState::kDraining ? JobState::kDrained
                                                       : JobState::kDone;
  if (end != JobState::kCancelled) {
    if (Status noted = NoteEnd(end == JobState::kDrained ? End::kDrained : End::kDone); !noted.ok()) Fail(std::move(noted));
  }
  if (Status stopped = WithoutExceptions([this] { return StopAll(); }); !stopped.ok()) Fail(std::move(stopped));
  MutexLock lock(&mutex_);
  if (failure_.ok()) state_ = end;
}

void Job::Fail(Status status) {
  {
    MutexLock lock(&mutex_);
    if (!failure_.ok()) return;
    if (cancelled_ && absl::IsCancelled(status)) return;  // what stopping interrupts has not failed
    failure_ = std::move(status);
    state_ = JobState::kFailed;
  }
  cancelled_ = true;
  context_.coordinator.Unpark();
}

void Job::Cancel() {
  cancelled_ = true;
  context_.coordinator.Unpark();
}

void Job::Drain() {
  JobState running = JobState::kRunning;
  if (!state_.compare_exchange_strong(running, JobState::kDraining)) return;
  // Before the sources end, and with them the epochs in which they have.
  if (Status noted = NoteEnd(End::kDraining); !noted.ok() && !absl::IsCancelled(noted)) return Fail(std::move(noted));
  for (const std::unique_ptr<Worker>& worker : workers_) worker->RequestDrain();
}

Status Job::StopAll() {
  if (coordinator_ != nullptr) {
    coordinator_->CancelBetweenEpochs(absl::FailedPreconditionError("the job has ended"));
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  for (const std::unique_ptr<Worker>& worker : workers_) worker->parker().Unpark();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  // The committer before the deliveries: a delivery may be waiting for a note.
  if (committer_ != nullptr) committer_->Stop();
  for (const auto& [transform, delivery] : deliveries_) delivery->Stop();
  Status failure;
  {
    MutexLock lock(&mutex_);
    failure = failure_;
  }
  if (failure.ok() && log_ != nullptr && !closed_) failure = Annotate(log_->Close(), "closing the job's log");
  closed_ = true;
  return failure;
}

Status Job::Wait() {
  if (coordinator_thread_.joinable()) coordinator_thread_.join();
  if (workers_.empty()) return absl::OkStatus();
  const Status status = StopAll();
  // Readers and writers are closed with the operators that own them; what a snapshot shows stays.
  return status;
}

Status Job::Run() {
  Status status = WithoutExceptions([this] { return Start(); });
  if (!status.ok()) {
    Fail(status);
    (void)StopAll();
    return status;
  }
  if (context_.options().deterministic_seed != 0) {
    return RunDeterministically();
  }
  return Wait();
}

}  // namespace hornbeam::engine
