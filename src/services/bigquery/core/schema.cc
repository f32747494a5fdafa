#include "services/bigquery/core/schema.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/core/names.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 15;

struct TypeName {
  const char* name;
  FieldType type;
};
constexpr TypeName kTypeNames[] = {
    {"STRING", FieldType::kString},
    {"BYTES", FieldType::kBytes},
    {"INT64", FieldType::kInt64},
    {"INTEGER", FieldType::kInt64},
    {"FLOAT64", FieldType::kFloat64},
    {"FLOAT", FieldType::kFloat64},
    {"BOOL", FieldType::kBool},
    {"BOOLEAN", FieldType::kBool},
    {"NUMERIC", FieldType::kNumeric},
    {"DECIMAL", FieldType::kNumeric},
    {"BIGNUMERIC", FieldType::kBigNumeric},
    {"BIGDECIMAL", FieldType::kBigNumeric},
    {"TIMESTAMP", FieldType::kTimestamp},
    {"DATE", FieldType::kDate},
    {"TIME", FieldType::kTime},
    {"DATETIME", FieldType::kDatetime},
    {"JSON", FieldType::kJson},
    {"STRUCT", FieldType::kStruct},
    {"RECORD", FieldType::kStruct},
};

std::optional<FieldType> TypeFromName(absl::string_view name) {
  for (const TypeName& entry : kTypeNames) {
    if (name == entry.name) return entry.type;
  }
  return std::nullopt;
}

const char* RestTypeName(FieldType type) {
  switch (type) {
    case FieldType::kInt64: return "INTEGER";
    case FieldType::kFloat64: return "FLOAT";
    case FieldType::kBool: return "BOOLEAN";
    case FieldType::kStruct: return "RECORD";
    default: return GoogleSqlTypeName(type);
  }
}

std::string TextOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

