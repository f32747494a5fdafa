#include "services/bigquery/api/body_members.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;

bool AreAll(const json& list, bool (json::*is)() const noexcept) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [is](const json& item) { return (item.*is)(); });
}

bool Has(const json& value, MemberType type) {
  switch (type) {
    case MemberType::kString: return value.is_string();
    case MemberType::kObject: return value.is_object();
    case MemberType::kStrings: return AreAll(value, &json::is_string);
    case MemberType::kObjects: return AreAll(value, &json::is_object);
  }
  return false;
}

const char* Wanted(MemberType type) {
  switch (type) {
    case MemberType::kString: return "a string";
    case MemberType::kObject: return "an object";
    case MemberType::kStrings: return "an array of strings";
    case MemberType::kObjects: return "an array of objects";
  }
  return "";
}

const char* Found(const json& value) {
  if (value.is_string()) return "a string";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array of other things";
  return value.is_boolean() ? "a truth value" : "a number";
}

}  // namespace

Status CheckMembers(std::initializer_list<BodyMember> members, json* body) {
  for (const BodyMember& member : members) {
    const std::vector<std::string> names = absl::StrSplit(member.path, '.');
    json* object = body;
    for (size_t i = 0; i + 1 < names.size() && object != nullptr; ++i) {
      const auto inner = object->find(names[i]);
      object = inner != object->end() && inner->is_object() ? &*inner : nullptr;
    }
    if (object == nullptr) continue;
    const auto value = object->find(names.back());
    if (value == object->end()) continue;
    if (value->is_null()) {
      object->erase(value);
    } else if (!Has(*value, member.type)) {
      return Invalid(absl::StrCat("Invalid value for ", member.path, ": it must be ",
                                  Wanted(member.type), ", not ", Found(*value), "."));
    }
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
