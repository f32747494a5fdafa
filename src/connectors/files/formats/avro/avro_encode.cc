#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "connectors/files/formats/avro/avro_datum.h"
#include "connectors/files/formats/avro/avro_logical.h"

namespace hornbeam::connectors {
namespace {

using nlohmann::json;
using Kind = AvroType::Kind;
using Logical = AvroType::Logical;

constexpr int kDeepest = 100;

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 100 ? absl::StrCat(text.substr(0, 100), "...") : text;
}

class Encoder {
 public:
  explicit Encoder(std::string* out) : out_(out) {}

  Status Encode(const AvroType& type, const json& value, int depth) {
    if (depth > kDeepest)
      return absl::InvalidArgumentError(
          absl::StrCat("it is nested deeper than ", kDeepest, " levels"));
    switch (type.kind) {
      case Kind::kNull: return value.is_null() ? absl::OkStatus() : Misfit(type, value);
      case Kind::kBoolean:
        if (!value.is_boolean()) return Misfit(type, value);
        out_->push_back(value.get<bool>() ? 1 : 0);
        return absl::OkStatus();
      case Kind::kInt:
      case Kind::kLong: return EncodeWhole(type, value);
      case Kind::kFloat:
      case Kind::kDouble: return EncodeFloating(type, value);
      case Kind::kBytes:
      case Kind::kString:
      case Kind::kFixed: return EncodeText(type, value);
      case Kind::kEnum: return EncodeEnum(type, value);
      case Kind::kRecord: return EncodeRecord(type, value, depth);
      case Kind::kArray: return EncodeArray(type, value, depth);
      case Kind::kMap: return EncodeMap(type, value, depth);
      case Kind::kUnion: return EncodeUnion(type, value, depth);
    }
    return Misfit(type, value);
  }

 private:
  static Status Misfit(const AvroType& type, const json& value) {
    return absl::InvalidArgumentError(absl::StrCat(Shown(value), " is no ", ToString(type)));
  }

  static std::optional<int64_t> WholeOf(const AvroType& type, const json& value) {
    if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return std::nullopt;
    if (value.is_number_integer()) return value.get<int64_t>();
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (type.logical == Logical::kDate) return ParseDate(text);
    std::optional<int64_t> micros;
    if (type.logical != Logical::kNone) micros = ParseTimestamp(text);
    if (micros && type.logical == Logical::kTimestampMillis) {
      // Down to the millisecond, before 1970 too.
      const int64_t rest = *micros % 1000;
      return *micros / 1000 - (rest < 0 ? 1 : 0);
    }
    return micros;
  }

  Status EncodeWhole(const AvroType& type, const json& value) {
    const std::optional<int64_t> whole = WholeOf(type, value);
    if (!whole || (type.kind == Kind::kInt && (*whole < INT32_MIN || *whole > INT32_MAX)))
      return Misfit(type, value);
    PutSigned(out_, *whole);
    return absl::OkStatus();
  }

  Status EncodeFloating(const AvroType& type, const json& value) {
    double number = 0;
    if (value.is_number()) {
      number = value.get<double>();
    } else if (value == "NaN") {
      number = std::nan("");
    } else if (value == "Infinity" || value == "-Infinity") {
      number = value == "Infinity" ? HUGE_VAL : -HUGE_VAL;
    } else {
      return Misfit(type, value);
    }
    if (type.kind == Kind::kFloat) {
      PutFixed32(out_, std::bit_cast<uint32_t>(static_cast<float>(number)));
    } else {
      PutFixed64(out_, std::bit_cast<uint64_t>(number));
    }
    return absl::OkStatus();
  }

