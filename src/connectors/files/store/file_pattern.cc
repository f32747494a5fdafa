#include "connectors/files/store/file_pattern.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

Status Malformed(const std::string& pattern, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the file pattern '", pattern, "' ", what));
}

}  // namespace

StatusOr<FilePattern> FilePattern::Parse(std::string pattern) {
  FilePattern parsed;
  parsed.text_ = std::move(pattern);
  const std::string& text = parsed.text_;
  if (text.empty())
    return absl::InvalidArgumentError(
        "a file pattern is empty: name a file, or a pattern such as 'in/*.csv'");
  bool literal = true;
  for (size_t at = 0; at < text.size(); ++at) {
    Token token;
    switch (text[at]) {
      case '*':
        token.kind = at + 1 < text.size() && text[at + 1] == '*' ? Token::Kind::kDoubleStar
                                                                 : Token::Kind::kStar;
        while (token.kind == Token::Kind::kDoubleStar && at + 1 < text.size() &&
               text[at + 1] == '*')
          ++at;
        break;
      case '?':
        token.kind = Token::Kind::kAnyOf;
        token.any_of.set();
        token.any_of.reset('/');
        break;
      case '[': {
        HB_ASSIGN_OR_RETURN(at, parsed.ParseClass(at));
        literal = false;
        continue;
      }
      case '\\':
        if (++at == text.size())
          return Malformed(text, "ends with a '\\' that has nothing to stand in front of");
        [[fallthrough]];
      default: token.character = text[at];
    }
    literal = literal && token.kind == Token::Kind::kCharacter;
    if (literal) {
      parsed.prefix_.push_back(token.character);
      ++parsed.literal_length_;
    }
    parsed.tokens_.push_back(token);
  }
  return parsed;
}

FilePattern FilePattern::Literal(std::string_view path) {
  FilePattern literal;
  literal.text_ = literal.prefix_ = std::string(path);
  literal.literal_length_ = path.size();
  for (const char c : path) {
    Token token;
    token.character = c;
    literal.tokens_.push_back(token);
  }
  return literal;
}

// From the '[' at `at`; gives where its ']' is.
StatusOr<size_t> FilePattern::ParseClass(size_t at) {
  Token token;
  token.kind = Token::Kind::kAnyOf;
  size_t i = at + 1;
  const bool negated = i < text_.size() && (text_[i] == '!' || text_[i] == '^');
  if (negated) ++i;
  for (const size_t first = i; i < text_.size() && (text_[i] != ']' || i == first); ++i) {
    const auto low = static_cast<unsigned char>(text_[i]);
    auto high = low;
    if (i + 2 < text_.size() && text_[i + 1] == '-' && text_[i + 2] != ']') {
      high = static_cast<unsigned char>(text_[i + 2]);
      i += 2;
    }
    if (low > high)
      return Malformed(text_, absl::StrCat("has a range that goes backwards at character ", i + 1));
    for (unsigned c = low; c <= high; ++c) token.any_of.set(c);
  }
  if (i >= text_.size())
    return Malformed(text_, absl::StrCat("has a '[' at character ", at + 1, " without its ']'"));
  if (negated) token.any_of.flip();
  token.any_of.reset('/');
  tokens_.push_back(token);
  return i;
}

std::string FilePattern::directory() const {
  const size_t slash = prefix_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : prefix_.substr(0, slash);
}

void FilePattern::PassStars(States* states) const {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const bool star =
        tokens_[i].kind == Token::Kind::kStar || tokens_[i].kind == Token::Kind::kDoubleStar;
    if ((*states)[i] && star) (*states)[i + 1] = true;
  }
}

FilePattern::States FilePattern::Begin() const {
  States states(tokens_.size() + 1);
  states[0] = true;
  PassStars(&states);
  return states;
}

void FilePattern::Advance(char c, States* states) const {
  States next(tokens_.size() + 1);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!(*states)[i]) continue;
    const Token& token = tokens_[i];
    switch (token.kind) {
      case Token::Kind::kCharacter: next[i + 1] = next[i + 1] || token.character == c; break;
      case Token::Kind::kAnyOf:
        next[i + 1] = next[i + 1] || token.any_of.test(static_cast<unsigned char>(c));
        break;
      case Token::Kind::kStar: next[i] = next[i] || c != '/'; break;
      case Token::Kind::kDoubleStar: next[i] = true; break;
    }
  }
  PassStars(&next);
  *states = std::move(next);
}

FilePattern::States FilePattern::After(std::string_view text) const {
  States states = Begin();
  for (const char c : text) Advance(c, &states);
  return states;
}

bool FilePattern::Matches(std::string_view path) const { return After(path).back(); }

bool FilePattern::CanMatchBelow(std::string_view directory) const {
  States states = After(directory);
  if (!directory.ends_with('/')) Advance('/', &states);
  // The last state has nothing to match a name with.
  return std::find(states.begin(), states.end() - 1, true) != states.end() - 1;
}

}  // namespace hornbeam::connectors
