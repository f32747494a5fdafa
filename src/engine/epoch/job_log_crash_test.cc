// What the log promises when the disk fails, the power goes, or bytes rot: at every possible point
// of a small history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "engine/epoch/job_log.h"

namespace hornbeam::engine {
namespace {

using ::testing::HasSubstr;

constexpr OperatorId kState{1};
constexpr OperatorId kSink{2};
constexpr uint32_t kUnits = 6;
constexpr EpochId kEpochs = 14;

// The payloads of each unit, put together; a unit without any is absent.
using Contents = std::map<UnitKey, std::string>;

void Apply(Contents* contents, UnitKey key, bool replaces, std::string_view payload) {
  if (replaces) contents->erase(key);
  if (!payload.empty()) (*contents)[key].append(payload);
}

class ContentsReader final : public ReplayVisitor {
 public:
  Status OnRecord(EpochId, OperatorId op, uint32_t unit, bool replaces,
                  std::string_view payload) override {
    Apply(&records, {op, unit}, replaces, payload);
    return absl::OkStatus();
  }
  Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    Apply(&notes, {op, unit}, replaces, payload);
    return absl::OkStatus();
  }

  Contents records;
  Contents notes;
};

// A job that writes the same things in every run, whatever happens to it in between: what an epoch
// adds depends on its number only.
class ScriptedJob {
 public:
  struct Expectation {
    std::vector<Contents> records = {{}};  // after epoch [i]
    std::vector<Contents> notes = {{}};    // after [i] notes
  };

  explicit ScriptedJob(FileSystem* fs, JobLogOptions options = SmallOptions())
      : fs_(fs), options_(std::move(options)) {
    for (EpochId epoch = 1; epoch <= kEpochs; ++epoch) {
      for (const Step& note : NotesOf(epoch)) {
        Contents contents = expected_.notes.back();
        Apply(&contents, note.key, note.replaces, note.payload);
        expected_.notes.push_back(std::move(contents));
      }
      Contents contents = expected_.records.back();
      for (const Step& step : StepsOf(epoch)) {
        Apply(&contents, step.key, step.replaces, step.payload);
      }
      expected_.records.push_back(std::move(contents));
    }
  }

