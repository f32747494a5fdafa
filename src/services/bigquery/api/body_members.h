// The types that BigQuery's API gives to the members of a request's body.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_BODY_MEMBERS_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_BODY_MEMBERS_H_

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/status.h"

namespace hornbeam::services::bigquery {

enum class MemberType { kString, kObject, kStrings, kObjects };

struct BodyMember {
  const char* path;  // "configuration.query.query"
  MemberType type;
};

// Checks the members that are there, each after those that it is in, and takes away those that are
// null, which is "not set". INVALID_ARGUMENT names the one that is wrong. Afterwards each can be
// read as what it is said to be.
Status CheckMembers(std::initializer_list<BodyMember> members, nlohmann::json* body);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_BODY_MEMBERS_H_
