// Records of text files: lines, and the records of CSV.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_TEXT_RECORD_READER_H_
#define HORNBEAM_CONNECTORS_FILES_READ_TEXT_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "connectors/files/read/byte_window.h"
#include "connectors/files/read/record_reader.h"
#include "hornbeam/io/file_record.h"

namespace hornbeam::connectors {

struct TextSplit {
  // Empty: a newline, a carriage return, or both in this order, as in Beam.
  std::string delimiter = "";
  // A field that begins with a quote ends with one; delimiters in between do not count (CSV). 0: no
  // quotes.
  char quote = 0;
  char separator = ',';  // of fields, where there are quotes
  // So many records at the beginning of each file are left out.
  int64_t skip_header_records = 0;
  uint64_t longest_record_bytes = uint64_t{256} << 20;

  bool can_split() const { return delimiter.size() <= 1 && quote == 0 && skip_header_records == 0; }
};

class TextRecordReader final : public RecordReader<io::FileRecord> {
 public:
  explicit TextRecordReader(TextSplit split) : split_(std::move(split)) {}

  Status Open(FileStore* store, const FilePart& part, std::string_view position) override;
  StatusOr<bool> Next(io::FileRecord* record) override;
  void PutPosition(std::string* position) const override;

 private:
  // A delimiter in the window: where it begins, and its length; npos where the rest of the file has
  // none.
  struct Found {
    size_t at = std::string::npos;
    size_t length = 0;
  };
  // Makes the record that begins the window, and its delimiter, part of the window's view.
  StatusOr<Found> FindEnd();
  // The same in the view as it is, from `scanned_` on; not `certain` where more of the file may
  // change it.
  Found Scan(bool* certain);
  size_t AtDelimiter(std::string_view view, size_t at, bool* certain) const;
  void PassQuotes(char c);
  void BeginRecord();
  StatusOr<bool> SkipRecord();
  void Pass(const Found& end);

  const TextSplit split_;
  FilePart part_;
  std::shared_ptr<const std::string> path_;
  ByteWindow window_;
  int64_t line_ = 1;  // on which the next record begins; 0: not known
  int64_t lines_in_record_ = 0;
  size_t scanned_ = 0;  // of the view: there is no delimiter in it
  // At scanned_, where there are quotes:
  bool in_quotes_ = false;
  bool field_begins_ = true;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_TEXT_RECORD_READER_H_
