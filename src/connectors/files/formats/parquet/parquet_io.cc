#include "hornbeam/io/parquet_io.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/formats/parquet/duckdb_session.h"
#include "connectors/files/formats/parquet/parquet_record_reader.h"
#include "connectors/files/formats/parquet/row_check.h"
#include "connectors/files/formats/parquet/temporary_file.h"
#include "connectors/files/read/read_files.h"

namespace hornbeam::io {
namespace {

using connectors::DuckDbSession;
using connectors::SqlName;
using connectors::SqlText;
using connectors::TemporaryFile;

constexpr size_t kLeastObjectBytes = 1 << 20;

StatusOr<std::string> SqlType(const TableColumn& column, bool nested);

StatusOr<std::string> StructType(const TableColumn& column) {
  std::string fields;
  for (const TableColumn& field : column.columns) {
    HB_ASSIGN_OR_RETURN(const std::string type, SqlType(field, true));
    absl::StrAppend(&fields, fields.empty() ? "" : ", ", SqlName(field.name), " ", type);
  }
  if (fields.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("the record '", column.name, "' has no columns"));
  return absl::StrCat("STRUCT(", fields, ")");
}

StatusOr<std::string> ScalarType(const TableColumn& column, bool nested) {
  switch (column.type) {
    case ColumnType::kString:
    case ColumnType::kJson: return "VARCHAR";
    case ColumnType::kInt64: return "BIGINT";
    case ColumnType::kFloat64: return "DOUBLE";
    case ColumnType::kBool: return "BOOLEAN";
    case ColumnType::kTimestamp: return "TIMESTAMPTZ";
    case ColumnType::kDate: return "DATE";
    case ColumnType::kTime: return "TIME";
    case ColumnType::kDatetime: return "TIMESTAMP";
    case ColumnType::kNumeric: return "DECIMAL(38, 9)";
    case ColumnType::kRecord: return StructType(column);
    case ColumnType::kBytes:
      if (!nested) return "VARCHAR";  // base64, decoded on the way
      [[fallthrough]];
    default:
      return absl::UnimplementedError(absl::StrCat(
          "column '", column.name, "' is ", ToString(column.type),
          nested ? " in a list or record" : "", ", which cannot be written to Parquet"));
  }
}

StatusOr<std::string> SqlType(const TableColumn& column, bool nested) {
  const bool repeated = column.mode == ColumnMode::kRepeated;
  HB_ASSIGN_OR_RETURN(const std::string type, ScalarType(column, nested || repeated));
  return repeated ? absl::StrCat(type, "[]") : type;
}

// Records are rows as JSON text.
class ParquetSink final : public FileSink {
 public:
  ParquetSink(std::string columns, std::string decoded)
      : columns_(std::move(columns)), decoded_(std::move(decoded)) {}

  StatusOr<std::string> Content(const std::vector<std::string>& records,
                                uint64_t seed) const override {
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFile> rows, TemporaryFile::Make());
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFile> file, TemporaryFile::Make());
    std::ofstream out(rows->path(), std::ios::binary);
    size_t longest = kLeastObjectBytes;  // DuckDB makes room for two of them
    for (const std::string& record : records) {
      out << record << '\n';
      longest = std::max(longest, record.size() + 1);
    }
    out.close();
    if (!out)
      return absl::ResourceExhaustedError(
          absl::StrCat("writing '", rows->path(), "' failed; is the disk full?"));
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<DuckDbSession> session, DuckDbSession::Open());
    HB_RETURN_IF_ERROR(session->Run(absl::StrCat(
        "COPY (SELECT *", decoded_, " FROM read_json(", SqlText(rows->path()),
        ", format = 'newline_delimited', maximum_object_size = ", longest, ", columns = {",
        columns_, "})) TO ", SqlText(file->path()), " (FORMAT parquet, COMPRESSION zstd)")));
    std::ifstream in(file->path(), std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    if (!in || !content)
      return absl::DataLossError(absl::StrCat("reading '", file->path(), "' failed"));
    return std::move(content).str();
  }

 private:
  const std::string columns_;  // as read_json takes them
  const std::string decoded_;  // a REPLACE of the columns that are base64
};

StatusOr<std::shared_ptr<const FileSink>> NewSink(const TableSchema& schema) {
  std::string columns, decoded;
  for (const TableColumn& column : schema.columns) {
    HB_ASSIGN_OR_RETURN(const std::string type, SqlType(column, false));
    absl::StrAppend(&columns, columns.empty() ? "" : ", ", SqlName(column.name), ": ",
                    SqlText(type));
    if (column.type != ColumnType::kBytes) continue;
    absl::StrAppend(&decoded, decoded.empty() ? " REPLACE (" : ", ", "from_base64(",
                    SqlName(column.name), ") AS ", SqlName(column.name));
  }
  if (columns.empty()) return absl::InvalidArgumentError("a Parquet file needs a column");
  if (!decoded.empty()) decoded += ")";
  return std::make_shared<const ParquetSink>(std::move(columns), std::move(decoded));
}

}  // namespace

PCollection<Json> ReadParquet::Expand(Pipeline& pipeline, const std::string& name) const {
  return connectors::ReadFiles<Json>(
      pipeline, name, "hornbeam:transform:read_parquet:v1",
      {{pattern_, empty_, watch_}, Compression::kUncompressed, connectors::Splitting::kWholeFiles},
      [] { return std::make_unique<connectors::ParquetRecordReader>(); });
}

FileFormat<Json> ParquetFormat(TableSchema schema) {
  FileFormat<Json> format;
  format.suffix = ".parquet";
  StatusOr<std::shared_ptr<const FileSink>> sink = NewSink(schema);
  format.mistake = sink.status();
  if (!sink.ok()) return format;
  format.sink = *std::move(sink);
  format.encode = [columns = std::move(schema.columns)](const Json& row,
                                                        std::string* record) -> Status {
    HB_RETURN_IF_ERROR(connectors::CheckRow(columns, row));
    *record = row.dump();
    return absl::OkStatus();
  };
  return format;
}

}  // namespace hornbeam::io
