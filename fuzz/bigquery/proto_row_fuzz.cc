// Whatever bytes a row holds, it is decoded or refused.
#include <google/protobuf/descriptor.pb.h>

#include <cstdint>

#include "base/bytes.h"
#include "fuzz_table.h"
#include "services/bigquery/api/proto_row_decoder.h"

namespace hornbeam::services::bigquery {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;

void Add(DescriptorProto* message, const char* name, FieldDescriptorProto::Type type,
         bool repeated = false, const char* type_name = "") {
  auto* field = message->add_field();
  field->set_name(name);
  field->set_number(message->field_size());
  field->set_type(type);
  field->set_label(repeated ? FieldDescriptorProto::LABEL_REPEATED
                            : FieldDescriptorProto::LABEL_OPTIONAL);
  if (*type_name) field->set_type_name(type_name);
}

// The numbers of the fields are those of the table's columns, from 1.
const ProtoRowDecoder& Decoder() {
  static const ProtoRowDecoder* const made = [] {
    DescriptorProto row;
    row.set_name("Row");
    Add(&row, "id", FieldDescriptorProto::TYPE_SINT64);
    Add(&row, "s", FieldDescriptorProto::TYPE_MESSAGE, false, ".google.protobuf.StringValue");
    Add(&row, "b", FieldDescriptorProto::TYPE_BYTES);
    Add(&row, "f", FieldDescriptorProto::TYPE_FLOAT);
    Add(&row, "o", FieldDescriptorProto::TYPE_BOOL);
    Add(&row, "n", FieldDescriptorProto::TYPE_BYTES);
    Add(&row, "g", FieldDescriptorProto::TYPE_BYTES);
    Add(&row, "ts", FieldDescriptorProto::TYPE_MESSAGE, false, ".google.protobuf.Timestamp");
    Add(&row, "da", FieldDescriptorProto::TYPE_STRING);
    Add(&row, "ti", FieldDescriptorProto::TYPE_INT64);
    Add(&row, "dt", FieldDescriptorProto::TYPE_STRING);
    Add(&row, "j", FieldDescriptorProto::TYPE_STRING);
    Add(&row, "l", FieldDescriptorProto::TYPE_INT64, true);
    Add(&row, "r", FieldDescriptorProto::TYPE_MESSAGE, true, ".lost.package.Row.R");
    auto* nested = row.add_nested_type();
    nested->set_name("R");
    Add(nested, "x", FieldDescriptorProto::TYPE_STRING);
    Add(nested, "ys", FieldDescriptorProto::TYPE_SFIXED64, true);
    Add(nested, "q", FieldDescriptorProto::TYPE_MESSAGE, false, "R.Q");
    auto* inner = nested->add_nested_type();
    inner->set_name("Q");
    Add(inner, "z", FieldDescriptorProto::TYPE_INT32);
    std::string extra;
    auto decoder = ProtoRowDecoder::Create(row, FuzzTable(), &extra);
    HB_CHECK(decoder.ok());
    return decoder->release();
  }();
  return *made;
}

std::string Delimited(int number, const std::string& content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  PutBytes(&out, content);
  return out;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string id("\x08\x04", 2);
  return {id + Delimited(2, Delimited(1, "a string that is longer than twelve bytes")) +
              Delimited(3, "bytes") + Delimited(6, "\x01\x02\x03") +
              Delimited(7, std::string(16, '\x01')) + Delimited(9, "2024-02-29") +
              Delimited(11, "2024-02-29T01:02:03.5") + Delimited(12, R"({"a": [1, {"b": null}]})"),
          id + Delimited(8, std::string("\x08\x80\x8c\x8d\xab\x06\x10\x05", 8)) +
              Delimited(13, "\x01\x02\x03") +
              Delimited(14, Delimited(1, "x") + Delimited(2, std::string(16, '\x07')) +
                                Delimited(3, "\x08\x05")) +
              Delimited(14, Delimited(1, "y"))};
}

}  // namespace hornbeam::services::bigquery

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hornbeam::services::bigquery;
  const std::string_view row(reinterpret_cast<const char*>(data), size);
  std::vector<ProtoRowError> errors;
  auto chunks = Decoder().Decode({row, row}, &errors);
  if (errors.empty()) {
    for (RowChunk& chunk : chunks) ReadBack(chunk);
  }
  return 0;
}
