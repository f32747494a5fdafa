// A pattern of file paths, as Beam's file systems match them.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_FILE_PATTERN_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_FILE_PATTERN_H_

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hornbeam::connectors {

//   *       any characters but '/', none too
//   **      any characters
//   ?       one character but '/'
//   [a-c]   one of them; [!a-c] and [^a-c] one that is not among them, and not '/'
//   \x      x itself
//
// Matching takes time in proportion to the lengths of path and pattern, whatever they are.
// Immutable.
class FilePattern {
 public:
  // INVALID_ARGUMENT names the pattern and what is wrong: it is empty, a '[' without its ']', a '\'
  // at the end.
  static StatusOr<FilePattern> Parse(std::string pattern);

  // Of one path, whatever characters it has.
  static FilePattern Literal(std::string_view path);

  bool Matches(std::string_view path) const;
  // Whether a path below the directory can match: listing need not go there otherwise.
  bool CanMatchBelow(std::string_view directory) const;

  // Whether it stands for one path, which is prefix().
  bool is_literal() const { return literal_length_ == tokens_.size(); }
  // The characters before the first wildcard: every path that matches begins with them.
  const std::string& prefix() const { return prefix_; }
  // Of prefix(), what stands before its last '/'; "/" for the root, "." where there is none.
  std::string directory() const;
  const std::string& text() const { return text_; }

 private:
  struct Token {
    enum class Kind { kCharacter, kAnyOf, kStar, kDoubleStar };
    Kind kind = Kind::kCharacter;
    char character = 0;
    std::bitset<256> any_of{};
  };
  // Which tokens may come next; bit n stands for "tokens up to n have matched".
  using States = std::vector<bool>;

  FilePattern() = default;
  StatusOr<size_t> ParseClass(size_t at);
  States Begin() const;
  // Stars match nothing at all, too.
  void PassStars(States* states) const;
  void Advance(char c, States* states) const;
  States After(std::string_view text) const;

  std::string text_;
  std::string prefix_;
  std::vector<Token> tokens_;
  size_t literal_length_ = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_FILE_PATTERN_H_
