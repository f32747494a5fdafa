#include "connectors/files/store/file_store.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "connectors/files/store/local_file_store.h"

namespace hornbeam::connectors {
namespace {

class Schemes {
 public:
  void Set(const std::string& scheme, NewFileStore new_store) {
    MutexLock lock(&mutex_);
    stores_[scheme] = std::move(new_store);
  }
  StatusOr<std::shared_ptr<FileStore>> New(const std::string& scheme, std::string_view path) const {
    NewFileStore new_store;
    {
      MutexLock lock(&mutex_);
      const auto found = stores_.find(scheme);
      if (found == stores_.end()) {
        std::string known;
        for (const auto& [name, store] : stores_) absl::StrAppend(&known, ", ", name, "://");
        return absl::UnimplementedError(
            absl::StrCat("'", std::string(path), "': there is no store for ", scheme,
                         ":// in this program; it has local paths", known));
      }
      new_store = found->second;
    }
    return new_store();
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, NewFileStore> stores_ ABSL_GUARDED_BY(mutex_);
};

Schemes& AllSchemes() {
  static Schemes* const schemes = new Schemes;
  return *schemes;
}

}  // namespace

void RegisterFileStore(const std::string& scheme, NewFileStore new_store) {
  AllSchemes().Set(scheme, std::move(new_store));
}

StatusOr<std::shared_ptr<FileStore>> FileStoreOf(std::string_view path, FileSystem* fs) {
  const size_t colon = path.find("://");
  if (colon == std::string_view::npos) return std::make_shared<LocalFileStore>(fs);
  return AllSchemes().New(std::string(path.substr(0, colon)), path);
}

}  // namespace hornbeam::connectors
