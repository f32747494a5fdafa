// Values in Avro's binary encoding, and as JSON.
//
//   Avro                          JSON
//   null, boolean, int, long      null, true, 7
//   float, double                 7.5; of what is no number: "NaN", "Infinity", "-Infinity"
//   string, enum                  "text"
//   bytes, fixed                  a binary value (Json::binary), which JSON lines cannot hold
//   record, map                   an object
//   array                         a list
//   union                         the value itself, without the name of its branch
//   timestamp-millis, -micros     "2013-01-01T05:00:00.5Z"; a whole number is taken as the units
//   since 1970 date                          "2013-01-31"; a whole number is taken as days since
//   1970 decimal                       "12.50", with as many digits behind the point as its scale
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_DATUM_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_DATUM_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "connectors/files/formats/avro/avro_schema.h"

namespace hornbeam::connectors {

// Appends the value. INVALID_ARGUMENT names the field that does not fit and what it has. A field
// that an object does not have is null, where it may be; one that the schema does not have is an
// error.
Status EncodeAvro(const AvroType& type, const nlohmann::json& value, std::string* out);

// Reads a value. DATA_LOSS for bytes that no value has; never reads more than there is, nor makes
// more of them than a small multiple.
Status DecodeAvro(const AvroType& type, ByteReader& in, nlohmann::json* value);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_DATUM_H_
