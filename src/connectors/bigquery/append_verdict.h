// What an answer of AppendRows means for the rows of its request.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_APPEND_VERDICT_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_APPEND_VERDICT_H_

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace google::cloud::bigquery::storage::v1 {
class AppendRowsResponse;
}  // namespace google::cloud::bigquery::storage::v1

namespace hornbeam::connectors {

struct AppendVerdict {
  enum class Kind {
    kWritten,
    kAlreadyExists,  // the stream has rows at this offset
    kOutOfRange,     // the stream ends before this offset
    kRowsRefused,    // none was written; the response says which rows are bad
    kStreamGone,     // finalized, expired or deleted: takes nothing more
    kTryAgain,       // not known whether it was written
    kFatal,
  };
  Kind kind = Kind::kWritten;
  Status why;  // OK where the kind is kWritten
};

AppendVerdict JudgeResponse(
    const google::cloud::bigquery::storage::v1::AppendRowsResponse& response);
// How the call as a whole ended; not OK.
AppendVerdict JudgeCall(const grpc::Status& status);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_APPEND_VERDICT_H_
