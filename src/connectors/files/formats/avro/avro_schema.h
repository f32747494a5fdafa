// Avro schemas (Apache Avro 1.11 specification).
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_SCHEMA_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_SCHEMA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hornbeam::connectors {

// A schema, taken apart. Types with names may contain themselves: nodes are owned by the AvroSchema
// and point to one another.
struct AvroType {
  enum class Kind {
    kNull,
    kBoolean,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kBytes,
    kString,
    kRecord,
    kEnum,
    kArray,
    kMap,
    kUnion,
    kFixed
  };
  enum class Logical { kNone, kTimestampMillis, kTimestampMicros, kDate, kDecimal };
  struct Field {
    std::string name;
    const AvroType* type = nullptr;
  };

  Kind kind = Kind::kNull;
  Logical logical = Logical::kNone;
  std::string name;                       // full; of a record, enum or fixed
  std::vector<Field> fields;              // of a record
  std::vector<std::string> symbols;       // of an enum
  const AvroType* items = nullptr;        // of an array or map
  std::vector<const AvroType*> branches;  // of a union
  size_t size = 0;                        // of a fixed
  int32_t scale = 0;                      // of a decimal
};

// "record example.Order", "long".
std::string ToString(const AvroType& type);

// Immutable.
class AvroSchema {
 public:
  // INVALID_ARGUMENT says what is wrong with it. A logical type that is not known, or does not fit,
  // is ignored, as Avro asks.
  static StatusOr<std::shared_ptr<const AvroSchema>> Parse(std::string_view json);

  const AvroType& root() const { return *root_; }
  const std::string& json() const { return json_; }

 private:
  friend class AvroSchemaParser;
  AvroSchema() = default;

  std::string json_;
  std::vector<std::unique_ptr<AvroType>> types_;
  const AvroType* root_ = nullptr;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_SCHEMA_H_
