#include "services/bigquery/store/durable_names.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

namespace hornbeam::services::bigquery {

DurableNames::DurableNames(std::vector<std::string> files, FileSystem* fs)
    : files_(std::move(files)), fs_(fs), synced_(files_.size()) {}

Status DurableNames::Sync() {
  bool news = false;
  std::vector<Seen> seen(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    struct stat info;
    if (::stat(files_[i].c_str(), &info) != 0) continue;
    seen[i] = {info.st_ino, info.st_size};
    news |= seen[i].inode != synced_[i].inode || seen[i].size < synced_[i].size;
  }
  if (news) {
    const std::filesystem::path folder = std::filesystem::path(files_[0]).parent_path();
    HB_RETURN_IF_ERROR(fs_->SyncDirectory(folder.empty() ? "." : folder.string()));
  }
  synced_ = std::move(seen);
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
