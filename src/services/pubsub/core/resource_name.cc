#include "services/pubsub/core/resource_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "services/pubsub/core/errors.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr std::string_view kProjects = "projects/";

bool IsProjectId(std::string_view id) {
  return !id.empty() && id.size() <= 100 && std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == ':' || c == '.' ||
           c == '_';
  });
}

bool IsResourceId(std::string_view id) {
  constexpr std::string_view kMarks = "-_.~+%";
  if (id.size() < 3 || id.size() > 255 || !absl::ascii_isalpha(static_cast<unsigned char>(id[0])))
    return false;
  if (absl::StartsWith(absl::string_view(id.data(), id.size()), "goog")) return false;
  return std::all_of(id.begin(), id.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kMarks.find(c) != std::string_view::npos;
  });
}

Status CheckName(std::string_view name, std::string_view collection) {
  if (name.starts_with(kProjects)) {
    const std::string_view rest = name.substr(kProjects.size());
    const size_t at = rest.find('/');
    if (at != std::string_view::npos && IsProjectId(rest.substr(0, at)) &&
        rest.substr(at).starts_with(collection) &&
        IsResourceId(rest.substr(at + collection.size()))) {
      return absl::OkStatus();
    }
  }
  return InvalidResourceName(name);
}

}  // namespace

Status CheckTopicName(std::string_view name) { return CheckName(name, "/topics/"); }
Status CheckSubscriptionName(std::string_view name) { return CheckName(name, "/subscriptions/"); }

Status CheckProjectName(std::string_view name) {
  if (name.starts_with(kProjects) && IsProjectId(name.substr(kProjects.size())))
    return absl::OkStatus();
  return InvalidResourceName(name);
}

std::string_view ShortName(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
}

}  // namespace hornbeam::services::pubsub
