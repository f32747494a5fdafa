#include "connectors/files/read/watch_reader.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "connectors/files/store/file_pattern.h"
#include "engine/job/job_context.h"

namespace hornbeam::connectors {

using engine::Polled;
using model::EventTime;

Status WatchReader::Open(const engine::ReaderContext& context) {
  context_ = context;
  HB_RETURN_IF_ERROR(FilePattern::Parse(search_.pattern).status());
  watch_ = std::make_unique<FileWatch>(search_, 0, 1, context.job->options().fs);
  return absl::OkStatus();
}

Status WatchReader::Look() {
  std::vector<io::FileMetadata> files;
  const Status looked = watch_->Look(context_.job->Now(), &files);
  if (absl::IsUnavailable(looked)) return absl::OkStatus();  // it is asked again at the next time
  HB_RETURN_IF_ERROR(looked);
  pending_.assign(files.begin(), files.end());
  changed_ = true;
  return absl::OkStatus();
}

StatusOr<Polled> WatchReader::Poll(size_t max_elements) {
  Polled polled;
  polled.state = Polled::State::kFinished;
  if (drained_) return polled;
  if (pending_.empty() && watch_->IsDue(context_.job->Now())) HB_RETURN_IF_ERROR(Look());
  polled.watermark = watch_->watermark();
  if (pending_.empty()) {
    if (!watch_->ended()) polled.state = Polled::State::kNothing;
    return polled;
  }
  auto batch = std::make_unique<engine::TypedBatch<io::FileMetadata>>();
  for (; !pending_.empty() && batch->values.size() < max_elements; pending_.pop_front()) {
    batch->Append(std::move(pending_.front()), watch_->watermark(), model::Window::Global(),
                  model::PaneInfo::NoFiring());
  }
  changed_ = true;
  polled.state = Polled::State::kData;
  polled.batch = std::move(batch);
  return polled;
}

void WatchReader::PutPending(std::string* out) const {
  PutVarint(out, pending_.size());
  for (const io::FileMetadata& file : pending_) model::Coder<io::FileMetadata>::Encode(file, out);
}

Status WatchReader::OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) {
  if (!changed_) return absl::OkStatus();
  if (!recorded_any_) return Rewrite(records);
  std::string news;
  watch_->PutNews(&news);
  PutPending(&news);
  records->Add(false, news);
  changed_ = false;
  return absl::OkStatus();
}

Status WatchReader::Rewrite(engine::ReaderRecords* records) {
  std::string all;
  watch_->PutAll(&all);
  PutPending(&all);
  records->Add(true, all);
  recorded_any_ = true;
  changed_ = false;
  return absl::OkStatus();
}

Status WatchReader::Restore(bool replaces, std::string_view payload) {
  ByteReader in(payload);
  bool good = watch_->Restore(in);
  pending_.clear();
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    good = model::Coder<io::FileMetadata>::Decode(in, &pending_.emplace_back()) && good;
  }
  if (!good || !in.ok() || !in.done()) {
    return absl::DataLossError(
        absl::StrCat("the log holds a malformed state of the watch of '", search_.pattern, "'"));
  }
  recorded_any_ = true;
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
