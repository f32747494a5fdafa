// Which files of a pattern are new.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_FILE_WATCH_H_
#define HORNBEAM_CONNECTORS_FILES_READ_FILE_WATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/bytes.h"
#include "base/file_system.h"
#include "base/status.h"
#include "hornbeam/io/file_io.h"
#include "hornbeam/io/watch.h"
#include "model/key_hash.h"
#include "model/time.h"

namespace hornbeam::connectors {

struct FileSearch {
  std::string pattern;
  io::EmptyMatchTreatment empty = io::EmptyMatchTreatment::kDisallow;
  std::optional<io::Watch> watch;  // nothing: one look
};

// INVALID_ARGUMENT names the transform and what of its search cannot be.
Status CheckSearch(const FileSearch& search, const std::string& transform);

// Looks once, or every interval. A file is known by a 128-bit fingerprint of its path (and etag,
// where updates count): 16 bytes in memory and in the state for each file ever found, as in Beam.
// Of several watches of one pattern each may take its share. Not thread-safe.
class FileWatch {
 public:
  // Takes the files whose path's hash is `share` modulo `shares`.
  FileWatch(FileSearch search, uint32_t share, uint32_t shares, FileSystem* fs)
      : search_(std::move(search)), share_(share), shares_(shares), fs_(fs) {}

  // It is time to look, again or for the first time.
  bool IsDue(model::ProcessingTime now) const;
  // Appends what is new, by ascending path. UNAVAILABLE: look again later.
  Status Look(model::ProcessingTime now, std::vector<io::FileMetadata>* files);
  // Nothing new will be found any more.
  bool ended() const { return ended_; }
  // When it was looked last; nothing is found that is older. Min() before the first look. Never
  // goes back.
  model::EventTime watermark() const { return watermark_; }

  // What has changed since it was written last, to be restored on top of that; then all.
  bool has_news() const { return has_news_; }
  void PutNews(std::string* out);
  void PutAll(std::string* out);
  // False for malformed bytes. Also reads what PutAll wrote into a new one.
  bool Restore(ByteReader& in);

 private:
  void PutTimes(std::string* out) const;
  model::KeyHash FingerprintOf(const io::FileMetadata& file) const;
  void End(model::ProcessingTime now);

  const FileSearch search_;
  const uint32_t share_;
  const uint32_t shares_;
  FileSystem* const fs_;
  absl::flat_hash_set<model::KeyHash> seen_;
  std::vector<model::KeyHash> news_;
  bool has_news_ = false;
  bool ended_ = false;
  model::EventTime watermark_ = model::EventTime::Min();
  int64_t began_us_ = 0;               // the first look; 0 before it
  int64_t found_us_ = 0;               // the last look that found something, or began_us_
  model::ProcessingTime next_look_{};  // of this process
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_FILE_WATCH_H_
