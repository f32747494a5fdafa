#include "model/beam/coder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/beam/composite_coders.h"
#include "model/beam/row_coder.h"
#include "model/beam/scalar_coders.h"
#include "model/beam/window_coders.h"

namespace hornbeam::model::beam {
namespace {

struct Kind {
  std::string_view urn;
  size_t components;
  StatusOr<CoderPtr> (*make)(const CoderSpec& spec, std::vector<CoderPtr> components, const StateReader& state);
};

StatusOr<CoderPtr> Scalar(const CoderSpec& spec, std::vector<CoderPtr>, const StateReader&) { return MakeScalarCoder(spec.urn); }
StatusOr<CoderPtr> Iterable(const CoderSpec&, std::vector<CoderPtr> components, const StateReader& state) {
  return MakeIterableCoder(std::move(components[0]), state);
}

const Kind kKinds[] = {
    {"beam:coder:bytes:v1", 0, Scalar},
    {"beam:coder:string_utf8:v1", 0, Scalar},
    {"beam:coder:bool:v1", 0, Scalar},
    {"beam:coder:varint:v1", 0, Scalar},
    {"beam:coder:double:v1", 0, Scalar},
    {"beam:coder:kv:v1", 2, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeKvCoder(std::move(c[0]), std::move(c[1]));
     }},
    {"beam:coder:sharded_key:v1", 1, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeShardedKeyCoder(std::move(c[0]));
     }},
    {"beam:coder:nullable:v1", 1, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeNullableCoder(std::move(c[0]));
     }},
    {"beam:coder:length_prefix:v1", 1, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeLengthPrefixCoder(std::move(c[0]));
     }},
    {"beam:coder:iterable:v1", 1, Iterable},
    {"beam:coder:state_backed_iterable:v1", 1, Iterable},
    {"beam:coder:global_window:v1", 0, [](const CoderSpec&, std::vector<CoderPtr>, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeGlobalWindowCoder();
     }},
    {"beam:coder:interval_window:v1", 0, [](const CoderSpec&, std::vector<CoderPtr>, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeIntervalWindowCoder();
     }},
    {"beam:coder:custom_window:v1", 1, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeCustomWindowCoder(std::move(c[0]));
     }},
    {"beam:coder:windowed_value:v1", 2, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeWindowedValueCoder(std::move(c[0]), std::move(c[1]));
     }},
    {"beam:coder:param_windowed_value:v1", 2,
     [](const CoderSpec& spec, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeParamWindowedValueCoder(std::move(c[0]), std::move(c[1]), spec.payload);
     }},
    {"beam:coder:timer:v1", 2, [](const CoderSpec&, std::vector<CoderPtr> c, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeTimerCoder(std::move(c[0]), std::move(c[1]));
     }},
    {"beam:coder:row:v1", 0, [](const CoderSpec& spec, std::vector<CoderPtr>, const StateReader&) -> StatusOr<CoderPtr> {
       return MakeRowCoder(spec.payload);
     }},
};

const Kind* FindKind(std::string_view urn) {
  for (const Kind& kind : kKinds) {
    if (kind.urn == urn) return &kind;
  }
  return nullptr;
}

}  // namespace

bool IsStandardCoder(std::string_view urn) { return FindKind(urn) != nullptr; }

StatusOr<CoderPtr> MakeCoder(const CoderSpec& spec, const StateReader& state) {
  const Kind* kind = FindKind(spec.urn);
  if (kind == nullptr) return absl::UnimplementedError(absl::StrCat("there is no coder ", spec.urn, " here: length-prefix it"));
  if (spec.components.size() != kind->components) {
    return absl::InvalidArgumentError(
        absl::StrCat("coder ", spec.urn, " has ", spec.components.size(), " components where it takes ", kind->components));
  }
  std::vector<CoderPtr> components;
  for (const CoderSpec& component : spec.components) {
    HB_ASSIGN_OR_RETURN(CoderPtr coder, MakeCoder(component, state));
    components.push_back(std::move(coder));
  }
  return kind->make(spec, std::move(components), state);
}

}  // namespace hornbeam::model::beam
