#include "services/bigquery/api/proto_row_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/cloud/bigquery/storage/v1/annotations.pb.h"
#include "services/bigquery/core/civil_time.h"
#include "services/bigquery/core/decimal.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;

constexpr uint32_t kDenseNumbers = 1024;
constexpr int kMaxDepth = 16;
// Google's encoders scale NUMERIC by 9 and BIGNUMERIC by 38 digits.
constexpr int kBigNumericWireScale = 38;

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

bool ReadVarint(std::string_view* in, uint64_t* value) {
  uint64_t v = 0;
  for (size_t i = 0; i < 10 && i < in->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*in)[i]);
    v |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      in->remove_prefix(i + 1);
      *value = v;
      return true;
    }
  }
  return false;
}

template <typename T>
bool ReadFixed(std::string_view* in, uint64_t* value) {
  if (in->size() < sizeof(T)) return false;
  T v;
  std::memcpy(&v, in->data(), sizeof v);
  in->remove_prefix(sizeof v);
  *value = v;
  return true;
}

// A value of `wire` off the front: a number, or (delimited) bytes. Groups are skipped over only.
bool ReadValue(std::string_view* in, uint32_t wire, uint64_t* number, std::string_view* bytes) {
  switch (wire) {
    case kVarint: return ReadVarint(in, number);
    case kFixed64: return ReadFixed<uint64_t>(in, number);
    case kFixed32: return ReadFixed<uint32_t>(in, number);
    case kDelimited: {
      uint64_t size;
      if (!ReadVarint(in, &size) || size > in->size()) return false;
      *bytes = in->substr(0, size);
      in->remove_prefix(size);
      return true;
    }
    default: return false;
  }
}

uint32_t WireTypeOf(FieldDescriptorProto::Type type) {
  switch (type) {
    case FieldDescriptorProto::TYPE_DOUBLE:
    case FieldDescriptorProto::TYPE_FIXED64:
    case FieldDescriptorProto::TYPE_SFIXED64: return kFixed64;
    case FieldDescriptorProto::TYPE_FLOAT:
    case FieldDescriptorProto::TYPE_FIXED32:
    case FieldDescriptorProto::TYPE_SFIXED32: return kFixed32;
    case FieldDescriptorProto::TYPE_STRING:
    case FieldDescriptorProto::TYPE_BYTES:
    case FieldDescriptorProto::TYPE_MESSAGE: return kDelimited;
    default: return kVarint;
  }
}

bool IsFloating(FieldDescriptorProto::Type type) {
  return type == FieldDescriptorProto::TYPE_DOUBLE || type == FieldDescriptorProto::TYPE_FLOAT;
}
bool IsText(FieldDescriptorProto::Type type) {
  return type == FieldDescriptorProto::TYPE_STRING || type == FieldDescriptorProto::TYPE_BYTES;
}
bool IsUnsigned64(FieldDescriptorProto::Type type) {
  return type == FieldDescriptorProto::TYPE_UINT64 || type == FieldDescriptorProto::TYPE_FIXED64;
}
bool IsInteger(FieldDescriptorProto::Type type) {
  return WireTypeOf(type) != kDelimited && !IsFloating(type) &&
         type != FieldDescriptorProto::TYPE_BOOL && type != FieldDescriptorProto::TYPE_ENUM &&
         type != FieldDescriptorProto::TYPE_GROUP;
}

int64_t ToSigned(FieldDescriptorProto::Type type, uint64_t raw) {
  switch (type) {
    case FieldDescriptorProto::TYPE_INT32:
    case FieldDescriptorProto::TYPE_ENUM:
    case FieldDescriptorProto::TYPE_SFIXED32: return static_cast<int32_t>(raw);
    case FieldDescriptorProto::TYPE_UINT32:
    case FieldDescriptorProto::TYPE_FIXED32: return static_cast<uint32_t>(raw);
    case FieldDescriptorProto::TYPE_SINT32:
    case FieldDescriptorProto::TYPE_SINT64:
      return static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
    default: return static_cast<int64_t>(raw);
  }
}

double ToDouble(FieldDescriptorProto::Type type, uint64_t raw) {
  if (type == FieldDescriptorProto::TYPE_DOUBLE) return std::bit_cast<double>(raw);
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw)));
}

