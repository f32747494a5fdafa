// Requests that a browser was made to send by a page of another site.
#ifndef HORNBEAM_BASE_HTTP_ORIGIN_H_
#define HORNBEAM_BASE_HTTP_ORIGIN_H_

#include "base/http_server.h"

namespace hornbeam {

// A page of another site can make a browser send requests here, under its own Origin, or, with a
// name that resolves to 127.0.0.1, under a Host of its own. True for a Host that is neither a
// loopback name nor one of Google's (client programs that are directed here may still name
// *.googleapis.com, and no other site's page can), and for an Origin other than the Host's. A
// request without a Host is not a browser's.
bool IsForeign(const HttpRequest& request);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_HTTP_ORIGIN_H_
