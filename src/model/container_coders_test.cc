#include "model/container_coders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hornbeam::model {
namespace {

enum class Colour : int8_t { kRed = -1, kGreen = 0, kBlue = 5 };

struct Visit {
  std::map<std::string, std::vector<int32_t>> pages;
  std::optional<std::set<int64_t>> tags;
  friend bool operator==(const Visit&, const Visit&) = default;
};
HORNBEAM_CODER(Visit, pages, tags);

template <typename T>
std::string Encoded(const T& value) {
  std::string bytes;
  Coder<T>::Encode(value, &bytes);
  return bytes;
}

template <typename T>
bool Decodes(std::string_view bytes, T* value) {
  ByteReader in(bytes);
  return Coder<T>::Decode(in, value) && in.done();
}

// What is encoded comes back, also over another value; nothing shorter does.
template <typename T>
void ExpectComesBack(const T& value, T read = {}) {
  const std::string bytes = Encoded(value);
  ASSERT_TRUE(Decodes(bytes, &read)) << CoderSignature<T>();
  EXPECT_EQ(read, value) << CoderSignature<T>();
  for (size_t size = 0; size < bytes.size(); ++size) {
    T cut{};
    EXPECT_FALSE(Decodes(std::string_view(bytes).substr(0, size), &cut)) << CoderSignature<T>() << " of " << size << " bytes";
  }
}

TEST(ContainerCoders, ValuesComeBackAndCutOnesAreRefused) {
  ExpectComesBack(1.5f);
  ExpectComesBack(Colour::kRed);
  ExpectComesBack(Colour::kBlue);
  ExpectComesBack(std::pair<std::string, int>("a", -7), {"b", 1});
  ExpectComesBack(std::tuple<std::string, bool, double>("x", true, 2.5));
  ExpectComesBack(std::array<int, 3>{1, 2, 300});
  ExpectComesBack(std::vector<bool>{true, false, true}, {false});
  ExpectComesBack(std::deque<std::string>{"a", "", "bc"}, {"z"});
  ExpectComesBack(std::list<int>{3, 1, 2}, {9});
  ExpectComesBack(std::set<std::string>{"b", "a"}, {"z"});
  ExpectComesBack(std::multiset<int>{2, 1, 2}, {9});
  ExpectComesBack(std::unordered_set<int>{5, 1, 1000}, {9});
  ExpectComesBack(std::unordered_multiset<int>{5, 1, 5}, {9});
  ExpectComesBack(std::map<std::string, int>{{"b", 2}, {"a", 1}}, {{"z", 9}});
  ExpectComesBack(std::map<int, int, std::greater<>>{{1, 2}, {3, 4}});
  ExpectComesBack(std::multimap<int, std::string>{{1, "b"}, {1, "a"}, {0, ""}}, {{9, "z"}});
  ExpectComesBack(std::unordered_map<std::string, int>{{"b", 2}, {"a", 1}}, {{"z", 9}});
  ExpectComesBack(std::unordered_multimap<int, std::string>{{1, "b"}, {1, "a"}}, {{9, "z"}});
  ExpectComesBack(Visit{{{"home", {1, 2}}, {"cart", {}}}, std::set<int64_t>{7}});
}

TEST(ContainerCoders, EveryAlternativeOfAVariantComesBack) {
  static_assert(!Codable<std::variant<int, int*>>);
  using W = std::variant<std::monostate, std::string, std::vector<int>, int>;
  ExpectComesBack(W(), W(5));
  ExpectComesBack(W("text"), W(5));
  ExpectComesBack(W(std::vector<int>{1, 2}));
  ExpectComesBack(W(5), W("text"));
  W read;
  EXPECT_FALSE(Decodes("\x04", &read)) << "there are four alternatives";
}

TEST(ContainerCoders, BytesAreAsDocumented) {
  EXPECT_EQ(Encoded(std::tuple<bool, int>(true, 2)), std::string("\1\2", 2));
  EXPECT_EQ(Encoded(std::variant<std::monostate, int>(3)), std::string("\1\3", 2));
  EXPECT_EQ(Encoded(std::map<int, bool>{{7, true}}), std::string("\0\0\0\1\7\1", 6));
  EXPECT_EQ(Encoded(std::array<int, 2>{1, 2}), std::string("\1\2", 2));
  EXPECT_EQ(Encoded(1.0f), std::string("\x3f\x80\0\0", 4));
}

TEST(ContainerCoders, EqualContainersWithoutAnOrderHaveEqualBytes) {
  std::unordered_map<int, int> up, down;
  for (int i = 0; i < 1000; ++i) up[i] = i;
  for (int i = 999; i >= 0; --i) down[i] = i;
  down.rehash(10'000);
  EXPECT_EQ(Encoded(up), Encoded(down));
}

TEST(ContainerCoders, AKeyThatIsThereTwiceIsRefused) {
  const std::string twice("\0\0\0\2\1\1", 6);
  std::set<int> set;
  std::unordered_set<int> unordered_set;
  std::multiset<int> multiset;
  EXPECT_FALSE(Decodes(twice, &set));
  EXPECT_FALSE(Decodes(twice, &unordered_set));
  EXPECT_TRUE(Decodes(twice, &multiset));
  std::map<bool, bool> map;
  EXPECT_FALSE(Decodes(std::string("\0\0\0\2\1\1\1\0", 8), &map));
}

TEST(ContainerCoders, WhatHasAnOrderIsReadInAny) {
  std::set<int> set;
  EXPECT_TRUE(Decodes(std::string("\0\0\0\2\5\1", 6), &set));
  EXPECT_THAT(set, testing::ElementsAre(1, 5));
}

TEST(ContainerCoders, GarbageAndHugeCountsEndWithTheInput) {
  using T = std::tuple<std::map<std::string, std::vector<bool>>, std::variant<std::monostate, std::deque<int>>,
                       std::unordered_multimap<int, std::list<std::set<double>>>>;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : 0);
    T value;
    if (Decodes(bytes, &value)) {
      T again;
      EXPECT_TRUE(Decodes(Encoded(value), &again));
    }
  }
  std::multiset<bool> set;
  EXPECT_FALSE(Decodes("\xff\xff\xff\xff\1", &set));
  std::vector<bool> vector;
  EXPECT_FALSE(Decodes("\xff\xff\xff\xff\1", &vector));
}