// The inner type of google.protobuf.Int64Value and its like; nothing for other messages.
std::optional<FieldDescriptorProto::Type> WrappedType(absl::string_view type_name) {
  static constexpr std::pair<const char*, FieldDescriptorProto::Type> kWrappers[] = {
      {"google.protobuf.DoubleValue", FieldDescriptorProto::TYPE_DOUBLE},
      {"google.protobuf.FloatValue", FieldDescriptorProto::TYPE_FLOAT},
      {"google.protobuf.Int64Value", FieldDescriptorProto::TYPE_INT64},
      {"google.protobuf.UInt64Value", FieldDescriptorProto::TYPE_UINT64},
      {"google.protobuf.Int32Value", FieldDescriptorProto::TYPE_INT32},
      {"google.protobuf.UInt32Value", FieldDescriptorProto::TYPE_UINT32},
      {"google.protobuf.BoolValue", FieldDescriptorProto::TYPE_BOOL},
      {"google.protobuf.StringValue", FieldDescriptorProto::TYPE_STRING},
      {"google.protobuf.BytesValue", FieldDescriptorProto::TYPE_BYTES},
  };
  for (const auto& [name, type] : kWrappers) {
    if (absl::EndsWith(type_name, name)) return type;
  }
  return std::nullopt;
}

// Whether Google's table of conversions has this pair.
bool Convertible(FieldDescriptorProto::Type from, FieldType to) {
  const bool integer = IsInteger(from);
  const bool string = from == FieldDescriptorProto::TYPE_STRING;
  const bool bytes = from == FieldDescriptorProto::TYPE_BYTES;
  const bool enumeration = from == FieldDescriptorProto::TYPE_ENUM;
  switch (to) {
    case FieldType::kString: return string || enumeration || bytes;
    case FieldType::kBytes: return bytes || string;
    case FieldType::kInt64: return (integer && !IsUnsigned64(from)) || enumeration;
    case FieldType::kFloat64: return IsFloating(from);
    case FieldType::kBool: return from == FieldDescriptorProto::TYPE_BOOL || integer;
    case FieldType::kNumeric:
    case FieldType::kBigNumeric: return integer || IsFloating(from) || string || bytes;
    case FieldType::kTimestamp: return (integer && !IsUnsigned64(from)) || string;
    case FieldType::kDate: return (integer && !IsUnsigned64(from)) || string;
    case FieldType::kTime:
    case FieldType::kDatetime: return from == FieldDescriptorProto::TYPE_INT64 || string;
    case FieldType::kJson: return string;
    case FieldType::kStruct: return false;
  }
  return false;
}

}  // namespace

struct ProtoRowDecoder::Row {
  // "address.zip is not a 64-bit integer"; the path grows outwards as the recursion returns.
  std::string error;

  bool Fail(std::string_view field, Refusal refusal) {
    error = absl::StrCat(absl::string_view(field.data(), field.size()), " ", refusal);
    return false;
  }
};

// Looks types up by the tail of their name: a self-contained descriptor has lost its package, and
// its references have not.
class ProtoRowDecoder::Builder {
 public:
  explicit Builder(const DescriptorProto& root) { Add(root, root.name()); }

