#include "hornbeam/io/file_io.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/compression/decompress.h"
#include "connectors/files/read/watch_reader.h"
#include "connectors/files/store/file_store.h"
#include "hornbeam/state.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {
namespace {

using connectors::FilePattern;
using connectors::FileStore;

Status NothingMatches(const FilePattern& pattern, FileSystem* fs) {
  std::string message = pattern.is_literal()
                            ? absl::StrCat("there is no file '", pattern.text(), "'")
                            : absl::StrCat("no file matches '", pattern.text(), "'");
  if (pattern.text().find("://") == std::string::npos && !fs->Exists(pattern.directory())) {
    absl::StrAppend(&message, ": the directory '", pattern.directory(), "' does not exist");
  }
  return absl::NotFoundError(message);
}

// Stands behind an exchange by path: it has no state.
struct OpenFiles : StatefulDoFn {
  Compression compression = Compression::kAuto;
  FileSystem* fs = nullptr;

  void ProcessElement(const KV<std::string, FileMetadata>& file,
                      OutputReceiver<ReadableFile>& out) {
    const StatusOr<Compression> resolved = ResolveCompression(compression, file.key);
    if (!resolved.ok()) throw std::runtime_error(std::string(resolved.status().message()));
    out.Output(ReadableFile(file.value, *resolved, fs));
  }
};

PCollection<FileMetadata> Found(Pipeline& pipeline, const std::string& name,
                                const connectors::FileSearch& search) {
  pipeline.NoteMistake(connectors::CheckSearch(search, name));
  return Read<FileMetadata>("hornbeam:transform:match_continuously:v1", 1, false,
                            [search](uint32_t, engine::JobContext*) {
                              return std::make_unique<connectors::WatchReader>(search);
                            })
      .Expand(pipeline, name);
}

}  // namespace

StatusOr<std::vector<FileMetadata>> FindFiles(const std::string& pattern, EmptyMatchTreatment empty,
                                              FileSystem* fs) {
  HB_ASSIGN_OR_RETURN(const FilePattern parsed, FilePattern::Parse(pattern));
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<FileStore> store, connectors::FileStoreOf(pattern, fs));
  HB_ASSIGN_OR_RETURN(std::vector<FileMetadata> files, store->List(parsed));
  const bool allowed = empty == EmptyMatchTreatment::kAllow ||
                       (empty == EmptyMatchTreatment::kAllowIfWildcard && !parsed.is_literal());
  if (files.empty() && !allowed) return NothingMatches(parsed, fs);
  return files;
}

PCollection<FileMetadata> MatchFiles::Expand(Pipeline& pipeline, const std::string& name) const {
  if (watch_) return Found(pipeline, name, {pattern_, empty_, watch_});
  return pipeline
      .Apply(absl::StrCat(name, "/Pattern"),
             Create<std::string>(std::vector<std::string>{pattern_}))
      .Apply(name, MatchAll().WithEmptyMatchTreatment(empty_));
}

// One element, and all that it gives, in one epoch: after a crash the same files are there, or it
// is done anew.
PCollection<FileMetadata> MatchAll::Expand(const PCollection<std::string>& patterns,
                                           const std::string& name) const {
  FileSystem* const fs = patterns.pipeline().options().fs;
  return patterns.Apply(
      name, ParDo<FileMetadata>([fs, empty = empty_](const std::string& pattern,
                                                     OutputReceiver<FileMetadata>& out) {
        StatusOr<std::vector<FileMetadata>> files = FindFiles(pattern, empty, fs);
        if (!files.ok()) throw std::runtime_error(std::string(files.status().message()));
        for (FileMetadata& file : *files) out.Output(std::move(file));
      }));
}

StatusOr<std::string> ReadableFile::ReadFully(uint64_t limit_bytes) const {
  HB_ASSIGN_OR_RETURN(const Compression compression,
                      ResolveCompression(compression_, metadata_.path));
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<FileStore> store,
                      connectors::FileStoreOf(metadata_.path, fs_));
  HB_ASSIGN_OR_RETURN(std::unique_ptr<connectors::ByteSource> bytes,
                      store->OpenForRead(metadata_.path, 0));
  const auto content = connectors::Decompress(std::move(bytes), compression, metadata_.path);
  StatusOr<std::string> all = connectors::ReadAllBytes(*content, limit_bytes);
  if (absl::IsResourceExhausted(all.status()))
    return Annotate(all.status(), absl::StrCat("reading '", metadata_.path, "'"));
  return all;
}

PCollection<ReadableFile> ReadMatches::Expand(const PCollection<FileMetadata>& files,
                                              const std::string& name) const {
  OpenFiles open;
  open.compression = compression_;
  open.fs = files.pipeline().options().fs;
  return files
      .Apply(absl::StrCat(name, "/ByPath"), Map([](const FileMetadata& file) {
               return KV<std::string, FileMetadata>{file.path, file};
             }))
      .Apply(name, ParDo<ReadableFile>(open));
}

}  // namespace hornbeam::io
