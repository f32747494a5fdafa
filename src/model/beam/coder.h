// Beam's standard coders, byte by byte (beam_runner_api.proto, StandardCoders), for elements of other SDKs' pipelines. Tested
// against the cases that Beam publishes, standard_coders.yaml.
//
// In the nested context, where something follows, bytes and strings are preceded by their length; in the outer one they end with
// the input. The last component of a kv or a windowed value has the composite's own context, all others are nested.
//
// Beam's times count milliseconds. What is finer is cut off towards zero; the least and the greatest time that milliseconds can
// say are Min() and Max(). So a window of this engine that is not whole milliseconds long cannot be read back as it was.
//
// Coders are immutable and thread-safe.
#ifndef HORNBEAM_MODEL_BEAM_CODER_H_
#define HORNBEAM_MODEL_BEAM_CODER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "model/beam/value.h"

namespace hornbeam::model::beam {

enum class Context { kOuter, kNested };

class Coder {
 public:
  virtual ~Coder() = default;

  // Appends `value`. False, with *out unspecified, where it is not of this coder's kind.
  [[nodiscard]] virtual bool Encode(const Value& value, Context context, std::string* out) const = 0;
  // False on bytes that no coder of this kind writes. In the outer context all of the input is the value's.
  [[nodiscard]] virtual bool Decode(ByteReader& in, Context context, Value* value) const = 0;
};

// A coder as a pipeline names it.
struct CoderSpec {
  std::string urn;
  std::string payload;
  std::vector<CoderSpec> components;
};

// The rest of an iterable that lies in the runner's state: its elements one after another, by the token that stands for it.
using StateReader = std::function<StatusOr<std::string>(std::string_view token)>;

// Whether there is a coder of this URN here.
bool IsStandardCoder(std::string_view urn);

// UNIMPLEMENTED for a URN that is not known here, INVALID_ARGUMENT for components or a payload that do not fit. `state` may be empty:
// then an iterable with a token cannot be read.
StatusOr<std::shared_ptr<const Coder>> MakeCoder(const CoderSpec& spec, const StateReader& state = {});

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_CODER_H_
