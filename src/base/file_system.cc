#include "base/file_system.h"

#include "absl/strings/str_cat.h"

namespace hornbeam {

StatusOr<std::string> ReadFile(FileSystem& fs, const std::string& path) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForRead(path));
  HB_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  std::string content;
  HB_RETURN_IF_ERROR(file->Read(0, size, &content));
  return content;
}

Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view content) {
  const std::string fresh = absl::StrCat(path, ".new");
  {
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs.Create(fresh));
    HB_RETURN_IF_ERROR(file->Append(content));
    HB_RETURN_IF_ERROR(file->Sync());
    HB_RETURN_IF_ERROR(file->Close());
  }
  HB_RETURN_IF_ERROR(fs.Rename(fresh, path));
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return fs.SyncDirectory(".");
  return fs.SyncDirectory(slash == 0 ? "/" : path.substr(0, slash));
}

}  // namespace hornbeam
