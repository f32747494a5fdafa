#include "hornbeam/io/write_files.h"

#include <memory>
#include <utility>
#include <vector>

#include "connectors/files/compression/compress.h"
#include "connectors/files/write/file_writer.h"
#include "engine/job/job_context.h"
#include "hornbeam/transforms/group_by_key.h"
#include "hornbeam/transforms/write.h"
#include "model/key_hash.h"

namespace hornbeam::io::internal {
namespace {

using Shard = KV<int64_t, std::vector<std::string>>;

// Makes the file of a pane, on the worker that has it.
class PaneEncoder final : public engine::RowEncoder<Shard> {
 public:
  PaneEncoder(std::shared_ptr<const FileSink> sink, WriteFilesSettings settings)
      : sink_(std::move(sink)), settings_(std::move(settings)) {}

  StatusOr<uint32_t> Encode(const Shard& shard, EventTime, const Window& window,
                            const PaneInfo& pane, std::string* row) override {
    FileResult file{
        "", window, pane, shard.key, settings_.shards, static_cast<int64_t>(shard.value.size()), 0};
    file.path =
        settings_.naming({window, pane, shard.key, settings_.shards, settings_.compression});
    HB_ASSIGN_OR_RETURN(std::string content,
                        sink_->Content(shard.value, model::HashKeyBytes(file.path).low));
    HB_ASSIGN_OR_RETURN(content, connectors::Compress(std::move(content), settings_.compression));
    file.size_bytes = static_cast<int64_t>(content.size());
    connectors::PutFileRow(row, file, content);
    return 0u;
  }

 private:
  const std::shared_ptr<const FileSink> sink_;
  const WriteFilesSettings settings_;
};

// INVALID_ARGUMENT where two files would have one name, as far as can be told beforehand.
Status Check(const WriteFilesSettings& settings) {
  if (settings.shards < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", settings.shards, " shards; write 1 or more"));
  if (settings.compression == Compression::kAuto) {
    return absl::InvalidArgumentError(
        "cannot compress what it writes with 'auto'; say kGzip, kZstd or kUncompressed");
  }
  const Window an_hour{EventTime::FromSeconds(0), EventTime::FromSeconds(3600)};
  if (settings.shards > 1 &&
      settings.naming({an_hour, {}, 0, settings.shards, settings.compression}) ==
          settings.naming({an_hour, {}, 1, settings.shards, settings.compression})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "writes ", settings.shards,
        " shards and gives them all one name; put the shard into the name (S in a template)"));
  }
  return absl::OkStatus();
}

connectors::IfExists IfExistsOf(const WriteFilesSettings& settings, engine::JobContext* job) {
  // At-least-once, what a crash lets come again may be grouped otherwise.
  const bool replace =
      settings.replace_existing || job->options().mode == ProcessingMode::kAtLeastOnce;
  return replace ? connectors::IfExists::kReplace : connectors::IfExists::kMustBeSame;
}

}  // namespace

int64_t ShardOf(const std::string& record, int64_t shards) {
  return shards <= 1 ? 0
                     : static_cast<int64_t>(model::HashKeyBytes(record).low %
                                            static_cast<uint64_t>(shards));
}

PCollection<FileResult> WriteShards(const PCollection<ShardedRecord>& records,
                                    const std::string& name, std::shared_ptr<const FileSink> sink,
                                    const WriteFilesSettings& given) {
  WriteFilesSettings settings = given;
  if (settings.naming == nullptr)
    settings.naming = DefaultFileNaming(settings.output, settings.suffix, settings.shard_template);
  records.pipeline().NoteMistake(Annotate(Check(settings), absl::StrCat("'", name, "'")));

  Write<Shard, std::string, FileResult> write;
  write.urn = "hornbeam:transform:write_files:v1";
  write.new_writer =
      [settings](engine::JobContext* job) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    return std::make_unique<connectors::FileWriter>(settings.output, job->options().fs,
                                                    IfExistsOf(settings, job));
  };
  write.new_encoder = [sink, settings] { return std::make_unique<PaneEncoder>(sink, settings); };
  write.refuse = [](const Shard&, const Status& why) { return std::string(why.message()); };
  const auto written =
      records.Apply(absl::StrCat(name, "/Shards"), GroupByKey()).Apply(name, write);
  // Read here, so that a program need not.
  return written.answers.Apply(absl::StrCat(name, "/Files"),
                               Map([](const FileResult& file) { return file; }));
}

}  // namespace hornbeam::io::internal