StatusOr<std::vector<Field>> FieldsFromJson(const json& list, const std::string& path, int depth) {
  if (!list.is_array()) return Invalid(absl::StrCat("Schema ", path, "must list its fields."));
  if (depth > kMaxDepth)
    return Invalid("Too many nested levels in the schema; at most 15 are allowed.");
  std::vector<Field> fields;
  for (const json& item : list) {
    if (!item.is_object())
      return Invalid(absl::StrCat("Schema ", path, "has a field that is not an object."));
    Field field;
    field.name = TextOf(item, "name");
    const std::string full = absl::StrCat(path, field.name);
    if (field.name.empty() || field.name.size() > 300) {
      return Invalid(absl::StrCat("Invalid field name \"", full,
                                  "\". Fields must have a name of at most 300 characters."));
    }
    for (const Field& other : fields) {
      if (absl::EqualsIgnoreCase(other.name, field.name)) {
        return Invalid(absl::StrCat("Field ", full, " already exists in schema"));
      }
    }
    const std::string type = absl::AsciiStrToUpper(TextOf(item, "type"));
    const auto known = TypeFromName(type);
    if (!known) {
      return Invalid(absl::StrCat("Invalid value for type of field ", full, ": '", type,
                                  "' is not a type that this local BigQuery can store."));
    }
    field.type = *known;
    const std::string mode = absl::AsciiStrToUpper(TextOf(item, "mode"));
    if (mode == "REQUIRED") {
      field.mode = FieldMode::kRequired;
    } else if (mode == "REPEATED") {
      field.mode = FieldMode::kRepeated;
    } else if (!mode.empty() && mode != "NULLABLE") {
      return Invalid(absl::StrCat("Invalid value for mode of field ", full, ": '", mode, "'."));
    }
    if (!TextOf(item, "defaultValueExpression").empty()) {
      return Invalid(absl::StrCat("Field ", full,
                                  " has a default value expression, which this local BigQuery does "
                                  "not support; write the value yourself."));
    }
    field.description = TextOf(item, "description");
    if (field.type == FieldType::kStruct) {
      const auto nested = item.find("fields");
      if (nested == item.end() || nested->empty()) {
        return Invalid(absl::StrCat("Field ", full, " is type RECORD but has no schema"));
      }
      HB_ASSIGN_OR_RETURN(field.fields, FieldsFromJson(*nested, full + ".", depth + 1));
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

json FieldsToJson(const std::vector<Field>& fields) {
  json list = json::array();
  for (const Field& field : fields) {
    json item = {{"name", field.name}, {"type", RestTypeName(field.type)}};
    item["mode"] = field.mode == FieldMode::kRequired   ? "REQUIRED"
                   : field.mode == FieldMode::kRepeated ? "REPEATED"
                                                        : "NULLABLE";
    if (!field.description.empty()) item["description"] = field.description;
    if (field.type == FieldType::kStruct) item["fields"] = FieldsToJson(field.fields);
    list.push_back(std::move(item));
  }
  return list;
}

int FindIn(const std::vector<Field>& fields, absl::string_view name) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (absl::EqualsIgnoreCase(fields[i].name, name)) return static_cast<int>(i);
  }
  return -1;
}

Status CheckFieldsUpdate(const std::vector<Field>& current, const std::vector<Field>& next,
                         absl::string_view table, const std::string& path) {
  const auto mismatch = [&](const std::string& what) {
    return Invalid(absl::StrCat("Provided Schema does not match Table ", table, ". ", what));
  };
  for (const Field& old : current) {
    const int at = FindIn(next, old.name);
    if (at < 0)
      return mismatch(absl::StrCat("Field ", path, old.name, " is missing in new schema"));
    const Field& now = next[static_cast<size_t>(at)];
    if (now.type != old.type) {
      return mismatch(absl::StrCat("Field ", path, old.name, " has changed type from ",
                                   RestTypeName(old.type), " to ", RestTypeName(now.type)));
    }
    if (now.mode != old.mode &&
        !(old.mode == FieldMode::kRequired && now.mode == FieldMode::kNullable)) {
      return mismatch(absl::StrCat("Field ", path, old.name, " has changed mode"));
    }
    if (old.type == FieldType::kStruct) {
      HB_RETURN_IF_ERROR(
          CheckFieldsUpdate(old.fields, now.fields, table, absl::StrCat(path, old.name, ".")));
    }
  }
  for (const Field& now : next) {
    if (FindIn(current, now.name) < 0 && now.mode == FieldMode::kRequired) {
      return mismatch(absl::StrCat(
          "Cannot add required fields to an existing schema. (field: ", path, now.name, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int TableSchema::Find(std::string_view name) const {
  return FindIn(fields, {name.data(), name.size()});
}

StatusOr<TableSchema> SchemaFromJson(const json& object) {
  TableSchema schema;
  if (object.is_null()) return schema;
  const auto fields = object.find("fields");
  if (fields == object.end()) return schema;
  HB_ASSIGN_OR_RETURN(schema.fields, FieldsFromJson(*fields, "", 1));
  return schema;
}

json SchemaToJson(const TableSchema& schema) { return {{"fields", FieldsToJson(schema.fields)}}; }

const char* GoogleSqlTypeName(FieldType type) {
  switch (type) {
    case FieldType::kString: return "STRING";
    case FieldType::kBytes: return "BYTES";
    case FieldType::kInt64: return "INT64";
    case FieldType::kFloat64: return "FLOAT64";
    case FieldType::kBool: return "BOOL";
    case FieldType::kNumeric: return "NUMERIC";
    case FieldType::kBigNumeric: return "BIGNUMERIC";
    case FieldType::kTimestamp: return "TIMESTAMP";
    case FieldType::kDate: return "DATE";
    case FieldType::kTime: return "TIME";
    case FieldType::kDatetime: return "DATETIME";
    case FieldType::kJson: return "JSON";
    case FieldType::kStruct: return "STRUCT";
  }
  return "STRING";
}

std::string GoogleSqlType(const Field& field) {
  std::string type = GoogleSqlTypeName(field.type);
  if (field.type == FieldType::kStruct) {
    type += '<';
    for (size_t i = 0; i < field.fields.size(); ++i) {
      absl::StrAppend(&type, i ? ", " : "", field.fields[i].name, " ",
                      GoogleSqlType(field.fields[i]));
    }
    type += '>';
  }
  return field.mode == FieldMode::kRepeated ? absl::StrCat("ARRAY<", type, ">") : type;
}

std::string DuckDbType(const Field& field) {
  std::string type;
  switch (field.type) {
    case FieldType::kString: type = "VARCHAR"; break;
    case FieldType::kBytes: type = "BLOB"; break;
    case FieldType::kInt64: type = "BIGINT"; break;
    case FieldType::kFloat64: type = "DOUBLE"; break;
    case FieldType::kBool: type = "BOOLEAN"; break;
    case FieldType::kNumeric: type = absl::StrCat("DECIMAL(38,", kNumericScale, ")"); break;
    case FieldType::kBigNumeric: type = absl::StrCat("DECIMAL(38,", kBigNumericScale, ")"); break;
    case FieldType::kTimestamp: type = "TIMESTAMPTZ"; break;
    case FieldType::kDate: type = "DATE"; break;
    case FieldType::kTime: type = "TIME"; break;
    case FieldType::kDatetime: type = "TIMESTAMP"; break;
    case FieldType::kJson: type = "JSON"; break;
    case FieldType::kStruct:
      type = "STRUCT(";
      for (size_t i = 0; i < field.fields.size(); ++i) {
        absl::StrAppend(&type, i ? ", " : "", QuoteIdentifier(field.fields[i].name), " ",
                        DuckDbType(field.fields[i]));
      }
      type += ')';
      break;
  }
  return field.mode == FieldMode::kRepeated ? type + "[]" : type;
}

std::string DuckDbColumn(const Field& field) {
  return absl::StrCat(QuoteIdentifier(field.name), " ", DuckDbType(field),
                      field.mode == FieldMode::kRequired ? " NOT NULL" : "");
}

Status CheckSchemaUpdate(const TableSchema& current, const TableSchema& next,
                         std::string_view table) {
  return CheckFieldsUpdate(current.fields, next.fields, {table.data(), table.size()}, "");
}

}  // namespace hornbeam::services::bigquery