  Status EncodeText(const AvroType& type, const json& value) {
    std::string bytes;
    if (type.logical == Logical::kDecimal && (value.is_string() || value.is_number_integer())) {
      const std::optional<std::string> decimal =
          ParseDecimal(value.is_string() ? value.get<std::string>() : value.dump(), type.scale);
      if (!decimal)
        return absl::InvalidArgumentError(absl::StrCat(Shown(value), " is no decimal with ",
                                                       type.scale, " digits behind the point"));
      bytes = *decimal;
      if (type.kind == Kind::kFixed && bytes.size() < type.size) {
        bytes.insert(0, type.size - bytes.size(), (bytes[0] & 0x80) != 0 ? '\xff' : '\0');
      }
    } else if (value.is_binary() && type.kind != Kind::kString) {
      bytes.assign(value.get_binary().begin(), value.get_binary().end());
    } else if (value.is_string()) {
      bytes = value.get<std::string>();
    } else {
      return Misfit(type, value);
    }
    if (type.kind == Kind::kFixed) {
      if (bytes.size() != type.size) {
        return absl::InvalidArgumentError(absl::StrCat("it has ", bytes.size(), " bytes, and a ",
                                                       ToString(type), " has ", type.size));
      }
      out_->append(bytes);
    } else {
      PutText(bytes);
    }
    return absl::OkStatus();
  }

  Status EncodeEnum(const AvroType& type, const json& value) {
    for (size_t i = 0; i < type.symbols.size(); ++i) {
      if (value != type.symbols[i]) continue;
      PutSigned(out_, static_cast<int64_t>(i));
      return absl::OkStatus();
    }
    return Misfit(type, value);
  }

  Status EncodeRecord(const AvroType& type, const json& value, int depth) {
    if (!value.is_object()) return Misfit(type, value);
    static const json* const null = new json(nullptr);
    size_t used = 0;
    for (const AvroType::Field& field : type.fields) {
      const auto found = value.find(field.name);
      if (found != value.end()) ++used;
      HB_RETURN_IF_ERROR(
          Annotate(Encode(*field.type, found == value.end() ? *null : *found, depth + 1),
                   absl::StrCat("field '", field.name, "'")));
    }
    if (used == value.size()) return absl::OkStatus();
    for (const auto& [key, unused] : value.items()) {
      const bool known = std::any_of(type.fields.begin(), type.fields.end(),
                                     [&](const auto& field) { return field.name == key; });
      if (!known)
        return absl::InvalidArgumentError(
            absl::StrCat("the ", ToString(type), " has no field '", key, "'"));
    }
    return absl::OkStatus();
  }

  Status EncodeArray(const AvroType& type, const json& value, int depth) {
    if (!value.is_array()) return Misfit(type, value);
    if (!value.empty()) PutSigned(out_, static_cast<int64_t>(value.size()));
    for (const json& item : value) HB_RETURN_IF_ERROR(Encode(*type.items, item, depth + 1));
    PutSigned(out_, 0);
    return absl::OkStatus();
  }

  Status EncodeMap(const AvroType& type, const json& value, int depth) {
    if (!value.is_object()) return Misfit(type, value);
    if (!value.empty()) PutSigned(out_, static_cast<int64_t>(value.size()));
    for (const auto& [key, item] : value.items()) {
      PutText(key);
      HB_RETURN_IF_ERROR(
          Annotate(Encode(*type.items, item, depth + 1), absl::StrCat("key '", key, "'")));
    }
    PutSigned(out_, 0);
    return absl::OkStatus();
  }

  // The first branch that takes the value.
  Status EncodeUnion(const AvroType& type, const json& value, int depth) {
    const size_t begin = out_->size();
    Status problem;
    for (size_t i = 0; i < type.branches.size(); ++i) {
      if (value.is_null() != (type.branches[i]->kind == Kind::kNull)) continue;
      PutSigned(out_, static_cast<int64_t>(i));
      const Status status = Encode(*type.branches[i], value, depth + 1);
      if (status.ok()) return status;
      if (problem.ok()) problem = status;
      out_->resize(begin);
    }
    return problem.ok() ? Misfit(type, value) : problem;
  }

  void PutText(const std::string& text) {
    PutSigned(out_, static_cast<int64_t>(text.size()));
    out_->append(text);
  }

  std::string* const out_;
};

}  // namespace

Status EncodeAvro(const AvroType& type, const json& value, std::string* out) {
  return Encoder(out).Encode(type, value, 0);
}

}  // namespace hornbeam::connectors
