// Serialised protocol buffers, as the Storage Write API carries rows, decoded into a table's
// columns.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_PROTO_ROW_DECODER_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_PROTO_ROW_DECODER_H_

#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/store/row_chunk.h"

namespace hornbeam::services::bigquery {

struct ProtoRowError {
  int64_t index;
  std::string message;
};

// Immutable: one per (writer schema, version of the table). The wire is read directly, without a
// DynamicMessage in between; conversions are those of Google's table "Supported protocol buffer
// data types".
class ProtoRowDecoder {
 public:
  // INVALID_ARGUMENT when a field cannot be converted to its column, or a required column has no
  // field. A field without a column is also INVALID_ARGUMENT, and `*extra_field` is its name then.
  static StatusOr<std::unique_ptr<ProtoRowDecoder>> Create(
      const google::protobuf::DescriptorProto& descriptor, std::shared_ptr<const Table> table,
      std::string* extra_field);

  // Decodes all rows. With any bad row, `*errors` has one entry for each of these and the chunks
  // are of no use.
  std::vector<RowChunk> Decode(const std::vector<std::string_view>& rows,
                               std::vector<ProtoRowError>* errors) const;

  const std::shared_ptr<const Table>& table() const { return table_; }

 private:
  struct MessagePlan;
  // One field of the message and where it goes.
  struct FieldPlan {
    std::string name;
    google::protobuf::FieldDescriptorProto::Type type;
    bool repeated = false;
    int column = -1;
    // A google.protobuf wrapper: the value is its field 1, of `type`.
    bool wrapper = false;
    bool timestamp_message = false;
    std::map<int32_t, std::string> enum_names;
    std::unique_ptr<MessagePlan> message;
  };
  struct MessagePlan {
    std::vector<int> by_number;  // index into fields, -1: none; for small numbers
    std::map<uint32_t, int> by_large_number;
    std::vector<FieldPlan> fields;
    std::vector<int> required;  // columns

    const FieldPlan* Find(uint32_t number) const;
  };
  class Builder;
  struct Row;

  ProtoRowDecoder() = default;

  // Each returns false with `row->error` set.
  bool DecodeMessage(const MessagePlan& plan, std::string_view bytes,
                     std::vector<ColumnWriter>& columns, idx_t at, Row* row) const;
  bool DecodeValue(const FieldPlan& field, uint64_t number, std::string_view bytes,
                   ColumnWriter& column, idx_t at, Row* row) const;

  std::shared_ptr<const Table> table_;
  std::unique_ptr<MessagePlan> plan_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_PROTO_ROW_DECODER_H_
