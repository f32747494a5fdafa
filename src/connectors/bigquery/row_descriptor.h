// What a row's bytes mean: to BigQuery as a Protobuf descriptor, to people as JSON.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_ROW_DESCRIPTOR_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_ROW_DESCRIPTOR_H_

#include <string>
#include <string_view>

#include "hornbeam/io/bigquery_row.h"

namespace google::protobuf {
class DescriptorProto;
}  // namespace google::protobuf

namespace hornbeam::connectors {

// Self-contained, as the Storage Write API asks for.
void DescribeRow(const io::RowLayout& layout, google::protobuf::DescriptorProto* descriptor);

// One JSON object, for a person who looks into what was refused: columns in order, numbers of 64
// bits as numbers, TIMESTAMP in RFC 3339, BYTES in base64. Bytes that are cut off give what could
// be read.
std::string RowToJson(const io::RowLayout& layout, std::string_view row);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_ROW_DESCRIPTOR_H_
