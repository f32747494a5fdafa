#include "connectors/files/read/text_record_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hornbeam::io {

std::string FileRecord::Place() const {
  return line > 0 ? absl::StrCat("'", *file, "' line ", line)
                  : absl::StrCat("'", *file, "' byte ", offset);
}

}  // namespace hornbeam::io

namespace hornbeam::connectors {

Status TextRecordReader::Open(FileStore* store, const FilePart& part, std::string_view position) {
  part_ = part;
  path_ = std::make_shared<const std::string>(part.file.path);
  BeginRecord();
  if (!position.empty()) {
    ByteReader in(position);
    const uint64_t offset = in.Varint();
    line_ = in.Signed();
    if (!in.ok())
      return absl::DataLossError(absl::StrCat("malformed position in '", part.file.path, "'"));
    return window_.Open(store, part, offset);
  }
  line_ = part.begin == 0 ? 1 : 0;
  // From the byte before: what it ends is the record of another part, perhaps an empty rest of it.
  HB_RETURN_IF_ERROR(window_.Open(store, part, part.begin == 0 ? 0 : part.begin - 1));
  const int64_t skip = part.begin == 0 ? split_.skip_header_records : 1;
  for (int64_t i = 0; i < skip; ++i) {
    HB_ASSIGN_OR_RETURN(const bool skipped, SkipRecord());
    if (!skipped) break;
  }
  return absl::OkStatus();
}

// The length of the delimiter at `at`, 0 where there is none.
size_t TextRecordReader::AtDelimiter(std::string_view view, size_t at, bool* certain) const {
  if (!split_.delimiter.empty()) {
    const std::string_view rest = view.substr(at, split_.delimiter.size());
    if (rest == split_.delimiter) return rest.size();
    if (rest.size() < split_.delimiter.size() && split_.delimiter.starts_with(rest))
      *certain = false;
    return 0;
  }
  if (view[at] == '\n') return 1;
  if (view[at] != '\r') return 0;
  if (at + 1 == view.size()) *certain = false;
  return at + 1 < view.size() && view[at + 1] == '\n' ? 2 : 1;
}

void TextRecordReader::BeginRecord() {
  scanned_ = 0;
  in_quotes_ = false;
  field_begins_ = true;
}

// A quote in a field that has ended with one goes on with the field: two of them stand for one.
void TextRecordReader::PassQuotes(char c) {
  if (in_quotes_) {
    if (c == split_.quote) {
      in_quotes_ = false;
      field_begins_ = true;
    }
    return;
  }
  in_quotes_ = c == split_.quote && field_begins_;
  field_begins_ = c == split_.separator;
}

TextRecordReader::Found TextRecordReader::Scan(bool* certain) {
  const std::string_view view = window_.view();
  const char first = split_.delimiter.empty() ? '\n' : split_.delimiter[0];
  for (; scanned_ < view.size(); ++scanned_) {
    const char c = view[scanned_];
    if (c == '\n') ++lines_in_record_;
    if (split_.quote != 0) PassQuotes(c);
    if (in_quotes_ || !(c == first || (c == '\r' && split_.delimiter.empty()))) continue;
    const size_t length = AtDelimiter(view, scanned_, certain);
    if (!*certain) {
      if (c == '\n') --lines_in_record_;
      return {scanned_, length};
    }
    if (length > 0) {
      const std::string_view rest = view.substr(scanned_ + 1, length - 1);
      lines_in_record_ += std::count(rest.begin(), rest.end(), '\n');
      return {scanned_, length};
    }
  }
  return {};
}

StatusOr<TextRecordReader::Found> TextRecordReader::FindEnd() {
  lines_in_record_ = 0;
  while (true) {
    bool certain = true;
    const Found found = Scan(&certain);
    if (found.at != std::string::npos && certain) return found;
    if (window_.view().size() > split_.longest_record_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "'", *path_, "': the record at byte ", window_.offset(), " is longer than ",
          split_.longest_record_bytes, " bytes", in_quotes_ ? "; is a quote not closed?" : ""));
    }
    HB_ASSIGN_OR_RETURN(const bool more, window_.Grow());
    if (more) continue;
    if (found.length > 0) return found;  // a carriage return at the very end
    return Found{window_.view().size(), 0};
  }
}

void TextRecordReader::Pass(const Found& end) {
  if (line_ > 0)
    line_ += split_.delimiter.empty() && end.length == 1 && window_.view()[end.at] == '\r'
                 ? lines_in_record_ + 1
                 : lines_in_record_;
  window_.Consume(end.at + end.length);
  BeginRecord();
}

StatusOr<bool> TextRecordReader::SkipRecord() {
  HB_ASSIGN_OR_RETURN(const Found end, FindEnd());
  if (end.at + end.length == 0) return false;
  Pass(end);
  return true;
}

StatusOr<bool> TextRecordReader::Next(io::FileRecord* record) {
  if (window_.offset() >= part_.end) return false;
  HB_ASSIGN_OR_RETURN(const Found end, FindEnd());
  if (end.at + end.length == 0) return false;  // behind the last delimiter there is nothing
  record->file = path_;
  record->line = line_;
  record->offset = window_.offset();
  record->bytes.assign(window_.view().substr(0, end.at));
  Pass(end);
  return true;
}

void TextRecordReader::PutPosition(std::string* position) const {
  PutVarint(position, window_.offset());
  PutSigned(position, line_);
}

}  // namespace hornbeam::connectors