  StatusOr<std::unique_ptr<MessagePlan>> Build(const DescriptorProto& message,
                                               const std::vector<Field>& columns,
                                               const std::string& path, int depth,
                                               std::string* extra_field) {
    if (depth > kMaxDepth) return Invalid("The writer schema is nested too deeply.");
    auto plan = std::make_unique<MessagePlan>();
    std::vector<bool> covered(columns.size(), false);
    for (const FieldDescriptorProto& field : message.field()) {
      std::string name = field.name();
      if (field.options().HasExtension(google::cloud::bigquery::storage::v1::column_name)) {
        name = field.options().GetExtension(google::cloud::bigquery::storage::v1::column_name);
      }
      const std::string full = path + name;
      const auto at = std::find_if(columns.begin(), columns.end(), [&](const Field& column) {
        return absl::EqualsIgnoreCase(column.name, name);
      });
      if (at == columns.end()) {
        *extra_field = full;
        return Invalid(absl::StrCat(
            "Input schema has more fields than BigQuery schema, extra fields: '", full, "'"));
      }
      // Each field of a column would have its own plan of all that is nested in it, so a message
      // that repeats its fields at every level would cost the power of the levels.
      if (covered[static_cast<size_t>(at - columns.begin())]) {
        return Invalid(
            absl::StrCat("The field ", full, " is in the writer schema more than once."));
      }
      if (field.number() <= 0)
        return Invalid(absl::StrCat("Field ", full, " has no valid number."));
      FieldPlan made;
      made.name = name;
      made.type = field.type();
      made.repeated = field.label() == FieldDescriptorProto::LABEL_REPEATED;
      made.column = static_cast<int>(at - columns.begin());
      if (made.repeated != (at->mode == FieldMode::kRepeated)) {
        return Invalid(absl::StrCat("Field ", full, " is ",
                                    made.repeated ? "repeated" : "not repeated",
                                    " in the writer schema, and its column is ",
                                    made.repeated ? "not REPEATED." : "REPEATED."));
      }
      HB_RETURN_IF_ERROR(Resolve(field, *at, full, depth, extra_field, &made));
      const auto number = static_cast<uint32_t>(field.number());
      const int index = static_cast<int>(plan->fields.size());
      if (number < kDenseNumbers) {
        if (plan->by_number.size() <= number) plan->by_number.resize(number + 1, -1);
        plan->by_number[number] = index;
      } else {
        plan->by_large_number[number] = index;
      }
      covered[static_cast<size_t>(made.column)] = true;
      plan->fields.push_back(std::move(made));
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].mode != FieldMode::kRequired) continue;
      if (!covered[i]) {
        return Invalid(absl::StrCat("The required field ", path, columns[i].name,
                                    " is missing in the writer schema."));
      }
      plan->required.push_back(static_cast<int>(i));
    }
    return plan;
  }

 private:
  void Add(const DescriptorProto& message, const std::string& name) {
    messages_[name] = &message;
    for (const DescriptorProto& nested : message.nested_type())
      Add(nested, absl::StrCat(name, ".", nested.name()));
    for (const EnumDescriptorProto& nested : message.enum_type()) {
      enums_[absl::StrCat(name, ".", nested.name())] = &nested;
    }
  }

  // The entry whose name shares the longest tail of whole components with `type_name`.
  template <typename T>
  static const T* Lookup(const std::map<std::string, const T*>& all, absl::string_view type_name) {
    const T* best = nullptr;
    size_t best_size = 0;
    for (const auto& [name, found] : all) {
      for (size_t from = 0; from != std::string::npos;) {
        const absl::string_view tail = absl::string_view(name).substr(from);
        const bool whole = type_name == tail || absl::EndsWith(type_name, absl::StrCat(".", tail));
        if (whole && tail.size() > best_size) {
          best = found;
          best_size = tail.size();
        }
        const size_t dot = name.find('.', from);
        from = dot == std::string::npos ? dot : dot + 1;
      }
    }
    return best;
  }

  Status Resolve(const FieldDescriptorProto& field, const Field& column, const std::string& full,
                 int depth, std::string* extra_field, FieldPlan* plan) {
    if (field.type() == FieldDescriptorProto::TYPE_MESSAGE) {
      if (column.type == FieldType::kStruct) {
        const DescriptorProto* nested = Lookup(messages_, field.type_name());
        if (!nested) {
          return Invalid(absl::StrCat(
              "The type '", field.type_name(), "' of field ", full,
              " is not within the writer schema; the descriptor must be self-contained."));
        }
        HB_ASSIGN_OR_RETURN(plan->message,
                            Build(*nested, column.fields, full + ".", depth + 1, extra_field));
        return absl::OkStatus();
      }
      if (column.type == FieldType::kTimestamp &&
          absl::EndsWith(field.type_name(), "google.protobuf.Timestamp")) {
        plan->timestamp_message = true;
        return absl::OkStatus();
      }
      if (const auto wrapped = WrappedType(field.type_name())) {
        plan->wrapper = true;
        plan->type = *wrapped;
      }
    } else if (field.type() == FieldDescriptorProto::TYPE_ENUM &&
               column.type == FieldType::kString) {
      const EnumDescriptorProto* nested = Lookup(enums_, field.type_name());
      if (!nested)
        return Invalid(
            absl::StrCat("The enum of field ", full, " is not within the writer schema."));
      for (const auto& value : nested->value())
        plan->enum_names.emplace(value.number(), value.name());
    }
    if (!Convertible(plan->type, column.type)) {
      return Invalid(absl::StrCat("The field ", full, " could not be converted: the proto type ",
                                  FieldDescriptorProto::Type_Name(field.type()),
                                  " does not fit the column type ", GoogleSqlTypeName(column.type),
                                  "."));
    }
    return absl::OkStatus();
  }

  std::map<std::string, const DescriptorProto*> messages_;
  std::map<std::string, const EnumDescriptorProto*> enums_;
};

