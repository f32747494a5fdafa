// Reads what standard_coders.yaml says about a coder and its values.
#ifndef HORNBEAM_TESTS_CONFORMANCE_BEAM_YAML_VALUES_H_
#define HORNBEAM_TESTS_CONFORMANCE_BEAM_YAML_VALUES_H_

#include <yaml-cpp/yaml.h>

#include <string>

#include "model/beam/coder.h"

namespace hornbeam::model::beam {

// Bytes are written in the file as the characters of their numbers.
std::string BytesOf(const std::string& utf8);

CoderSpec SpecOf(const YAML::Node& coder);

// The value that `node` describes for a coder. Throws where the file has what this does not know.
Value ValueOf(const CoderSpec& spec, const YAML::Node& node);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_TESTS_CONFORMANCE_BEAM_YAML_VALUES_H_
