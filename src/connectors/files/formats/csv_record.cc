#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "hornbeam/io/csv_io.h"

namespace hornbeam::io {
namespace {

constexpr char kQuote = '"';

Status Misplaced(std::string_view record, size_t at, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("character ", std::min(at, record.size()) + 1, ": ", what));
}

// The field in quotes that begins at *at, behind its first quote; leaves *at behind its last.
Status ParseQuoted(std::string_view record, size_t* at, std::string* field) {
  const size_t begin = *at - 1;
  while (true) {
    const size_t quote = record.find(kQuote, *at);
    if (quote == std::string_view::npos) return Misplaced(record, begin, "a quote is not closed");
    field->append(record.substr(*at, quote - *at));
    *at = quote + 1;
    if (*at == record.size() || record[*at] != kQuote) return absl::OkStatus();
    field->push_back(kQuote);
    ++*at;
  }
}

}  // namespace

Status ParseCsvRecord(std::string_view record, char separator, std::vector<std::string>* fields) {
  for (size_t at = 0;; ++at) {
    std::string& field = fields->emplace_back();
    if (at < record.size() && record[at] == kQuote) {
      ++at;
      HB_RETURN_IF_ERROR(ParseQuoted(record, &at, &field));
      if (at < record.size() && record[at] != separator)
        return Misplaced(record, at, "a field goes on after its closing quote");
    } else {
      const size_t end = std::min(record.find(separator, at), record.size());
      field.assign(record.substr(at, end - at));
      if (const size_t quote = field.find(kQuote); quote != std::string::npos) {
        return Misplaced(record, at + quote, "a quote in a field that does not begin with one");
      }
      at = end;
    }
    if (at == record.size()) return absl::OkStatus();
  }
}

std::string FormatCsvRecord(const std::vector<std::string>& fields, char separator) {
  std::string record;
  const std::string special = {separator, kQuote, '\n', '\r'};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record.push_back(separator);
    // A record of one empty field would be an empty line, which is none.
    const bool quoted = fields[i].find_first_of(special) != std::string::npos ||
                        (fields.size() == 1 && fields[i].empty());
    if (!quoted) {
      record += fields[i];
      continue;
    }
    record.push_back(kQuote);
    for (const char c : fields[i]) record.append(c == kQuote ? 2 : 1, c);
    record.push_back(kQuote);
  }
  return record;
}

const std::string* CsvRow::Find(std::string_view column) const {
  const auto found = std::find(columns->begin(), columns->end(), column);
  return found == columns->end() ? nullptr : &values[static_cast<size_t>(found - columns->begin())];
}

const std::string& CsvRow::Get(std::string_view column) const {
  if (const std::string* const value = Find(column)) return *value;
  throw std::out_of_range(
      absl::StrCat("there is no column '", std::string(column), "' in the CSV file"));
}

}  // namespace hornbeam::io