const ProtoRowDecoder::FieldPlan* ProtoRowDecoder::MessagePlan::Find(uint32_t number) const {
  int index = -1;
  if (number < by_number.size()) {
    index = by_number[number];
  } else if (!by_large_number.empty()) {
    const auto it = by_large_number.find(number);
    if (it != by_large_number.end()) index = it->second;
  }
  return index < 0 ? nullptr : &fields[static_cast<size_t>(index)];
}

StatusOr<std::unique_ptr<ProtoRowDecoder>> ProtoRowDecoder::Create(
    const DescriptorProto& descriptor, std::shared_ptr<const Table> table,
    std::string* extra_field) {
  std::unique_ptr<ProtoRowDecoder> decoder(new ProtoRowDecoder);
  HB_ASSIGN_OR_RETURN(
      decoder->plan_,
      Builder(descriptor).Build(descriptor, table->schema.fields, "", 1, extra_field));
  decoder->table_ = std::move(table);
  return decoder;
}

std::vector<RowChunk> ProtoRowDecoder::Decode(const std::vector<std::string_view>& rows,
                                              std::vector<ProtoRowError>* errors) const {
  std::vector<RowChunk> chunks;
  const size_t capacity = RowChunk::Capacity();
  chunks.reserve((rows.size() + capacity - 1) / capacity);
  for (size_t first = 0; first < rows.size(); first += capacity) {
    const size_t n = std::min(capacity, rows.size() - first);
    chunks.emplace_back(table_->schema, table_->types, n);
    for (size_t i = 0; i < n; ++i) {
      Row row;
      if (!DecodeMessage(*plan_, rows[first + i], chunks.back().columns(), i, &row)) {
        errors->push_back({static_cast<int64_t>(first + i), std::move(row.error)});
      }
    }
  }
  return chunks;
}

bool ProtoRowDecoder::DecodeMessage(const MessagePlan& plan, std::string_view bytes,
                                    std::vector<ColumnWriter>& columns, idx_t at, Row* row) const {
  while (!bytes.empty()) {
    uint64_t tag, number = 0;
    std::string_view content;
    if (!ReadVarint(&bytes, &tag) || tag >> 32 || tag >> 3 == 0)
      return row->Fail("row", "is not a valid message");
    const auto wire = static_cast<uint32_t>(tag & 7);
    if (!ReadValue(&bytes, wire, &number, &content))
      return row->Fail("row", "is not a valid message");
    const FieldPlan* field = plan.Find(static_cast<uint32_t>(tag >> 3));
    if (!field) continue;
    ColumnWriter& column = columns[static_cast<size_t>(field->column)];
    const uint32_t want = field->message || field->wrapper || field->timestamp_message
                              ? uint32_t{kDelimited}
                              : WireTypeOf(field->type);
    if (!field->repeated) {
      if (wire != want) return row->Fail(field->name, "has another wire type than its field");
      if (!DecodeValue(*field, number, content, column, at, row)) return false;
    } else if (wire == want) {
      const idx_t element = column.Push(at);
      if (!DecodeValue(*field, number, content, column.element(), element, row)) return false;
    } else if (wire == kDelimited) {  // packed
      while (!content.empty()) {
        std::string_view none;
        if (!ReadValue(&content, want, &number, &none))
          return row->Fail(field->name, "is not a valid packed list");
        const idx_t element = column.Push(at);
        if (!DecodeValue(*field, number, none, column.element(), element, row)) return false;
      }
    } else {
      return row->Fail(field->name, "has another wire type than its field");
    }
  }
  for (const int i : plan.required) {
    ColumnWriter& column = columns[static_cast<size_t>(i)];
    if (!column.IsSet(at)) return row->Fail(column.field().name, "is required and has no value");
  }
  return true;
}

