#include "connectors/files/formats/parquet/parquet_record_reader.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/bytes.h"

namespace hornbeam::connectors {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr size_t kChunkBytes = 1 << 20;

// What of a column is not as io/parquet_io.h has it: the expression that makes it so, or nothing.
std::string Replacement(const std::string& name, const std::string& type) {
  const std::string column = SqlName(name);
  if (type == "BLOB") return absl::StrCat("base64(", column, ")");
  if (type.starts_with("DECIMAL") || type == "HUGEINT" || type == "UHUGEINT")
    return absl::StrCat("CAST(", column, " AS VARCHAR)");
  if (type == "TIMESTAMP WITH TIME ZONE") {
    return absl::StrCat("rtrim(rtrim(strftime(", column,
                        " AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%f'), '0'), '.') || 'Z'");
  }
  if (type == "DOUBLE" || type == "FLOAT") {
    return absl::StrCat("CASE WHEN ", column, " IS NULL OR isfinite(", column, ") THEN to_json(",
                        column, ") WHEN isnan(", column, ") THEN to_json('NaN') WHEN ", column,
                        " > 0 THEN to_json('Infinity') ELSE to_json('-Infinity') END");
  }
  return {};
}

std::string RowsOf(const std::string& file,
                   const std::vector<std::pair<std::string, std::string>>& columns, uint64_t from) {
  std::string replaced;
  for (const auto& [name, type] : columns) {
    const std::string expression = Replacement(name, type);
    if (!expression.empty())
      absl::StrAppend(&replaced, replaced.empty() ? "" : ", ", expression, " AS ", SqlName(name));
  }
  return absl::StrCat("SELECT CAST(to_json(hornbeam_row) AS VARCHAR) FROM (SELECT *",
                      replaced.empty() ? "" : absl::StrCat(" REPLACE (", replaced, ")"),
                      " FROM read_parquet(", file, ")) hornbeam_row OFFSET ", from);
}

}  // namespace

Status ParquetRecordReader::Explain(const Status& status) const {
  if (status.ok()) return status;
  return absl::DataLossError(
      absl::StrCat("'", path_, "' cannot be read as Parquet: ",
                   absl::StrReplaceAll(status.message(), {{disk_path_, path_}, {"\n", " "}})));
}

StatusOr<std::string> ParquetRecordReader::OnDisk(FileStore* store, const FilePart& part) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> bytes,
                      store->OpenForRead(part.file.path, 0));
  std::string local = store->LocalPathOf(part.file.path);
  std::ofstream copy;
  if (local.empty()) {
    HB_ASSIGN_OR_RETURN(copy_, TemporaryFile::Make());
    copy.open(copy_->path(), std::ios::binary);
  }
  // Its first bytes say whether it is one.
  std::string chunk(kChunkBytes, '\0');
  std::string begin;
  while (local.empty() || begin.size() < kMagic.size()) {
    HB_ASSIGN_OR_RETURN(const size_t got, bytes->Read(chunk.data(), chunk.size()));
    if (got == 0) break;
    if (begin.size() < kMagic.size()) begin.append(chunk, 0, std::min(got, kMagic.size()));
    if (local.empty()) copy.write(chunk.data(), static_cast<std::streamsize>(got));
  }
  if (!begin.starts_with(kMagic)) {
    return absl::DataLossError(
        absl::StrCat("'", part.file.path, "' is no Parquet file: it does not begin as one"));
  }
  if (!local.empty()) return local;
  copy.close();
  if (!copy)
    return absl::ResourceExhaustedError(absl::StrCat("copying '", part.file.path, "' to '",
                                                     copy_->path(), "' failed; is the disk full?"));
  return copy_->path();
}

Status ParquetRecordReader::Open(FileStore* store, const FilePart& part,
                                 std::string_view position) {
  rows_ = nullptr;
  copy_ = nullptr;
  path_ = part.file.path;
  read_ = 0;
  if (!position.empty()) {
    ByteReader in(position);
    read_ = in.Varint();
    if (!in.ok()) return absl::DataLossError(absl::StrCat("malformed position in '", path_, "'"));
  }
  HB_ASSIGN_OR_RETURN(disk_path_, OnDisk(store, part));
  if (session_ == nullptr) {
    HB_ASSIGN_OR_RETURN(session_, DuckDbSession::Open());
  }
  const std::string file = SqlText(disk_path_);
  const auto columns = session_->Describe(absl::StrCat("SELECT * FROM read_parquet(", file, ")"));
  if (!columns.ok()) return Explain(columns.status());
  auto rows = session_->Query(RowsOf(file, *columns, read_));
  if (!rows.ok()) return Explain(rows.status());
  rows_ = *std::move(rows);
  return absl::OkStatus();
}

StatusOr<bool> ParquetRecordReader::Next(io::Json* record) {
  std::string text;
  const StatusOr<bool> more = rows_->Next(&text);
  if (!more.ok()) return Explain(more.status());
  if (!*more) return false;
  *record = io::Json::parse(text, nullptr, false);
  if (record->is_discarded()) {
    return absl::UnimplementedError(absl::StrCat(
        "'", path_, "' row ", read_ + 1,
        " has a value inside a list or struct that JSON has not: ", text.substr(0, 200)));
  }
  ++read_;
  return true;
}

void ParquetRecordReader::PutPosition(std::string* position) const { PutVarint(position, read_); }

}  // namespace hornbeam::connectors
