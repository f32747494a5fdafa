#include "connectors/files/formats/avro/avro_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

using nlohmann::json;
using Kind = AvroType::Kind;
using Logical = AvroType::Logical;

constexpr int kDeepest = 100;
constexpr std::pair<const char*, Kind> kKinds[] = {
    {"null", Kind::kNull},   {"boolean", Kind::kBoolean}, {"int", Kind::kInt},
    {"long", Kind::kLong},   {"float", Kind::kFloat},     {"double", Kind::kDouble},
    {"bytes", Kind::kBytes}, {"string", Kind::kString},   {"record", Kind::kRecord},
    {"enum", Kind::kEnum},   {"array", Kind::kArray},     {"map", Kind::kMap},
    {"union", Kind::kUnion}, {"fixed", Kind::kFixed}};
constexpr size_t kPrimitives = 8;  // of kKinds, the first

Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the Avro schema ", what));
}

StatusOr<std::string> Text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return Malformed(absl::StrCat("has no text '", key, "' where it needs one"));
  return found->get<std::string>();
}

// A whole number from 0 to 2^30; nothing where there is none.
StatusOr<int64_t> Number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer())
    return Malformed(absl::StrCat("has no whole number '", key, "' where it needs one"));
  const auto number = found->get<int64_t>();
  if (number < 0 || number > (1 << 30))
    return Malformed(absl::StrCat("has a '", key, "' of ", number, ", which cannot be"));
  return number;
}

const AvroType* Primitive(Kind kind) {
  static const std::vector<AvroType>* const primitives = [] {
    auto* made = new std::vector<AvroType>(kPrimitives);
    for (size_t i = 0; i < kPrimitives; ++i) (*made)[i].kind = kKinds[i].second;
    return made;
  }();
  return &(*primitives)[static_cast<size_t>(kind)];
}

}  // namespace

std::string ToString(const AvroType& type) {
  const char* const kind = kKinds[static_cast<size_t>(type.kind)].first;
  return type.name.empty() ? kind : absl::StrCat(kind, " ", type.name);
}

class AvroSchemaParser {
 public:
  explicit AvroSchemaParser(AvroSchema* schema) : schema_(schema) {}

  StatusOr<const AvroType*> Parse(const json& schema, const std::string& space, int depth) {
    if (depth > kDeepest)
      return Malformed(absl::StrCat("is nested deeper than ", kDeepest, " levels"));
    if (schema.is_string()) return Named(schema.get<std::string>(), space);
    if (schema.is_array()) return Union(schema, space, depth);
    if (!schema.is_object())
      return Malformed(
          "has something that is no type: it is neither a name, nor an object, nor a list");
    if (const auto inner = schema.find("type"); inner != schema.end() && !inner->is_string())
      return Parse(*inner, space, depth + 1);
    HB_ASSIGN_OR_RETURN(const std::string kind, Text(schema, "type"));
    if (kind == "record" || kind == "error") return Record(schema, space, depth);
    if (kind == "enum") return Enum(schema, space);
    if (kind == "fixed") return Fixed(schema, space);
    if (kind == "array" || kind == "map") return Collection(schema, kind, space, depth);
    HB_ASSIGN_OR_RETURN(const AvroType* const named, Named(kind, space));
    AvroType with_logical = *named;
    SetLogical(schema, &with_logical);
    if (with_logical.logical == named->logical) return named;
    return New(std::move(with_logical));
  }

 private:
  AvroType* New(AvroType type) {
    return schema_->types_.emplace_back(std::make_unique<AvroType>(std::move(type))).get();
  }

  StatusOr<const AvroType*> Named(const std::string& name, const std::string& space) {
    for (size_t i = 0; i < kPrimitives; ++i) {
      if (name == kKinds[i].first) return Primitive(kKinds[i].second);
    }
    const auto found = names_.find(FullName(name, space));
    if (found == names_.end())
      return Malformed(absl::StrCat("uses a type '", name, "' that it has not defined before"));
    return found->second;
  }

  static std::string FullName(const std::string& name, const std::string& space) {
    return space.empty() || name.find('.') != std::string::npos ? name
                                                                : absl::StrCat(space, ".", name);
  }

  // A new type with its name; *space becomes the one it is in.
  StatusOr<AvroType*> Define(const json& schema, Kind kind, std::string* space) {
    HB_ASSIGN_OR_RETURN(const std::string name, Text(schema, "name"));
    if (schema.contains("namespace")) {
      HB_ASSIGN_OR_RETURN(*space, Text(schema, "namespace"));
    }
    AvroType type;
    type.kind = kind;
    type.name = FullName(name, *space);
    if (const size_t dot = type.name.rfind('.'); dot != std::string::npos)
      *space = type.name.substr(0, dot);
    AvroType* const made = New(std::move(type));
    if (!names_.emplace(made->name, made).second)
      return Malformed(absl::StrCat("defines '", made->name, "' twice"));
    return made;
  }

