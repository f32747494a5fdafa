#include "hornbeam/io/bigquery_io.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "connectors/bigquery/row_descriptor.h"
#include "connectors/bigquery/storage_write_sink.h"
#include "connectors/bigquery/table_check.h"

namespace hornbeam::io::internal {
namespace {

// Where an error carries what there is of the row.
constexpr char kRowPayload[] = "hornbeam.row";

}  // namespace

BigQueryWrite::BigQueryWrite(BigQueryWriteOptions options)
    : options_(std::move(options)) {
  status_ = connectors::CheckWriteOptions(options_);
  table_ = options_.table;
  if (!status_.ok()) return;
  table_ = TableName::Parse(options_.table)->ToString();
  StatusOr<std::unique_ptr<const RowLayout>> layout = RowLayout::Make(options_.schema);
  if (!layout.ok()) {
    status_ = Annotate(layout.status(), absl::StrCat("table '", options_.table, "'"));
    return;
  }
  layout_ = *std::move(layout);
}

StatusOr<std::unique_ptr<engine::SinkWriter>> BigQueryWrite::NewWriter(
    const engine::JobContext& job) const {
  HB_RETURN_IF_ERROR(status_);
  connectors::StorageWriteSink::Options options;
  options.write = options_;
  options.mode = job.options().mode;
  options.job = job.options().name;
  return std::make_unique<connectors::StorageWriteSink>(std::move(options), layout_);
}

Status BigQueryWrite::CheckRow(Status status, const std::string& row) const {
  if (status.ok() && row.size() > connectors::StorageWriteSink::kMaxRowBytes) {
    status = absl::InvalidArgumentError(
        absl::StrCat("the row has ", row.size(), " bytes; BigQuery takes ",
                     connectors::StorageWriteSink::kMaxRowBytes, " at most"));
    status.SetPayload(kRowPayload, absl::Cord());
    return status;
  }
  if (!status.ok() && !row.empty()) {
    status.SetPayload(kRowPayload, absl::Cord(connectors::RowToJson(*layout_, row)));
  }
  return status;
}

FailedRow BigQueryWrite::Failed(const Status& why) const {
  FailedRow failed;
  failed.table = table_;
  failed.error = std::string(why.message());
  if (const auto row = why.GetPayload(kRowPayload)) failed.row = std::string(*row);
  return failed;
}

}  // namespace hornbeam::io::internal
