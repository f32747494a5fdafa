#include "services/bigquery/core/names.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hornbeam::services::bigquery {
namespace {

constexpr size_t kMaxIdLength = 1024;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string Quote(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += quote;
  }
  return out += quote;
}

}  // namespace

std::string TableName::ResourceName() const {
  return absl::StrCat("projects/", project, "/datasets/", dataset, "/tables/", table);
}

Status CheckDatasetId(std::string_view id) {
  bool ok = !id.empty() && id.size() <= kMaxIdLength;
  for (const char c : id)
    ok = ok && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid dataset ID \"", View(id),
                   "\". Dataset IDs must be alphanumeric (plus underscores) and must be at most "
                   "1024 characters long."));
}

Status CheckTableId(std::string_view id) {
  bool ok = !id.empty() && id.size() <= kMaxIdLength;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    ok = ok && (absl::ascii_isalnum(byte) || c == '_' || c == '-' || c == ' ' || byte >= 0x80);
  }
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid table ID \"", View(id),
                   "\". Table IDs may hold letters, digits, underscores, dashes and spaces, and "
                   "must be at most 1024 characters "
                   "long."));
}

StatusOr<TableName> ParseTableResource(std::string_view resource) {
  const std::vector<std::string> parts = absl::StrSplit(View(resource), '/');
  if (parts.size() == 6 && parts[0] == "projects" && parts[2] == "datasets" &&
      parts[4] == "tables" && !parts[1].empty() && !parts[3].empty() && !parts[5].empty()) {
    return TableName{parts[1], parts[3], parts[5]};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid table name '", View(resource),
                   "'; it must be projects/{project}/datasets/{dataset}/tables/{table}."));
}

StatusOr<StreamName> ParseStreamResource(std::string_view resource) {
  const std::vector<std::string> parts = absl::StrSplit(View(resource), '/');
  const bool short_default = parts.size() == 7 && parts[6] == "_default";
  const bool full = parts.size() == 8 && parts[6] == "streams" && !parts[7].empty();
  if ((short_default || full) && parts[0] == "projects" && parts[2] == "datasets" &&
      parts[4] == "tables") {
    return StreamName{{parts[1], parts[3], parts[5]}, parts.back()};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Invalid stream name '", View(resource),
      "'; it must be projects/{project}/datasets/{dataset}/tables/{table}/streams/{stream}."));
}

std::string PhysicalName(std::string_view name) {
  std::string mask;
  bool any = false;
  for (size_t i = 0; i < name.size(); i += 4) {
    int digit = 0;
    for (size_t j = i; j < i + 4 && j < name.size(); ++j) {
      if (absl::ascii_isupper(static_cast<unsigned char>(name[j]))) digit |= 1 << (j - i);
    }
    any = any || digit != 0;
    mask += "0123456789abcdef"[digit];
  }
  return any ? absl::StrCat(View(name), "~", mask) : std::string(name);
}

std::string PhysicalSchema(const DatasetName& name) {
  return PhysicalName(absl::StrCat(name.project, ".", name.dataset));
}

std::string QuoteIdentifier(std::string_view name) { return Quote(name, '"'); }
std::string QuoteLiteral(std::string_view text) { return Quote(text, '\''); }

std::string PhysicalTable(const TableName& name) {
  return absl::StrCat(QuoteIdentifier(PhysicalSchema(name.dataset_name())), ".",
                      QuoteIdentifier(PhysicalName(name.table)));
}

}  // namespace hornbeam::services::bigquery
