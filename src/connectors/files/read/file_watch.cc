#include "connectors/files/read/file_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/store/file_pattern.h"

namespace hornbeam::connectors {

Status CheckSearch(const FileSearch& search, const std::string& transform) {
  const std::string where = absl::StrCat("'", transform, "'");
  HB_RETURN_IF_ERROR(Annotate(FilePattern::Parse(search.pattern).status(), where));
  if (search.watch && search.watch->interval.us <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, " looks for new files every ",
                                                   search.watch->interval.us,
                                                   " microseconds; the interval must be positive"));
  }
  return absl::OkStatus();
}

bool FileWatch::IsDue(model::ProcessingTime now) const { return !ended_ && now >= next_look_; }

model::KeyHash FileWatch::FingerprintOf(const io::FileMetadata& file) const {
  if (!search_.watch->updated_files) return model::HashKeyBytes(file.path);
  return model::HashKeyBytes(absl::StrCat(file.path, "\n", file.etag));
}

Status FileWatch::Look(model::ProcessingTime now, std::vector<io::FileMetadata>* files) {
  if (search_.watch) next_look_ = now + search_.watch->interval;
  // A watch may begin before there is anything.
  const io::EmptyMatchTreatment empty =
      search_.watch ? io::EmptyMatchTreatment::kAllow : search_.empty;
  HB_ASSIGN_OR_RETURN(std::vector<io::FileMetadata> all,
                      io::FindFiles(search_.pattern, empty, fs_));
  if (began_us_ == 0) began_us_ = found_us_ = now.us;
  for (io::FileMetadata& file : all) {
    if (model::HashKeyBytes(file.path).high % shares_ != share_) continue;
    if (search_.watch) {
      const model::KeyHash fingerprint = FingerprintOf(file);
      if (!seen_.insert(fingerprint).second) continue;
      news_.push_back(fingerprint);
    }
    found_us_ = std::max(found_us_, now.us);
    files->push_back(std::move(file));
  }
  watermark_ = std::max(watermark_, model::EventTime::FromMicros(now.us));
  has_news_ = true;
  End(now);
  return absl::OkStatus();
}

void FileWatch::End(model::ProcessingTime now) {
  using Kind = io::WatchTermination::Kind;
  if (!search_.watch) {
    ended_ = true;
    return;
  }
  const io::WatchTermination& termination = search_.watch->termination;
  if (termination.kind == Kind::kAfterTotalOf) ended_ = now.us - began_us_ >= termination.after.us;
  if (termination.kind == Kind::kAfterTimeSinceNewFile)
    ended_ = now.us - found_us_ >= termination.after.us;
}

void FileWatch::PutTimes(std::string* out) const {
  out->push_back(ended_ ? 1 : 0);
  PutSigned(out, watermark_.us);
  PutSigned(out, began_us_);
  PutSigned(out, found_us_);
}

void FileWatch::PutNews(std::string* out) {
  PutTimes(out);
  PutVarint(out, news_.size());
  for (const model::KeyHash& hash : news_) {
    PutFixed64(out, hash.low);
    PutFixed64(out, hash.high);
  }
  news_.clear();
  has_news_ = false;
}

void FileWatch::PutAll(std::string* out) {
  news_.assign(seen_.begin(), seen_.end());
  std::sort(news_.begin(), news_.end());
  PutNews(out);
}

bool FileWatch::Restore(ByteReader& in) {
  ended_ = in.Byte() != 0;
  watermark_.us = in.Signed();
  began_us_ = in.Signed();
  found_us_ = in.Signed();
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    model::KeyHash hash;
    hash.low = in.Fixed64();
    hash.high = in.Fixed64();
    seen_.insert(hash);
  }
  return in.ok();
}

}  // namespace hornbeam::connectors