bool ProtoRowDecoder::DecodeValue(const FieldPlan& field, uint64_t number, std::string_view bytes,
                                  ColumnWriter& column, idx_t at, Row* row) const {
  if (field.message) {
    column.SetPresent(at);
    if (DecodeMessage(*field.message, bytes, column.children(), at, row)) return true;
    row->error = absl::StrCat(field.name, ".", row->error);
    return false;
  }
  if (field.timestamp_message || field.wrapper) {
    uint64_t values[3] = {0, 0, 0};
    std::string_view inner;
    while (!bytes.empty()) {
      uint64_t tag, value = 0;
      std::string_view content;
      if (!ReadVarint(&bytes, &tag) ||
          !ReadValue(&bytes, static_cast<uint32_t>(tag & 7), &value, &content)) {
        return row->Fail(field.name, "is not a valid message");
      }
      const bool text = (tag & 7) == kDelimited;
      if (tag >> 3 == 1 && field.wrapper && text != IsText(field.type)) {
        return row->Fail(field.name, "has another wire type than its field");
      }
      if (tag >> 3 <= 2 && !text) values[tag >> 3] = value;
      if (tag >> 3 == 1 && text) inner = content;
    }
    if (field.timestamp_message) {
      const auto seconds = static_cast<int64_t>(values[1]);
      const auto nanos = static_cast<int32_t>(values[2]);
      if (seconds < kMinTimestampMicros / kMicrosPerSecond ||
          seconds > kMaxTimestampMicros / kMicrosPerSecond || nanos < 0 || nanos > 999'999'999) {
        return row->Fail(field.name, "is out of the range of TIMESTAMP");
      }
      column.SetInt64(at, seconds * kMicrosPerSecond + nanos / 1000);
      return true;
    }
    number = values[1];
    bytes = inner;
  }
  const FieldType to = column.field().type;
  const FieldDescriptorProto::Type from = field.type;
  if (IsText(from)) {
    const bool numeric = to == FieldType::kNumeric || to == FieldType::kBigNumeric;
    if (from == FieldDescriptorProto::TYPE_BYTES && numeric) {
      const bool big = to == FieldType::kBigNumeric;
      const auto v = DecimalFromBytes(bytes, big ? kBigNumericWireScale : kNumericScale,
                                      big ? kBigNumericScale : kNumericScale);
      if (!v) return row->Fail(field.name, "is not a decimal that this local BigQuery can keep");
      column.SetInt128(at, *v);
      return true;
    }
    if (const Refusal refusal = column.SetText(at, bytes)) return row->Fail(field.name, refusal);
    return true;
  }
  if (IsFloating(from)) {
    const double v = ToDouble(from, number);
    if (to == FieldType::kFloat64) {
      column.SetDouble(at, v);
      return true;
    }
    const auto decimal =
        DecimalFromDouble(v, to == FieldType::kNumeric ? kNumericScale : kBigNumericScale);
    if (!decimal) return row->Fail(field.name, "does not fit into its decimal type");
    column.SetInt128(at, *decimal);
    return true;
  }
  const int64_t v = ToSigned(from, number);
  switch (to) {
    case FieldType::kInt64: column.SetInt64(at, v); return true;
    case FieldType::kBool: column.SetBool(at, v != 0); return true;
    case FieldType::kString: {
      const auto it = field.enum_names.find(static_cast<int32_t>(v));
      if (it == field.enum_names.end())
        return row->Fail(field.name, "has a number that its enum does not know");
      column.SetBytes(at, it->second);
      return true;
    }
    case FieldType::kNumeric:
    case FieldType::kBigNumeric: {
      const Int128 wide = IsUnsigned64(from) ? static_cast<Int128>(number) : static_cast<Int128>(v);
      const auto decimal =
          DecimalFromInteger(wide, to == FieldType::kNumeric ? kNumericScale : kBigNumericScale);
      if (!decimal) return row->Fail(field.name, "does not fit into its decimal type");
      column.SetInt128(at, *decimal);
      return true;
    }
    case FieldType::kTimestamp:
      if (v < kMinTimestampMicros || v > kMaxTimestampMicros) {
        return row->Fail(field.name, "is out of the range of TIMESTAMP (microseconds since 1970)");
      }
      column.SetInt64(at, v);
      return true;
    case FieldType::kDate:
      if (v < kMinDateDays || v > kMaxDateDays)
        return row->Fail(field.name, "is out of the range of DATE (days)");
      column.SetInt32(at, static_cast<int32_t>(v));
      return true;
    case FieldType::kTime: {
      const auto micros = TimeFromPacked(v);
      if (!micros) return row->Fail(field.name, "is not a packed time");
      column.SetInt64(at, *micros);
      return true;
    }
    case FieldType::kDatetime: {
      const auto micros = DatetimeFromPacked(v);
      if (!micros) return row->Fail(field.name, "is not a packed datetime");
      column.SetInt64(at, *micros);
      return true;
    }
    default: return row->Fail(field.name, "cannot be converted");
  }
}

}  // namespace hornbeam::services::bigquery
