#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/read/read_files.h"
#include "connectors/files/read/text_record_reader.h"
#include "hornbeam/io/text_io.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam::io {

PCollection<FileRecord> ReadText::ExpandRecords(Pipeline& pipeline, const std::string& name) const {
  connectors::TextSplit split;
  split.delimiter = delimiter_;
  split.skip_header_records = skip_header_lines_;
  const auto splitting =
      split.can_split() ? connectors::Splitting::kParts : connectors::Splitting::kWholeFiles;
  return connectors::ReadFiles<FileRecord>(
      pipeline, name, "hornbeam:transform:read_text:v1",
      {{pattern_, empty_, watch_}, compression_, splitting},
      [split] { return std::make_unique<connectors::TextRecordReader>(split); });
}

PCollection<std::string> ReadText::Expand(Pipeline& pipeline, const std::string& name) const {
  return ExpandRecords(pipeline, absl::StrCat(name, "/Records"))
      .Apply(name, Map([](FileRecord&& record) { return std::move(record.bytes); }));
}

}  // namespace hornbeam::io
