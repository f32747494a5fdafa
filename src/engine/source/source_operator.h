// The root of a stage that begins with a source: polls this worker's readers in turn.
#ifndef HORNBEAM_ENGINE_SOURCE_SOURCE_OPERATOR_H_
#define HORNBEAM_ENGINE_SOURCE_SOURCE_OPERATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/operator.h"
#include "engine/source/reader.h"

namespace hornbeam::engine {

class SourceOperator final : public Operator {
 public:
  using NewReader = std::function<StatusOr<std::unique_ptr<Reader>>(uint32_t split)>;

  SourceOperator(uint32_t splits, NewReader new_reader) : splits_(splits), new_reader_(std::move(new_reader)) {}
  ~SourceOperator() override;

  Status Open(const OperatorContext& context, int outputs) override;
  // Under what id the watermark of each split is kept, beside what the readers record themselves.
  void RecordWatermarksAs(OperatorId id) { watermark_id_ = id; }
  Status RestoreWatermark(uint32_t split, std::string_view payload);
  void RewriteWatermark(UnitKey unit, EpochRecords* records);  // where it is one of these
  // Called from any thread whenever a reader may have something.
  void SetWake(std::function<void()> wake) { wake_ = std::move(wake); }
  Status Start();

  // One poll of one reader. True when something came of it: elements, a new watermark, an end. Then it counts as work under way
  // (JobContext::BeginWork), which the caller ends once all of it has been passed on.
  StatusOr<bool> Poll();
  // The least of the readers'; Max() when all have finished.
  model::EventTime watermark() const;
  bool finished() const;
  void OnDrain() override;
  // Any thread.
  void OnSealed(EpochId epoch);
  Backlog GetBacklog() const;

  Status Process(int input, std::unique_ptr<Batch> batch) override { return absl::InternalError("a source has no input"); }
  Status OnMarker(EpochId epoch, EpochRecords* records) override;
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override;
  Status Rewrite(uint32_t unit, EpochRecords* records) override;

 private:
  struct Split {
    uint32_t number = 0;
    std::unique_ptr<Reader> reader;
    model::EventTime watermark = model::EventTime::Min();
    model::EventTime recorded_watermark = model::EventTime::Min();
    bool finished = false;
    bool over = false;     // it had finished in an earlier run: its reader is not started, and gives nothing
    bool counted = false;  // as work under way: it may have more to give
  };
  void SetCounted(Split& split, bool counted);
  Split* Find(uint32_t number);
  Status NoSuchSplit(uint32_t number) const;
  void RecordWatermark(Split& split, EpochRecords* records);

  const uint32_t splits_;
  const NewReader new_reader_;
  OperatorId watermark_id_{};
  std::function<void()> wake_;
  std::vector<Split> owned_;
  size_t next_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SOURCE_SOURCE_OPERATOR_H_
