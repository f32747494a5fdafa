#include "connectors/bigquery/row_descriptor.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "base/bytes.h"
#include "google/protobuf/descriptor.pb.h"

namespace hornbeam::connectors {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using io::ColumnMode;
using io::ColumnType;
using Json = nlohmann::ordered_json;

FieldDescriptorProto::Type WireType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
    case ColumnType::kTimestamp: return FieldDescriptorProto::TYPE_INT64;
    case ColumnType::kDate: return FieldDescriptorProto::TYPE_INT32;
    case ColumnType::kFloat64: return FieldDescriptorProto::TYPE_DOUBLE;
    case ColumnType::kBool: return FieldDescriptorProto::TYPE_BOOL;
    case ColumnType::kBytes: return FieldDescriptorProto::TYPE_BYTES;
    case ColumnType::kRecord: return FieldDescriptorProto::TYPE_MESSAGE;
    default: return FieldDescriptorProto::TYPE_STRING;
  }
}

// Records become messages beside each other in the root, under names that say where they stand.
void AddColumns(const io::RowLayout& layout, const std::string& name, DescriptorProto* message,
                DescriptorProto* root) {
  int number = 0;
  for (const io::RowLayout::Column& column : layout.columns()) {
    FieldDescriptorProto* const field = message->add_field();
    field->set_name(column.name);
    field->set_number(++number);
    field->set_type(WireType(column.type));
    field->set_label(column.mode == ColumnMode::kRepeated   ? FieldDescriptorProto::LABEL_REPEATED
                     : column.mode == ColumnMode::kRequired ? FieldDescriptorProto::LABEL_REQUIRED
                                                            : FieldDescriptorProto::LABEL_OPTIONAL);
    if (column.record == nullptr) continue;
    const std::string nested_name = absl::StrCat(name, "_", number);
    field->set_type_name(nested_name);
    DescriptorProto* const nested = root->add_nested_type();
    nested->set_name(nested_name);
    AddColumns(*column.record, nested_name, nested, root);
  }
}

Json ToJson(const io::RowLayout& layout, std::string_view row);

Json NumberToJson(ColumnType type, uint64_t number) {
  switch (type) {
    case ColumnType::kBool: return number != 0;
    case ColumnType::kFloat64: return std::bit_cast<double>(number);
    case ColumnType::kTimestamp:
      return model::ToString(model::EventTime{static_cast<int64_t>(number)});
    case ColumnType::kDate:
      return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + static_cast<int64_t>(number));
    default: return static_cast<int64_t>(number);
  }
}

Json BytesToJson(const io::RowLayout::Column& column, std::string_view bytes) {
  switch (column.type) {
    case ColumnType::kRecord: return ToJson(*column.record, bytes);
    case ColumnType::kBytes:
      return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
    default: return std::string(bytes);
  }
}

Json ToJson(const io::RowLayout& layout, std::string_view row) {
  Json object = Json::object();
  ByteReader in(row);
  while (in.ok() && !in.done()) {
    const uint64_t tag = in.Varint();
    const uint64_t number = tag >> 3;
    if (number == 0 || number > layout.columns().size()) break;
    const io::RowLayout::Column& column = layout.columns()[number - 1];
    Json value;
    switch (tag & 7) {
      case 0: value = NumberToJson(column.type, in.Varint()); break;
      case 1: value = NumberToJson(column.type, in.Fixed64()); break;
      case 2: value = BytesToJson(column, in.Bytes()); break;
      default: return object;
    }
    if (!in.ok()) break;
    if (column.mode == ColumnMode::kRepeated) {
      object[column.name].push_back(std::move(value));
    } else {
      object[column.name] = std::move(value);
    }
  }
  return object;
}

}  // namespace

void DescribeRow(const io::RowLayout& layout, DescriptorProto* descriptor) {
  descriptor->Clear();
  descriptor->set_name("Row");
  AddColumns(layout, "Row", descriptor, descriptor);
}

std::string RowToJson(const io::RowLayout& layout, std::string_view row) {
  return ToJson(layout, row).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hornbeam::connectors