  StatusOr<const AvroType*> Record(const json& schema, std::string space, int depth) {
    HB_ASSIGN_OR_RETURN(AvroType* const record, Define(schema, Kind::kRecord, &space));
    const auto fields = schema.find("fields");
    if (fields == schema.end() || !fields->is_array())
      return Malformed(absl::StrCat("has no list of 'fields' in '", record->name, "'"));
    for (const json& field : *fields) {
      if (!field.is_object() || !field.contains("type"))
        return Malformed(absl::StrCat("has a field without a type in '", record->name, "'"));
      HB_ASSIGN_OR_RETURN(std::string name, Text(field, "name"));
      // A field's logical type may stand beside its type, as some writers have it.
      HB_ASSIGN_OR_RETURN(const AvroType* const type, Parse(field["type"], space, depth + 1));
      record->fields.push_back({std::move(name), type});
    }
    return record;
  }

  StatusOr<const AvroType*> Enum(const json& schema, std::string space) {
    HB_ASSIGN_OR_RETURN(AvroType* const type, Define(schema, Kind::kEnum, &space));
    const auto symbols = schema.find("symbols");
    if (symbols == schema.end() || !symbols->is_array())
      return Malformed(absl::StrCat("has no list of 'symbols' in '", type->name, "'"));
    for (const json& symbol : *symbols) {
      if (!symbol.is_string())
        return Malformed(absl::StrCat("has a symbol that is no text in '", type->name, "'"));
      type->symbols.push_back(symbol.get<std::string>());
    }
    return type;
  }

  StatusOr<const AvroType*> Fixed(const json& schema, std::string space) {
    HB_ASSIGN_OR_RETURN(AvroType* const type, Define(schema, Kind::kFixed, &space));
    HB_ASSIGN_OR_RETURN(const int64_t size, Number(schema, "size"));
    type->size = static_cast<size_t>(size);
    SetLogical(schema, type);
    return type;
  }

  StatusOr<const AvroType*> Collection(const json& schema, const std::string& kind,
                                       const std::string& space, int depth) {
    const char* const key = kind == "array" ? "items" : "values";
    if (!schema.contains(key))
      return Malformed(absl::StrCat("has a type ", kind, " without '", key, "'"));
    HB_ASSIGN_OR_RETURN(const AvroType* const items, Parse(schema[key], space, depth + 1));
    AvroType type;
    type.kind = kind == "array" ? Kind::kArray : Kind::kMap;
    type.items = items;
    return New(std::move(type));
  }

  StatusOr<const AvroType*> Union(const json& schema, const std::string& space, int depth) {
    AvroType type;
    type.kind = Kind::kUnion;
    if (schema.empty()) return Malformed("has a union of nothing");
    for (const json& branch : schema) {
      HB_ASSIGN_OR_RETURN(const AvroType* const parsed, Parse(branch, space, depth + 1));
      if (parsed->kind == Kind::kUnion) return Malformed("has a union directly in a union");
      type.branches.push_back(parsed);
    }
    return New(std::move(type));
  }

  static void SetLogical(const json& schema, AvroType* type) {
    const auto logical = schema.find("logicalType");
    if (logical == schema.end() || !logical->is_string()) return;
    const std::string name = logical->get<std::string>();
    if (name == "timestamp-millis" && type->kind == Kind::kLong)
      type->logical = Logical::kTimestampMillis;
    if (name == "timestamp-micros" && type->kind == Kind::kLong)
      type->logical = Logical::kTimestampMicros;
    if (name == "date" && type->kind == Kind::kInt) type->logical = Logical::kDate;
    if (name == "decimal" && (type->kind == Kind::kBytes || type->kind == Kind::kFixed)) {
      const int64_t scale = schema.contains("scale") ? Number(schema, "scale").value_or(-1) : 0;
      if (scale < 0 || scale > 38) return;
      type->logical = Logical::kDecimal;
      type->scale = static_cast<int32_t>(scale);
    }
  }

  AvroSchema* const schema_;
  std::map<std::string, const AvroType*> names_;
};

StatusOr<std::shared_ptr<const AvroSchema>> AvroSchema::Parse(std::string_view text) {
  // Before it is taken apart: what is nested too deeply would exhaust the stack.
  if (std::count(text.begin(), text.end(), '{') + std::count(text.begin(), text.end(), '[') >
      100'000)
    return Malformed("is too long");
  const nlohmann::json parsed = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (parsed.is_discarded()) return Malformed("is no JSON");
  std::shared_ptr<AvroSchema> schema(new AvroSchema);
  schema->json_ = std::string(text);
  HB_ASSIGN_OR_RETURN(schema->root_, AvroSchemaParser(schema.get()).Parse(parsed, "", 0));
  return schema;
}

}  // namespace hornbeam::connectors
