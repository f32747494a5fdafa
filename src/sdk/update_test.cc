// A changed pipeline goes on with the state of the job that ran before it, or says why it cannot; a snapshot begins another job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using engine::JobState;
using engine::StepChange;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// What differs from one version of the pipeline to the next.
struct Version {
  std::string sum_name = "Sum";
  bool counts = false;  // has a second grouping
  Duration window = Seconds(1000);
  bool sum_is_mean = false;
};

class UpdateTest : public testing::Test {
 protected:
  PipelineOptions Options() {
    PipelineOptions options;
    options.name = "orders";
    options.fs = &fs_;
    options.clock = &clock_;
    options.state_dir = "/job";
    options.workers = 2;
    options.batch_size = 3;
    options.deterministic_seed = seed_ += 2;
    return options;
  }

  void Build(Pipeline& pipeline, const Version& version) {
    TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
    for (int64_t s = 0; s < 100; ++s) {
      stream = stream.AddTimestamped({{{absl::StrCat("k", s % 5), s}, At(s)}}).AdvanceWatermarkTo(At(s));
    }
    const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity()
                                 | "Look" >> Map([this](const Event& event) {
                                     if (on_element_) on_element_(event);
                                     return event;
                                   })
                                 | "Window" >> WindowInto(FixedWindows(version.window));
    if (version.sum_is_mean) {
      events | NamedTransform<CombinePerKey<Mean<int64_t>>>{version.sum_name, CombinePerKey(Mean<int64_t>())} |
          "Write" >> Collect(&means_);
    } else {
      events | NamedTransform<CombinePerKey<Sum<int64_t>>>{version.sum_name, CombinePerKey(Sum<int64_t>())} |
          "Write" >> Collect(&sums_);
    }
    if (version.counts) events | "Group" >> GroupByKey() | "WriteGroups" >> Collect(&groups_);
  }

  // So many epochs of it, or to its end.
  Status RunVersion(const Version& version, PipelineOptions options, int epochs = 0, JobState* state = nullptr) {
    Pipeline pipeline(std::move(options));
    Build(pipeline, version);
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
    if (epochs > 0) job->StopAfterEpochs(epochs);
    HB_RETURN_IF_ERROR(job->Run());
    if (state != nullptr) *state = job->state();
    return absl::OkStatus();
  }
  StatusOr<engine::UpdateReport> Check(const Version& version, const PipelineOptions& options) {
    Pipeline pipeline(options);
    Build(pipeline, version);
    return pipeline.CheckUpdate();
  }

  static std::vector<Event> AllSums() {
    std::vector<Event> sums;
    for (int64_t k = 0; k < 5; ++k) sums.push_back({absl::StrCat("k", k), 20 * k + 5 * 190});
    return sums;
  }

  MemoryFileSystem fs_;
  ManualClock clock_{1'000'000};
  uint64_t seed_ = 11;
  std::function<void(const Event&)> on_element_;
  Collector<Event> sums_;
  Collector<KV<std::string, double>> means_;
  Collector<KV<std::string, std::vector<int64_t>>> groups_;
};

TEST_F(UpdateTest, TheSamePipelineGoesOn) {
  JobState state{};
  ASSERT_TRUE(RunVersion({}, Options(), 5, &state).ok());
  ASSERT_EQ(state, JobState::kCancelled);
  const StatusOr<engine::UpdateReport> report = Check({}, Options());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->compatible());
  EXPECT_FALSE(report->changes_anything()) << report->ToString();
  ASSERT_TRUE(RunVersion({}, Options()).ok());
  EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));
}

TEST_F(UpdateTest, ARenamedStepKeepsItsStateThroughFurtherRuns) {
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  const Version renamed{.sum_name = "Total"};
  // It is not guessed.
  EXPECT_THAT(RunVersion(renamed, Options()).message(), HasSubstr("'Sum/Merge' is gone from the pipeline, and its state with it"));
  PipelineOptions options = Options();
  options.update.renamed = {{"Sum", "Total"}};  // a composite's name is that of all its steps
  const StatusOr<engine::UpdateReport> report = Check(renamed, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->ToString(), HasSubstr("'Sum/Merge' is 'Total/Merge' now"));
  ASSERT_TRUE(RunVersion(renamed, options, 5).ok());
  // Named once is enough.
  ASSERT_TRUE(RunVersion(renamed, Options()).ok());
  EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));
}

TEST_F(UpdateTest, AStepThatIsAddedBeginsWithNothing) {
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  const StatusOr<engine::UpdateReport> report = Check({.counts = true}, Options());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->compatible()) << report->ToString();
  EXPECT_THAT(report->ToString(), HasSubstr("added         'Group'"));
  ASSERT_TRUE(RunVersion({.counts = true}, Options()).ok());
  EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));
  size_t grouped = 0;
  for (const auto& group : groups_.values()) grouped += group.value.size();
  EXPECT_GT(grouped, 0u);
  EXPECT_LT(grouped, 100u);
}

