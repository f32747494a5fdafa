#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "connectors/files/formats/avro/avro_datum.h"
#include "connectors/files/formats/avro/avro_logical.h"
#include "model/time.h"

namespace hornbeam::connectors {
namespace {

using nlohmann::json;
using Kind = AvroType::Kind;
using Logical = AvroType::Logical;

constexpr int kDeepest = 100;
// Values that take no bytes: a few bytes can say that there are any number of them.
constexpr int64_t kMostEmptyValues = 1 << 20;

class Decoder {
 public:
  explicit Decoder(ByteReader* in)
      : in_(*in), values_left_(static_cast<int64_t>(in->remaining()) + kMostEmptyValues) {}

  Status Decode(const AvroType& type, json* value, int depth) {
    if (depth > kDeepest)
      return Damaged(absl::StrCat("is nested deeper than ", kDeepest, " levels"));
    if (--values_left_ < 0) return Damaged("has more empty values than can be");
    switch (type.kind) {
      case Kind::kNull: *value = nullptr; break;
      case Kind::kBoolean: *value = in_.Byte() != 0; break;
      case Kind::kInt:
      case Kind::kLong: *value = Whole(type); break;
      case Kind::kFloat: *value = Floating(std::bit_cast<float>(in_.Fixed32())); break;
      case Kind::kDouble: *value = Floating(std::bit_cast<double>(in_.Fixed64())); break;
      case Kind::kString: *value = std::string(Text()); break;
      case Kind::kBytes: return Bytes(type, Text(), value);
      case Kind::kFixed: return Bytes(type, in_.Raw(type.size), value);
      case Kind::kEnum: {
        const int64_t symbol = in_.Signed();
        if (symbol < 0 || symbol >= static_cast<int64_t>(type.symbols.size()))
          return Damaged("has a symbol that its enum does not have");
        *value = type.symbols[static_cast<size_t>(symbol)];
        break;
      }
      case Kind::kRecord: return Record(type, value, depth);
      case Kind::kArray:
      case Kind::kMap: return Blocks(type, value, depth);
      case Kind::kUnion: {
        const int64_t branch = in_.Signed();
        if (!in_.ok() || branch < 0 || branch >= static_cast<int64_t>(type.branches.size()))
          return Damaged("has a branch that its union does not have");
        return Decode(*type.branches[static_cast<size_t>(branch)], value, depth + 1);
      }
    }
    return in_.ok() ? absl::OkStatus() : Damaged("ends too early");
  }

 private:
  static Status Damaged(absl::string_view what) {
    return absl::DataLossError(absl::StrCat("an Avro value ", what));
  }

  json Whole(const AvroType& type) {
    const int64_t whole = in_.Signed();
    switch (type.logical) {
      case Logical::kTimestampMicros: return FormatTimestamp(whole);
      case Logical::kTimestampMillis:
        return FormatTimestamp(model::internal::SaturatedMultiply(whole, 1000));
      case Logical::kDate: return FormatDate(static_cast<int32_t>(whole));
      default: return whole;
    }
  }

  static json Floating(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return number;
  }

  std::string_view Text() {
    const int64_t size = in_.Signed();
    return in_.Raw(size < 0 ? SIZE_MAX : static_cast<size_t>(size));
  }

  Status Bytes(const AvroType& type, std::string_view bytes, json* value) {
    if (!in_.ok()) return Damaged("ends too early");
    if (type.logical == Logical::kDecimal) {
      const auto decimal = FormatDecimal(bytes, type.scale);
      if (!decimal) return Damaged("is a decimal of more than 16 bytes");
      *value = *decimal;
      return absl::OkStatus();
    }
    *value = json::binary({bytes.begin(), bytes.end()});
    return absl::OkStatus();
  }

  Status Record(const AvroType& type, json* value, int depth) {
    *value = json::object();
    for (const AvroType::Field& field : type.fields)
      HB_RETURN_IF_ERROR(Decode(*field.type, &(*value)[field.name], depth + 1));
    return absl::OkStatus();
  }

  // Of items: a count and so many; a negative count has its length in bytes behind it. A count of
  // zero ends them.
  Status Blocks(const AvroType& type, json* value, int depth) {
    *value = type.kind == Kind::kArray ? json::array() : json::object();
    while (true) {
      int64_t count = in_.Signed();
      if (count < 0) {
        in_.Signed();
        count = count == INT64_MIN ? INT64_MAX : -count;
      }
      if (!in_.ok()) return Damaged("ends too early");
      if (count == 0) return absl::OkStatus();
      for (; count > 0; --count) {
        json* item = nullptr;
        if (type.kind == Kind::kArray) {
          item = &value->emplace_back();
        } else {
          item = &(*value)[std::string(Text())];
        }
        HB_RETURN_IF_ERROR(Decode(*type.items, item, depth + 1));
      }
    }
  }

  ByteReader& in_;
  int64_t values_left_;
};

}  // namespace

Status DecodeAvro(const AvroType& type, ByteReader& in, json* value) {
  return Decoder(&in).Decode(type, value, 0);
}

}  // namespace hornbeam::connectors
