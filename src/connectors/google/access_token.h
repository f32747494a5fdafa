// The token with which a REST call shows Google Cloud who calls.
#ifndef HORNBEAM_CONNECTORS_GOOGLE_ACCESS_TOKEN_H_
#define HORNBEAM_CONNECTORS_GOOGLE_ACCESS_TOKEN_H_

#include <string>

#include "base/status.h"

namespace hornbeam::connectors {

// From the environment variable GOOGLE_OAUTH_ACCESS_TOKEN if it is set ("gcloud auth
// print-access-token" prints one), else of the machine's own service account, where this runs on
// Google Cloud. UNAUTHENTICATED says what to do. Blocks for a few seconds at most.
StatusOr<std::string> GetAccessToken();

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_GOOGLE_ACCESS_TOKEN_H_
