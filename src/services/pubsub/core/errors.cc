#include "services/pubsub/core/errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/shorten.h"

namespace hornbeam::services::pubsub {
namespace {

// Debian's Abseil has a string_view of its own.
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::string_view LastPart(std::string_view name) {
  const size_t slash = name.rfind('/');
  return View(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

}  // namespace

Status ResourceNotFound(std::string_view name) {
  return absl::NotFoundError(absl::StrCat("Resource not found (resource=", LastPart(name), ")."));
}

Status ResourceExists(std::string_view name) {
  return absl::AlreadyExistsError(
      absl::StrCat("Resource already exists in the project (resource=", LastPart(name), ")."));
}

Status InvalidResourceName(std::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid resource name given (name=", Shortened(name),
                   "). Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names "
                   "for more information."));
}

Status InvalidAckId(std::string_view ack_id) {
  return absl::InvalidArgumentError(absl::StrCat(
      "You have passed an invalid ack ID to the service (ack_id=", Shortened(ack_id), ")."));
}

Status InvalidArgument(std::string_view argument, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("You have passed an invalid argument to the service (argument=", View(argument),
                   "). ", View(why)));
}

Status TooLarge(std::string_view what, int64_t given, int64_t maximum) {
  return absl::InvalidArgumentError(
      absl::StrCat("The value for ", View(what), " is too large. You passed ", given,
                   " in the request, but the maximum value is ", maximum, "."));
}

Status NotSupported(std::string_view feature) {
  return absl::UnimplementedError(
      absl::StrCat("The local Pub/Sub does not support ", View(feature), " yet."));
}

Status ShuttingDown() {
  return absl::UnavailableError(
      "The service was unable to fulfill your request: the server is shutting down. Please try "
      "again.");
}

}  // namespace hornbeam::services::pubsub
