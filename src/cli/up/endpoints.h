// Where the services of a running `hornbeam up` answer, and the file that tells other programs.
#ifndef HORNBEAM_CLI_UP_ENDPOINTS_H_
#define HORNBEAM_CLI_UP_ENDPOINTS_H_

#include <string>

#include "base/file_system.h"
#include "base/status.h"

namespace hornbeam::cli {

inline constexpr int kPubSubPort = 8085;
inline constexpr int kBigQueryPort = 9050;
inline constexpr int kBigQueryGrpcPort = 9060;
inline constexpr int kStoragePort = 4443;
inline constexpr int kJobsPort = 8099;
inline constexpr int kConsolePort = 8080;

// Each is host:port; empty where this version has no such service.
struct Endpoints {
  std::string pubsub;
  std::string bigquery;
  std::string bigquery_grpc;
  std::string storage;
  std::string jobs;
  std::string console;
};

// {"pubsub": "127.0.0.1:8085", ..., "storage": null}: one key per service, null for one that does
// not exist.
std::string ToJson(const Endpoints& endpoints);
StatusOr<Endpoints> EndpointsFromJson(const std::string& text);

// What `up` writes into its data directory while it runs.
std::string EndpointsFile(const std::string& data_dir);

// Of the `up` that runs on `data_dir`, by its file; where there is none, the default ports. A
// damaged file is DATA_LOSS.
StatusOr<Endpoints> FindEndpoints(FileSystem& fs, const std::string& data_dir);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_UP_ENDPOINTS_H_
