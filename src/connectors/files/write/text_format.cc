#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hornbeam/io/file_format.h"

namespace hornbeam::io {
namespace {

class TextSink final : public FileSink {
 public:
  explicit TextSink(TextFormatOptions options) : options_(std::move(options)) {}

  StatusOr<std::string> Content(const std::vector<std::string>& records,
                                uint64_t seed) const override {
    std::string content;
    size_t size = options_.header.size() + options_.footer.size() + 2 * options_.delimiter.size();
    for (const std::string& record : records) size += record.size() + options_.delimiter.size();
    content.reserve(size);
    if (!options_.header.empty()) absl::StrAppend(&content, options_.header, options_.delimiter);
    for (const std::string& record : records) absl::StrAppend(&content, record, options_.delimiter);
    if (!options_.footer.empty()) absl::StrAppend(&content, options_.footer, options_.delimiter);
    return content;
  }

 private:
  const TextFormatOptions options_;
};

}  // namespace

FileFormat<std::string> TextFormat(TextFormatOptions options) {
  FileFormat<std::string> format;
  format.suffix = ".txt";
  format.encode = [delimiter = options.delimiter](const std::string& line,
                                                  std::string* record) -> Status {
    if (!delimiter.empty() && line.find(delimiter) != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("a line must not have its delimiter '",
                                                     absl::CEscape(delimiter), "' in it"));
    }
    record->append(line);
    return absl::OkStatus();
  };
  format.sink = std::make_shared<TextSink>(std::move(options));
  return format;
}

}  // namespace hornbeam::io
