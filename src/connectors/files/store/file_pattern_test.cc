#include "connectors/files/store/file_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hornbeam::connectors {
namespace {

using testing::HasSubstr;

FilePattern Parse(const std::string& text) {
  StatusOr<FilePattern> pattern = FilePattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *pattern;
}

bool Matches(const std::string& pattern, std::string_view path) {
  return Parse(pattern).Matches(path);
}

TEST(FilePatternTest, AStarStaysInItsDirectory) {
  EXPECT_TRUE(Matches("in/*.csv", "in/a.csv"));
  EXPECT_TRUE(Matches("in/*.csv", "in/.csv"));
  EXPECT_FALSE(Matches("in/*.csv", "in/a/b.csv"));
  EXPECT_FALSE(Matches("in/*.csv", "in/a.csv.gz"));
  EXPECT_TRUE(Matches("*/a*c", "in/abbc"));
  EXPECT_FALSE(Matches("*", "a/b"));
  EXPECT_TRUE(Matches("*", ""));
}

TEST(FilePatternTest, TwoStarsGoDown) {
  EXPECT_TRUE(Matches("in/**", "in/a/b/c"));
  EXPECT_TRUE(Matches("in/**.csv", "in/a/b.csv"));
  EXPECT_TRUE(Matches("in/**.csv", "in/b.csv"));
  EXPECT_TRUE(Matches("in/**/b.csv", "in/a/c/b.csv"));
  EXPECT_FALSE(Matches("in/**/b.csv", "in/b.csv"));  // as in Beam: the second '/' has to be there
  EXPECT_TRUE(Matches("in/***", "in/a/b"));
}

TEST(FilePatternTest, OneCharacter) {
  EXPECT_TRUE(Matches("a?c", "abc"));
  EXPECT_FALSE(Matches("a?c", "ac"));
  EXPECT_FALSE(Matches("a?c", "a/c"));
  EXPECT_TRUE(Matches("a[b-d]e", "ace"));
  EXPECT_FALSE(Matches("a[b-d]e", "aee"));
  EXPECT_TRUE(Matches("a[!b-d]e", "aee"));
  EXPECT_TRUE(Matches("a[^b-d]e", "aee"));
  EXPECT_FALSE(Matches("a[!b]e", "a/e"));
  EXPECT_TRUE(Matches("a[]]e", "a]e"));
  EXPECT_TRUE(Matches("a[x-]e", "a-e"));
  EXPECT_TRUE(Matches("a\\*e", "a*e"));
  EXPECT_FALSE(Matches("a\\*e", "abe"));
}

TEST(FilePatternTest, WhatIsLiteral) {
  EXPECT_TRUE(Parse("a/b\\*c").is_literal());
  EXPECT_EQ(Parse("a/b\\*c").prefix(), "a/b*c");
  EXPECT_FALSE(Parse("a/b*c/d").is_literal());
  EXPECT_EQ(Parse("a/b*c/d").prefix(), "a/b");
  EXPECT_EQ(Parse("a/b*c/d").directory(), "a");
  EXPECT_EQ(Parse("*").directory(), ".");
  EXPECT_EQ(Parse("/x*").directory(), "/");
  EXPECT_EQ(Parse("[ab]").prefix(), "");
}

TEST(FilePatternTest, WhereToLook) {
  const FilePattern pattern = Parse("in/2024-*/x/*.csv");
  EXPECT_TRUE(pattern.CanMatchBelow("in"));
  EXPECT_TRUE(pattern.CanMatchBelow("in/2024-01"));
  EXPECT_TRUE(pattern.CanMatchBelow("in/2024-01/x"));
  EXPECT_FALSE(pattern.CanMatchBelow("in/2024-01/x/y"));
  EXPECT_FALSE(pattern.CanMatchBelow("in/2023-01"));
  EXPECT_FALSE(pattern.CanMatchBelow("in/2024-01/y"));
  EXPECT_TRUE(Parse("in/**").CanMatchBelow("in/a/b/c"));
}

TEST(FilePatternTest, ManyStarsTakeNoLongTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(Matches(pattern + "b", std::string(2000, 'a')));
  EXPECT_TRUE(Matches(pattern, std::string(2000, 'a')));
}

TEST(FilePatternTest, MalformedOnesAreNamed) {
  for (const auto& [text, problem] : {std::pair<const char*, const char*>{"", "empty"},
                                      {"a[b", "'a[b' has a '[' at character 2 without its ']'"},
                                      {"a\\", "'a\\' ends with a '\\'"},
                                      {"[z-a]", "backwards"}}) {
    const Status status = FilePattern::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(problem));
  }
}

}  // namespace
}  // namespace hornbeam::connectors