TEST(ContainerCoders, ContainersAreKeys) {
  const std::unordered_set<int> a{1, 2, 3}, b{3, 2, 1};
  EXPECT_EQ(HashKey(a).low, HashKey(b).low);
}

TEST(ContainerCoders, SignaturesFollowTheEncoding) {
  EXPECT_EQ((CoderSignature<std::map<std::string, std::optional<int>>>()), "map<bytes,nullable<varint>>");
  EXPECT_EQ((CoderSignature<std::unordered_map<std::string, int>>()), (CoderSignature<std::map<std::string, int>>()));
  EXPECT_EQ((CoderSignature<std::multimap<bool, int>>()), (CoderSignature<std::vector<KV<bool, int>>>()));
  EXPECT_EQ(CoderSignature<std::unordered_set<int>>(), "set<varint>");
  EXPECT_EQ(CoderSignature<std::multiset<int>>(), CoderSignature<std::deque<int>>());
  EXPECT_EQ(CoderSignature<std::list<float>>(), "iterable<float>");
  EXPECT_EQ((CoderSignature<std::pair<bool, int>>()), (CoderSignature<KV<bool, int>>()));
  EXPECT_EQ((CoderSignature<std::tuple<bool, int, Colour>>()), "row<bool,varint,varint>");
  EXPECT_EQ((CoderSignature<std::array<bool, 4>>()), "array<bool,4>");
  EXPECT_EQ((CoderSignature<std::variant<std::monostate, int>>()), "variant<none,varint>");
  EXPECT_EQ(CoderSignature<Visit>(), "row<map<bytes,iterable<varint>>,nullable<set<varint>>>");
}

}  // namespace
}  // namespace hornbeam::model
