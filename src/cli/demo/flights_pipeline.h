// The demo's pipeline: flights from Pub/Sub; parsed, with a dead letter for what cannot be; each
// once; written as they are, and as hourly departures and delays by airport that late flights
// correct.
#ifndef HORNBEAM_CLI_DEMO_FLIGHTS_PIPELINE_H_
#define HORNBEAM_CLI_DEMO_FLIGHTS_PIPELINE_H_

#include <string>

#include "hornbeam/hornbeam.h"

namespace hornbeam::cli {

struct FlightsPipelineOptions {
  std::string subscription;     // projects/P/subscriptions/S
  std::string dataset;          // "project.dataset"; exists
  std::string pubsub_endpoint;  // host:port
  std::string bigquery_rest_endpoint;
  std::string bigquery_grpc_endpoint;
};

inline constexpr char kReadStep[] = "ReadFlights";
inline constexpr char kParseStep[] = "Parse";
inline constexpr char kWriteEventsStep[] = "WriteEvents";

// Adds it to `pipeline`. Tables events, hourly and dead_letters are created when they are missing.
void BuildFlightsPipeline(const FlightsPipelineOptions& options, Pipeline* pipeline);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_FLIGHTS_PIPELINE_H_
