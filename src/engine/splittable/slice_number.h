// A key that is nothing but the slice that it lies in: for what may go to any worker, and is dealt out evenly.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_SLICE_NUMBER_H_
#define HORNBEAM_ENGINE_SPLITTABLE_SLICE_NUMBER_H_

#include <cstdint>

#include "model/coder.h"
#include "model/key_hash.h"

namespace hornbeam::engine {

struct SliceNumber {
  uint8_t slice = 0;
};

}  // namespace hornbeam::engine

namespace hornbeam::model {

static_assert(kKeySlices == 256, "a slice's number is the hash's first byte");

template <>
inline KeyHash HashKey(const engine::SliceNumber& number) {
  return {0, static_cast<uint64_t>(number.slice) << 56};
}

}  // namespace hornbeam::model

#endif  // HORNBEAM_ENGINE_SPLITTABLE_SLICE_NUMBER_H_
