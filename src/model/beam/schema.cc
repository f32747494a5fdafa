#include "model/beam/schema.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::model::beam {
namespace {

constexpr int kMostNested = 100;

Status Invalid(const char* what) { return absl::InvalidArgumentError(absl::StrCat("the schema of a row coder ", what)); }

// One field of a protobuf message: a number, or bytes.
struct WireField {
  uint64_t number = 0;
  uint64_t varint = 0;
  std::string_view bytes;
};

// Calls `use` with each field of a message, until it fails.
template <typename Use>
Status EachField(std::string_view message, Use use) {
  ByteReader in(message);
  while (!in.done()) {
    const uint64_t tag = in.Varint();
    WireField field;
    field.number = tag >> 3;
    switch (tag & 7) {
      case 0: field.varint = in.Varint(); break;
      case 1: in.Fixed64(); break;
      case 2: field.bytes = in.Bytes(); break;
      case 5: in.Fixed32(); break;
      default: return Invalid("is not a protobuf message");
    }
    if (!in.ok()) return Invalid("is not a protobuf message");
    HB_RETURN_IF_ERROR(use(field));
  }
  return in.ok() ? absl::OkStatus() : Invalid("is not a protobuf message");
}

Status ParseRow(std::string_view message, int depth, FieldType* row);
Status ParseType(std::string_view message, int depth, FieldType* type);

// Messages whose fields are types: an array (1 element), a map (1 key, 2 value), a logical type (1 URN, 3 representation).
Status ParseComponents(std::string_view message, int depth, FieldType* type) {
  const bool logical = type->kind == FieldType::Kind::kLogical;
  type->components.assign(type->kind == FieldType::Kind::kMap ? 2 : 1, FieldType());
  HB_RETURN_IF_ERROR(EachField(message, [&](const WireField& field) -> Status {
    if (logical && field.number == 1) type->logical_urn = std::string(field.bytes);
    const uint64_t component = logical ? (field.number == 3 ? 0 : type->components.size()) : field.number - 1;
    if (component >= type->components.size()) return absl::OkStatus();
    return ParseType(field.bytes, depth + 1, &type->components[component]);
  }));
  for (const FieldType& component : type->components) {
    if (component.kind == FieldType::Kind::kNone) return Invalid("has an array, a map or a logical type that does not say of what");
  }
  return absl::OkStatus();
}

Status ParseType(std::string_view message, int depth, FieldType* type) {
  if (depth > kMostNested) return Invalid("nests too deep");
  HB_RETURN_IF_ERROR(EachField(message, [&](const WireField& field) -> Status {
    switch (field.number) {
      case 1: type->nullable = field.varint != 0; return absl::OkStatus();
      case 2:
        if (field.varint < 1 || field.varint > static_cast<uint64_t>(AtomicType::kBytes)) return Invalid("has a type without a number");
        type->kind = FieldType::Kind::kAtomic;
        type->atomic = static_cast<AtomicType>(field.varint);
        return absl::OkStatus();
      case 3:
      case 4: type->kind = FieldType::Kind::kArray; return ParseComponents(field.bytes, depth, type);
      case 5: type->kind = FieldType::Kind::kMap; return ParseComponents(field.bytes, depth, type);
      case 6:
        return EachField(field.bytes, [&](const WireField& row) {
          return row.number == 1 ? ParseRow(row.bytes, depth + 1, type) : absl::OkStatus();
        });
      case 7: type->kind = FieldType::Kind::kLogical; return ParseComponents(field.bytes, depth, type);
      default: return absl::OkStatus();
    }
  }));
  return type->kind == FieldType::Kind::kNone ? Invalid("has a field without a type") : absl::OkStatus();
}

Status ParseField(std::string_view message, int depth, SchemaField* field) {
  HB_RETURN_IF_ERROR(EachField(message, [&](const WireField& part) -> Status {
    if (part.number == 1) field->name = std::string(part.bytes);
    if (part.number == 5) field->encoding_position = part.varint;
    return part.number == 3 ? ParseType(part.bytes, depth + 1, &field->type) : absl::OkStatus();
  }));
  return field->type.kind == FieldType::Kind::kNone ? Invalid("has a field without a type") : absl::OkStatus();
}

// Where the schema does not say where its fields are written, they are in its order.
Status SettlePositions(bool are_set, std::vector<SchemaField>* fields) {
  std::vector<bool> taken(fields->size());
  for (size_t i = 0; i < fields->size(); ++i) {
    size_t& position = (*fields)[i].encoding_position;
    if (!are_set) position = i;
    if (position >= taken.size() || taken[position]) return Invalid("puts two fields into one place");
    taken[position] = true;
  }
  return absl::OkStatus();
}

Status ParseRow(std::string_view message, int depth, FieldType* row) {
  if (depth > kMostNested) return Invalid("nests too deep");
  row->kind = FieldType::Kind::kRow;
  bool positions_are_set = false;
  HB_RETURN_IF_ERROR(EachField(message, [&](const WireField& part) -> Status {
    if (part.number == 4) positions_are_set = part.varint != 0;
    return part.number == 1 ? ParseField(part.bytes, depth, &row->fields.emplace_back()) : absl::OkStatus();
  }));
  return SettlePositions(positions_are_set, &row->fields);
}

}  // namespace

StatusOr<FieldType> ParseSchema(std::string_view payload) {
  FieldType row;
  HB_RETURN_IF_ERROR(ParseRow(payload, 0, &row));
  return row;
}

}  // namespace hornbeam::model::beam