  static JobLogOptions SmallOptions() {
    return {.job_id = "job", .segment_bytes = 700, .rewrite_above_bytes = 1'600, .seed = 1};
  }

  // Opens the log and compares what it holds with what it may hold.
  Status OpenAndCheck() {
    log_.reset();
    HB_ASSIGN_OR_RETURN(log_, JobLog::Open(fs_, "/job", options_));
    ContentsReader reader;
    HB_RETURN_IF_ERROR(log_->Recover(&reader));
    const EpochId sealed = log_->last_sealed();
    EXPECT_GE(sealed, reported_) << "a sealed epoch was lost";
    EXPECT_LE(sealed, begun_);
    EXPECT_EQ(reader.records, expected_.records[sealed]) << "after epoch " << sealed;
    // Notes are kept up to a point, and to those reported durable at least.
    size_t kept = expected_.notes.size();
    for (size_t n = notes_durable_; n <= notes_begun_; ++n) {
      if (reader.notes == expected_.notes[n]) kept = n;
    }
    EXPECT_LT(kept, expected_.notes.size()) << "a durable note was lost";
    reported_ = begun_ = sealed;
    notes_durable_ = notes_begun_ = notes_ = kept;
    return absl::OkStatus();
  }

  // Goes on to the last epoch, or to the first error.
  Status Run(EpochId last = kEpochs) {
    for (EpochId epoch = log_->last_sealed() + 1; epoch <= last; ++epoch) {
      size_t number = NotesBefore(epoch);
      for (const Step& note : NotesOf(epoch)) {
        if (++number <= notes_) continue;  // written before the crash
        notes_begun_ = number;
        HB_RETURN_IF_ERROR(
            log_->AppendNote(note.key.op, note.key.unit, note.replaces, note.payload, note.sync));
        notes_ = number;
        if (note.sync) notes_durable_ = number;
      }
      EpochRecords parts[2];
      for (const UnitKey unit : log_->UnitsToRewrite(200)) {
        parts[unit.unit % 2].Add(unit.op, unit.unit, true, expected_.records[epoch - 1].at(unit));
        ++rewritten_;
      }
      for (const Step& step : StepsOf(epoch)) {
        parts[step.key.unit % 2].Add(step.key.op, step.key.unit, step.replaces, step.payload);
      }
      const EpochRecords* const pointers[] = {&parts[0], &parts[1]};
      begun_ = epoch;
      HB_RETURN_IF_ERROR(log_->Seal(epoch, pointers));
      reported_ = epoch;
      notes_durable_ = notes_;
    }
    return absl::OkStatus();
  }

  EpochId last_sealed() const { return log_->last_sealed(); }
  Status Close() { return log_->Close(); }
  void Crash() { log_.reset(); }
  int rewritten() const { return rewritten_; }

 private:
  struct Step {
    UnitKey key;
    bool replaces;
    std::string payload;
    bool sync = false;
  };

  static std::vector<Step> StepsOf(EpochId epoch) {
    Rng rng(epoch);
    std::vector<Step> steps;
    for (uint32_t unit = 0; unit < kUnits; ++unit) {
      const std::string payload =
          absl::StrCat("e", epoch, "u", unit, std::string(rng.Below(60), '.'), ";");
      switch (rng.Below(6)) {
        case 0: steps.push_back({{kState, unit}, true, payload}); break;
        case 1: steps.push_back({{kState, unit}, true, ""}); break;
        case 2: break;
        default: steps.push_back({{kState, unit}, false, payload});
      }
    }
    return steps;
  }

  static std::vector<Step> NotesOf(EpochId epoch) {
    Rng rng(epoch + 1'000);
    std::vector<Step> notes;
    for (uint64_t n = rng.Below(3); n > 0; --n) {
      notes.push_back({{kSink, static_cast<uint32_t>(rng.Below(2))},
                       rng.OneIn(4),
                       rng.OneIn(6) ? "" : absl::StrCat("n", epoch, ".", n, ";"),
                       rng.OneIn(2)});
    }
    return notes;
  }
  static size_t NotesBefore(EpochId epoch) {
    size_t count = 0;
    for (EpochId e = 1; e < epoch; ++e) count += NotesOf(e).size();
    return count;
  }

  FileSystem* const fs_;
  const JobLogOptions options_;
  Expectation expected_;
  std::unique_ptr<JobLog> log_;
  EpochId reported_ = 0, begun_ = 0;
  size_t notes_ = 0, notes_durable_ = 0, notes_begun_ = 0;
  int rewritten_ = 0;
};

constexpr FileOperation kFallible[] = {FileOperation::kCreate,        FileOperation::kAppend,
                                       FileOperation::kSync,          FileOperation::kSyncDirectory,
                                       FileOperation::kRemove,        FileOperation::kTruncate,
                                       FileOperation::kRewriteInPlace};

// From wherever it is, the job gets to its end and everything is there.
void ExpectToFinish(ScriptedJob* job, MemoryFileSystem* fs) {
  Status status = job->OpenAndCheck();
  ASSERT_TRUE(status.ok()) << status;
  status = job->Run();
  ASSERT_TRUE(status.ok()) << status;
  job->Crash();
  fs->DropUnsynced();
  status = job->OpenAndCheck();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(job->last_sealed(), kEpochs);
  job->Crash();
}

TEST(JobLogCrashTest, TheHistoryExercisesEverything) {
  MemoryFileSystem fs;
  ScriptedJob job(&fs);
  ASSERT_TRUE(job.OpenAndCheck().ok());
  ASSERT_TRUE(job.Run().ok());
  EXPECT_GT(job.rewritten(), 0);
  EXPECT_GT(fs.Count(FileOperation::kCreate), 3u) << "segments follow each other";
  EXPECT_GT(fs.Count(FileOperation::kRemove), 1u) << "old segments go";
  job.Crash();
  ExpectToFinish(&job, &fs);
}

TEST(JobLogCrashTest, AnyOperationMayFailOnceAndThenThePowerGoes) {
  MemoryFileSystem clean_fs;
  ScriptedJob clean(&clean_fs);
  ASSERT_TRUE(clean.OpenAndCheck().ok());
  ASSERT_TRUE(clean.Run().ok());
  constexpr int kStrict = 0, kOnlyTheProcessDies = 1, kVariants = 10;
  for (const FileOperation operation : kFallible) {
    for (uint64_t nth = 1; nth <= clean_fs.Count(operation); ++nth) {
      for (int variant = 0; variant < kVariants; ++variant) {
        SCOPED_TRACE(absl::StrCat("operation ", static_cast<int>(operation), " nth ", nth,
                                  " variant ", variant));
        MemoryFileSystem fs;
        fs.FailNth(operation, nth, absl::DataLossError("the disk failed"));
        ScriptedJob job(&fs);
        Status status = job.OpenAndCheck();
        if (status.ok()) status = job.Run();
        EXPECT_TRUE(!status.ok() || operation == FileOperation::kRemove);
        job.Crash();
        fs.ClearFaults();
        if (variant == kStrict) {
          fs.DropUnsynced();
        } else if (variant == kOnlyTheProcessDies) {
          // What the next process sees and builds on must hold when the power goes later.
          status = job.OpenAndCheck();
          ASSERT_TRUE(status.ok()) << status;
          job.Crash();
          fs.DropUnsynced();
        } else {
          Rng rng(static_cast<uint64_t>(variant));
          fs.DropUnsynced(&rng);
        }
        ASSERT_NO_FATAL_FAILURE(ExpectToFinish(&job, &fs));
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
  }
}

TEST(JobLogCrashTest, FailuresAndPowerCutsMayComeInAnyNumberAndDuringRecovery) {
  for (uint64_t seed = 0; seed < 1'500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    MemoryFileSystem fs;
    ScriptedJob job(&fs);
    for (int crash = 0; crash < 6; ++crash) {
      const FileOperation operation = kFallible[rng.Below(std::size(kFallible))];
      fs.FailNth(operation, 1 + rng.Below(12), absl::DataLossError("the disk failed"));
      Status status = job.OpenAndCheck();
      if (status.ok()) status = job.Run(1 + rng.Below(kEpochs));
      job.Crash();
      if (rng.OneIn(3)) fs.DropUnsynced();
      if (rng.OneIn(3)) fs.DropUnsynced(&rng);
      if (rng.OneIn(2)) fs.ClearFaults();
      ASSERT_FALSE(testing::Test::HasFailure());
    }
    fs.ClearFaults();
    ASSERT_NO_FATAL_FAILURE(ExpectToFinish(&job, &fs));
  }
}

TEST(JobLogCrashTest, ADiskMayBeFullAtEveryByte) {
  MemoryFileSystem clean_fs;
  ScriptedJob clean(&clean_fs);
  ASSERT_TRUE(clean.OpenAndCheck().ok());
  ASSERT_TRUE(clean.Run().ok());
  for (uint64_t capacity = 0;; ++capacity) {
    SCOPED_TRACE(absl::StrCat("capacity ", capacity));
    MemoryFileSystem fs;
    fs.SetCapacity(capacity);
    ScriptedJob job(&fs);
    Status status = job.OpenAndCheck();
    if (status.ok()) status = job.Run();
    if (status.ok()) break;
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    job.Crash();
    fs.SetCapacity(UINT64_MAX);
    if (capacity % 2 == 0) fs.DropUnsynced();
    ASSERT_NO_FATAL_FAILURE(ExpectToFinish(&job, &fs));
  }
}

// The files of a log, in segments of the size that is the parameter: one epoch each, a few, or all
// in one.
class DamageTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  DamageTest() {
    JobLogOptions options = ScriptedJob::SmallOptions();
    options.segment_bytes = GetParam();
    ScriptedJob job(&fs_, options);
    HB_CHECK(job.OpenAndCheck().ok());
    HB_CHECK(job.Run().ok());
    const StatusOr<std::vector<std::string>> names = fs_.List("/job");
    for (const std::string& name : *names) {
      if (name != "LOCK") files_["/job/" + name] = *ReadFile(fs_, "/job/" + name);
    }
    HB_CHECK(!files_.empty());
    last_ = files_.rbegin()->first;
    final_ = *ContentsOf(fs_);
    HB_CHECK(job.Close().ok());
    closed_ = *ReadFile(fs_, last_);
  }

  struct Found {
    EpochId sealed = 0;
    Contents records, notes;
    bool operator==(const Found&) const = default;
  };
  static StatusOr<Found> ContentsOf(MemoryFileSystem& source) {
    // In a copy, since opening repairs.
    MemoryFileSystem fs;
    HB_RETURN_IF_ERROR(fs.CreateDirectories("/job"));
    const StatusOr<std::vector<std::string>> names = source.List("/job");
    for (const std::string& name : *names) {
      const std::string path = "/job/" + name;
      HB_RETURN_IF_ERROR(WriteFileAtomically(fs, path, *ReadFile(source, path)));
    }
    HB_ASSIGN_OR_RETURN(auto log, JobLog::Open(&fs, "/job", ScriptedJob::SmallOptions()));
    ContentsReader reader;
    HB_RETURN_IF_ERROR(log->Recover(&reader));
    return Found{log->last_sealed(), reader.records, reader.notes};
  }
  StatusOr<Found> With(const std::string& path, const std::string& content) {
    MemoryFileSystem fs;
    HB_CHECK(fs.CreateDirectories("/job").ok());
    for (const auto& [other, bytes] : files_) {
      HB_CHECK(WriteFileAtomically(fs, other, other == path ? content : bytes).ok());
    }
    return ContentsOf(fs);
  }
  static void ExpectNamed(const Status& status, const std::string& path) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("/job/0"));
    EXPECT_TRUE(absl::StrContains(status.message(), "offset") ||
                absl::StrContains(status.message(), "missing"))
        << status;
  }

  MemoryFileSystem fs_;
  std::map<std::string, std::string> files_;  // as after a crash
  std::string last_;
  std::string closed_;  // the last file after an orderly end
  Found final_;
};

TEST_P(DamageTest, EveryFlippedByteIsFoundAfterAnOrderlyEnd) {
  files_[last_] = closed_;
  int found = 0, harmless = 0;
  for (const auto& [path, bytes] : files_) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      SCOPED_TRACE(absl::StrCat(path, " offset ", at));
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      const StatusOr<Found> contents = With(path, damaged);
      if (contents.ok()) {
        ++harmless;
        EXPECT_EQ(*contents, final_);
        EXPECT_EQ(path, last_);
        EXPECT_GE(at, bytes.size() - 48) << "only the mark of the orderly end itself may go";
      } else {
        ++found;
        ExpectNamed(contents.status(), path);
      }
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(found, 1'000);
  EXPECT_EQ(harmless, 48);
}

TEST_P(DamageTest, WithoutAnOrderlyEndOnlyTheLastEpochMayCountAsTorn) {
  for (const auto& [path, bytes] : files_) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      SCOPED_TRACE(absl::StrCat(path, " offset ", at));
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      const StatusOr<Found> contents = With(path, damaged);
      if (contents.ok()) {
        EXPECT_EQ(path, last_);
        EXPECT_GE(contents->sealed, kEpochs - 1);
      } else {
        ExpectNamed(contents.status(), path);
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(DamageTest, AShortenedFileIsDamageUnlessItIsTheLast) {
  for (const auto& [path, bytes] : files_) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      SCOPED_TRACE(absl::StrCat(path, " size ", size));
      const StatusOr<Found> contents = With(path, bytes.substr(0, size));
      if (path != last_) {
        ExpectNamed(contents.status(), path);
      } else if (!contents.ok()) {
        ExpectNamed(contents.status(), path);
      } else {
        EXPECT_LE(contents->sealed, kEpochs);
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SegmentBytes, DamageTest, ::testing::Values(300, 1'500, 100'000));

// Receives everything as it comes.
class Transcript final : public ReplayVisitor {
 public:
  Status OnRecord(EpochId epoch, OperatorId op, uint32_t unit, bool replaces,
                  std::string_view payload) override {
    records.push_back(absl::StrCat(epoch, "/", static_cast<uint32_t>(op), "/", unit, "/", replaces,
                                   "/", std::string(payload)));
    return absl::OkStatus();
  }
  Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    notes[{op, unit}].push_back(std::string(payload));
    return absl::OkStatus();
  }

  std::vector<std::string> records;
  std::map<UnitKey, std::vector<std::string>> notes;
};

TEST(JobLogTruncationTest, RemovingSegmentsDoesNotChangeWhatIsReplayed) {
  size_t removals = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    MemoryFileSystem whole_fs, small_fs;
    const JobLogOptions whole_options = {.job_id = "job", .seed = 1};
    const JobLogOptions small_options = {.job_id = "job",
                                         .segment_bytes = 300 + rng.Below(2'000),
                                         .rewrite_above_bytes = rng.Below(3'000),
                                         .seed = 2};
    auto whole = *JobLog::Open(&whole_fs, "/job", whole_options);
    auto small = *JobLog::Open(&small_fs, "/job", small_options);
    for (EpochId epoch = 1; epoch <= 120; ++epoch) {
      EpochRecords part;
      for (uint64_t n = rng.Below(5); n > 0; --n) {
        part.Add(OperatorId{static_cast<uint32_t>(rng.Below(2))},
                 static_cast<uint32_t>(rng.Below(4)), !rng.OneIn(3),
                 rng.OneIn(4) ? "" : std::string(rng.Below(80), 'x'));
      }
      const EpochRecords* const parts[] = {&part};
      const OperatorId op{static_cast<uint32_t>(rng.Below(2))};
      const bool replaces = rng.OneIn(4);
      const std::string note = rng.OneIn(4) ? "" : absl::StrCat("note ", epoch);
      for (JobLog* log : {whole.get(), small.get()}) {
        if (epoch % 3 == 0) {
          ASSERT_TRUE(log->AppendNote(op, 0, replaces, note, false).ok());
        }
        ASSERT_TRUE(log->Seal(epoch, parts).ok());
      }
      ASSERT_EQ(whole->live_bytes(), small->live_bytes());
      if (!rng.OneIn(10)) continue;
      const uint64_t live_bytes = small->live_bytes();
      whole.reset();
      small.reset();
      whole = *JobLog::Open(&whole_fs, "/job", whole_options);
      small = *JobLog::Open(&small_fs, "/job", small_options);
      ASSERT_EQ(small->live_bytes(), live_bytes);
      Transcript of_whole, of_small;
      ASSERT_TRUE(whole->Recover(&of_whole).ok());
      ASSERT_TRUE(small->Recover(&of_small).ok());
      ASSERT_EQ(of_whole.records, of_small.records);
      ASSERT_EQ(of_whole.notes, of_small.notes);
    }
    removals += small_fs.Count(FileOperation::kRemove);
  }
  EXPECT_GT(removals, 100u);
}

}  // namespace
}  // namespace hornbeam::engine
