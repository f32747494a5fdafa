// A source of the records of files.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_READ_FILES_H_
#define HORNBEAM_CONNECTORS_FILES_READ_READ_FILES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "connectors/files/read/files_reader.h"
#include "hornbeam/transforms/create.h"

namespace hornbeam::connectors {

// A watch reads files whole.
template <typename T>
PCollection<T> ReadFiles(Pipeline& pipeline, const std::string& name, const std::string& urn,
                         FilesToRead files,
                         std::function<std::unique_ptr<RecordReader<T>>()> new_records) {
  pipeline.NoteMistake(CheckSearch(files.search, name));
  if (files.search.watch) files.splitting = Splitting::kWholeFiles;
  return Read<T>(urn, kFileSplits, !files.search.watch.has_value(),
                 [files, new_records](
                     uint32_t, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
                   return std::make_unique<FilesReader<T>>(files, new_records());
                 })
      .Expand(pipeline, name);
}

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_READ_FILES_H_
