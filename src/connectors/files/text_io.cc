#include "hornbeam/io/text_io.h"

#include <memory>
#include <utility>

#include "connectors/files/line_reader.h"
#include "connectors/files/line_writer.h"
#include "engine/job/job_context.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/write.h"

namespace hornbeam::io {
namespace {

class LineEncoder final : public engine::RowEncoder<std::string> {
 public:
  StatusOr<uint32_t> Encode(const std::string& line, EventTime, const Window&, const PaneInfo&,
                            std::string* row) override {
    if (line.find('\n') != std::string::npos) return absl::InvalidArgumentError("a line must not contain a newline");
    row->append(line);
    return 0u;
  }
};

}  // namespace

PCollection<Slice> ReadLines::Expand(Pipeline& pipeline, const std::string& name) const {
  return Read<Slice>("hornbeam:transform:read_lines:v1", Read<Slice>::kOnePerWorker, true,
                     [path = path_](uint32_t, engine::JobContext* job) -> StatusOr<std::unique_ptr<engine::Reader>> {
                       return std::make_unique<connectors::LineReader>(job->options().fs, path,
                                                                       static_cast<uint32_t>(job->options().workers));
                     })
      .Expand(pipeline, name);
}

PCollection<std::string> WriteLines::Expand(const PCollection<std::string>& input, const std::string& name) const {
  Write<std::string, std::string, std::string> write;
  write.urn = "hornbeam:transform:write_lines:v1";
  write.new_writer = [path = path_](engine::JobContext* job) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    return std::make_unique<connectors::LineWriter>(job->options().fs, path, job->options().mode);
  };
  write.new_encoder = [] { return std::make_unique<LineEncoder>(); };
  write.refuse = [](const std::string& line, const Status&) { return line; };
  return write.Expand(input, name).refused;
}

}  // namespace hornbeam::io
