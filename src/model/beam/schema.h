// The schema of a row, as the payload of a row coder has it (schema.proto).
//
// The payload is read here rather than by protobuf, so that the model depends on nothing: it is a handful of fields.
#ifndef HORNBEAM_MODEL_BEAM_SCHEMA_H_
#define HORNBEAM_MODEL_BEAM_SCHEMA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hornbeam::model::beam {

// The numbers are schema.proto's.
enum class AtomicType : uint8_t { kByte = 1, kInt16, kInt32, kInt64, kFloat, kDouble, kString, kBoolean, kBytes };

struct SchemaField;

struct FieldType {
  enum class Kind { kNone, kAtomic, kArray, kMap, kRow, kLogical };

  Kind kind = Kind::kNone;
  bool nullable = false;
  AtomicType atomic = AtomicType::kByte;    // kAtomic
  std::vector<FieldType> components;        // kArray (also an iterable): element. kMap: key, value. kLogical: representation
  std::vector<SchemaField> fields;          // kRow
  std::string logical_urn;                  // kLogical
};

// A row's type is a FieldType of kind kRow; its fields are in the schema's order.
struct SchemaField {
  std::string name;
  FieldType type;
  size_t encoding_position = 0;  // its place among the fields as they are written: a permutation
};

// INVALID_ARGUMENT for a payload that is not a schema, names a type that does not exist, or nests deeper than 100.
StatusOr<FieldType> ParseSchema(std::string_view payload);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_SCHEMA_H_
