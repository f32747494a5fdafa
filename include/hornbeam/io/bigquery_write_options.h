// What a pipeline says about a table that it writes.
#ifndef HORNBEAM_IO_BIGQUERY_WRITE_OPTIONS_H_
#define HORNBEAM_IO_BIGQUERY_WRITE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "hornbeam/io/bigquery_schema.h"

namespace hornbeam::io {

enum class CreateDisposition : uint8_t {
  kCreateIfNeeded,  // in a dataset that exists
  kCreateNever,
};

// Beam's; a stream can only append, so the other two are refused when the pipeline starts.
enum class WriteDisposition : uint8_t { kAppend, kEmpty, kTruncate };

struct BigQueryWriteOptions {
  // "project:dataset.table", "project.dataset.table" or "projects/P/datasets/D/tables/T".
  std::string table;
  TableSchema schema;
  CreateDisposition create_disposition = CreateDisposition::kCreateIfNeeded;
  WriteDisposition write_disposition = WriteDisposition::kAppend;

  // For a table that is created: a DATE, DATETIME or TIMESTAMP column to partition by, by day; none
  // if empty. And columns to cluster by, in order; four at most.
  std::string partition_column;
  std::vector<std::string> clustering_columns;

  // "host:port" of the Storage Write API (gRPC) without TLS. Empty: BIGQUERY_STORAGE_GRPC_ENDPOINT,
  // else Google Cloud with the application's default credentials.
  std::string grpc_endpoint;
  // "http://host:port" of the REST API, which creates tables. Empty: BIGQUERY_EMULATOR_HOST, else
  // Google Cloud.
  std::string rest_endpoint;
  // How long a start waits for BigQuery to answer.
  int start_timeout_seconds = 30;
};

struct TableName {
  std::string project;
  std::string dataset;
  std::string table;

  // INVALID_ARGUMENT says how a table is written.
  static StatusOr<TableName> Parse(const std::string& text);

  std::string Resource() const;  // "projects/P/datasets/D/tables/T"
  std::string ToString() const;  // "P.D.T"
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_BIGQUERY_WRITE_OPTIONS_H_
