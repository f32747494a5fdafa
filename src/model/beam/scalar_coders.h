// Coders without components: bool, varint, double, bytes, string_utf8.
#ifndef HORNBEAM_MODEL_BEAM_SCALAR_CODERS_H_
#define HORNBEAM_MODEL_BEAM_SCALAR_CODERS_H_

#include <memory>
#include <string_view>

#include "model/beam/coder.h"

namespace hornbeam::model::beam {

// Null for a URN that is not one of them.
std::shared_ptr<const Coder> MakeScalarCoder(std::string_view urn);

// What rows have beside them: a byte, an int16 in two bytes and a float in four, big-endian.
std::shared_ptr<const Coder> MakeByteCoder();
std::shared_ptr<const Coder> MakeInt16Coder();
std::shared_ptr<const Coder> MakeFloatCoder();

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_SCALAR_CODERS_H_
