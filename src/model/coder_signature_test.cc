#include "model/coder_signature.h"

#include <gtest/gtest.h>

namespace hornbeam::model {
namespace {

struct Order {
  std::string id;
  int64_t amount = 0;
  std::optional<double> discount;
};
HORNBEAM_CODER(Order, id, amount, discount);

struct Purchase {
  std::string number;
  int32_t cents = 0;
  std::optional<double> rebate;
};
HORNBEAM_CODER(Purchase, number, cents, rebate);

TEST(CoderSignature, FollowsTheStructure) {
  EXPECT_EQ(CoderSignature<int64_t>(), "varint");
  EXPECT_EQ((CoderSignature<KV<std::string, std::vector<bool>>>()), "kv<bytes,iterable<bool>>");
  EXPECT_EQ(CoderSignature<Order>(), "row<bytes,varint,nullable<double>>");
}

TEST(CoderSignature, NamesOfStructsAndFieldsDoNotMatter) {
  EXPECT_EQ(CoderSignature<Order>(), CoderSignature<Purchase>());
  EXPECT_NE(CoderSignature<Order>(), (CoderSignature<KV<std::string, int64_t>>()));
}

struct Opaque {};

TEST(CoderSignature, AnythingElseIsItsName) {
  EXPECT_NE(CoderSignature<Opaque>().find("Opaque"), std::string::npos);
  EXPECT_EQ(CoderSignature<Opaque>().find_first_of("[];"), std::string::npos);
}

}  // namespace
}  // namespace hornbeam::model
