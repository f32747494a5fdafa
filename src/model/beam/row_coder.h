// beam:coder:row:v1: the number of fields, a bit for each that is null, then the others in the order of their encoding positions.
//
// A logical type is written as its representation, but for two that have coders of their own: millis_instant (8 bytes, big-endian,
// here an int64 of the same bits) and decimal (its scale as varint, then its unscaled value as two's complement bytes; here a list of
// the two).
#ifndef HORNBEAM_MODEL_BEAM_ROW_CODER_H_
#define HORNBEAM_MODEL_BEAM_ROW_CODER_H_

#include <string_view>

#include "model/beam/composite_coders.h"

namespace hornbeam::model::beam {

// `payload` is a schema; INVALID_ARGUMENT where it is not.
StatusOr<CoderPtr> MakeRowCoder(std::string_view payload);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_ROW_CODER_H_
