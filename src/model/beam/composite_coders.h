// Coders of other coders' values: kv, sharded_key, nullable, length_prefix, iterable and state_backed_iterable.
#ifndef HORNBEAM_MODEL_BEAM_COMPOSITE_CODERS_H_
#define HORNBEAM_MODEL_BEAM_COMPOSITE_CODERS_H_

#include <memory>
#include <vector>

#include "model/beam/coder.h"

namespace hornbeam::model::beam {

using CoderPtr = std::shared_ptr<const Coder>;

// One after the other.
CoderPtr MakeKvCoder(CoderPtr key, CoderPtr value);
// The shard's id, bytes, and the key, which is always nested.
CoderPtr MakeShardedKeyCoder(CoderPtr key);
// A byte that says whether there is a value, then the value.
CoderPtr MakeNullableCoder(CoderPtr component);
// The length of the component's outer encoding, then it.
CoderPtr MakeLengthPrefixCoder(CoderPtr component);
// A count and the elements. Also reads the form of those that are not counted: -1, then blocks of a count and as many elements, and 0 at
// the end; or -1 and a token with which `state` has the rest.
CoderPtr MakeIterableCoder(CoderPtr element, StateReader state);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_COMPOSITE_CODERS_H_