TEST_F(UpdateTest, StateGoesOnlyWhereThatIsAskedFor) {
  ASSERT_TRUE(RunVersion({.counts = true}, Options(), 5).ok());
  EXPECT_THAT(RunVersion({}, Options()).message(),
              AllOf(HasSubstr("'Group' is gone from the pipeline"), HasSubstr("'WriteGroups' is gone from the pipeline")));
  PipelineOptions options = Options();
  options.update.drop_state_of = {"Group", "WriteGroups"};
  ASSERT_TRUE(RunVersion({}, options, 5).ok());
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  // One of that name that comes back has nothing of the old one.
  size_t seen = 0;
  on_element_ = [&](const Event&) { ++seen; };
  ASSERT_TRUE(RunVersion({.counts = true}, Options()).ok());
  EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));
  size_t grouped = 0;
  for (const auto& group : groups_.values()) grouped += group.value.size();
  EXPECT_EQ(grouped, seen);
}

TEST_F(UpdateTest, StateOfAnotherKindIsRefusedBeforeAnythingIsTouched) {
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  const Status refused = RunVersion({.sum_is_mean = true}, Options());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("'Sum/Merge' keeps state as kv<bytes,kv<double,varint>> now, and the job has it as "
                                           "kv<bytes,varint>"));
  EXPECT_THAT(RunVersion({.window = Seconds(60)}, Options()).message(), HasSubstr("'Sum/Merge' is windowed as"));
  ASSERT_TRUE(RunVersion({}, Options()).ok());
  EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));
}

TEST_F(UpdateTest, OptionsThatNameWhatIsNotThereAreRefused) {
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  PipelineOptions options = Options();
  options.update.drop_state_of = {"Sums"};
  EXPECT_THAT(Check({}, options).status().message(), HasSubstr("names the step 'Sums', and the job that ran before has none"));
  options.update = {.renamed = {{"Sum/Merge", "Total"}}, .drop_state_of = {}};
  EXPECT_THAT(Check({}, options).status().message(), HasSubstr("names the step 'Total', and the pipeline as it is now has none"));
}

TEST_F(UpdateTest, NothingToCompareWith) {
  EXPECT_TRUE(absl::IsNotFound(Check({}, Options()).status()));
}

TEST_F(UpdateTest, ADamagedManifestIsSaidToBe) {
  ASSERT_TRUE(RunVersion({}, Options(), 5).ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, "/job/PIPELINE", "{\"version\": 1, \"steps\": [{}]}").ok());
  EXPECT_THAT(RunVersion({}, Options()).message(), HasSubstr("'/job/PIPELINE' is damaged"));
}

// Saved when an element comes by; the job goes on to its end, and so does another that begins with what was saved.
TEST_F(UpdateTest, AnotherJobBeginsWithASnapshot) {
  for (int64_t at = 3; at < 100; at += 8) {
    sums_.Clear();
    PipelineOptions options = Options();
    options.state_dir = absl::StrCat("/job", at);
    const std::string snapshot = absl::StrCat("/snapshot", at);
    Status saved = absl::UnknownError("not called");
    std::unique_ptr<engine::Job> job;
    on_element_ = [&](const Event& event) {
      if (event.value == at) job->SaveSnapshot(snapshot, [&](Status status) { saved = std::move(status); });
    };
    Pipeline pipeline(options);
    Build(pipeline, {});
    job = *pipeline.MakeJob();
    ASSERT_TRUE(job->Run().ok());
    ASSERT_TRUE(saved.ok()) << saved;
    EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums()));

    sums_.Clear();
    int64_t seen = 0;
    on_element_ = [&](const Event&) { ++seen; };
    PipelineOptions other = Options();
    other.name = "the other";
    other.state_dir = absl::StrCat("/other", at);
    other.restore_from = snapshot;
    ASSERT_TRUE(RunVersion({}, other, 4).ok());
    ASSERT_TRUE(RunVersion({}, other).ok());  // it has begun, so the snapshot is not looked at again
    EXPECT_THAT(sums_.values(), UnorderedElementsAreArray(AllSums())) << at;
    if (at > 50) {
      EXPECT_LT(seen, 100);  // it did not begin at the beginning
    }
  }
}

TEST_F(UpdateTest, ASnapshotThatCannotBeTakenSaysWhy) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "/here", "").ok());
  ASSERT_TRUE(fs_.CreateDirectories("/full").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, "/full/of", "").ok());
  std::vector<std::string> said;
  std::unique_ptr<engine::Job> job;
  on_element_ = [&](const Event& event) {
    if (event.value != 50) return;
    job->SaveSnapshot("/full", [&](Status status) { said.emplace_back(status.message()); });
  };
  Pipeline pipeline(Options());
  Build(pipeline, {});
  job = *pipeline.MakeJob();
  ASSERT_TRUE(job->Run().ok());
  job->SaveSnapshot("/new", [&](Status status) { said.emplace_back(status.message()); });
  EXPECT_THAT(said, ElementsAre(HasSubstr("'/full' is not empty"), HasSubstr("is not running")));
  PipelineOptions options = Options();
  options.state_dir = "/another";
  options.restore_from = "/full";
  EXPECT_THAT(RunVersion({}, options).message(), HasSubstr("'/full' holds no snapshot of a job"));
}

}  // namespace
}  // namespace hornbeam
