// What datasets, tables and write streams exist: kept in memory for reading, and inside DuckDB so
// that every change is one transaction with the data it is about.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_CATALOG_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_CATALOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "services/bigquery/core/cancellation.h"
#include "services/bigquery/core/names.h"
#include "services/bigquery/core/schema.h"
#include "services/bigquery/core/writer_turn.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

struct Dataset {
  DatasetName name;
  // What the user set: description, labels, location, ... as the REST API spells it.
  nlohmann::json properties;
  int64_t created_ms = 0;
  int64_t modified_ms = 0;
};

// One version of a table; a change makes another.
struct Table {
  TableName name;
  TableSchema schema;
  // What the user set, besides the schema: description, labels, timePartitioning, clustering, view,
  // ...
  nlohmann::json properties;
  int64_t created_ms = 0;
  int64_t modified_ms = 0;
  // Differs between any two versions of any tables within the process.
  uint64_t generation = 0;
  // DuckDB's types of the columns, in the schema's order.
  std::vector<LogicalType> types;

  bool is_view() const { return properties.contains("view"); }
};

struct WriteStream {
  int64_t id = 0;
  std::string name;  // full resource name
  TableName table;
  int64_t next_offset = 0;
  bool finalized = false;
  int64_t created_us = 0;
};

// Thread-safe. Readers get snapshots. Writers take turns: everything that changes the file runs in
// WriteTransaction, so no two transactions ever conflict.
class Catalog {
 public:
  // Loads what is in `database`, or prepares it when it is new. Both pointers outlive the catalog.
  static StatusOr<std::unique_ptr<Catalog>> Open(Database* database, Clock* clock);

  // How a transaction runs, where it is not as usual.
  struct Write {
    // With a temporary table of the caller's, for instance. Null: the writer's own.
    Connection* connection = nullptr;
    // Stops the wait for the turn, and `body`. Null: nothing does.
    Cancellation* cancellation = nullptr;
  };
  // Runs `body` in one durable transaction when it is its turn: when it returns OK and the commit
  // succeeds, its effects are on disk; otherwise there are none. `committed` then shows them in
  // memory, before the next writer's turn. Not reentrant.
  Status WriteTransaction(const std::function<Status(Connection&)>& body,
                          const std::function<void()>& committed = nullptr) {
    return WriteTransaction(body, committed, Write());
  }
  Status WriteTransaction(const std::function<Status(Connection&)>& body,
                          const std::function<void()>& committed, const Write& write);

  // Returns when what is committed is shown in memory too.
  void AwaitShown();
  // Grows with every change of what datasets and tables there are.
  uint64_t version() const { return version_.load(); }

  // Datasets. `properties` as in Dataset. Errors: NOT_FOUND, ALREADY_EXISTS, INVALID_ARGUMENT.
  StatusOr<Dataset> CreateDataset(const DatasetName& name, nlohmann::json properties);
  StatusOr<Dataset> GetDataset(const DatasetName& name) const;
  std::vector<Dataset> ListDatasets(std::string_view project) const;
  StatusOr<Dataset> SetDatasetProperties(const DatasetName& name, nlohmann::json properties);
  // A dataset with tables is only deleted with `delete_contents`.
  Status DeleteDataset(const DatasetName& name, bool delete_contents);

  // Tables.
  struct NewTable {
    TableName name;
    TableSchema schema;
    nlohmann::json properties;
    // Replaces a table of that name.
    bool replace = false;
    // DuckDB's text of a query: with `properties.view` it is what the view stands for, otherwise
    // the table's first rows.
    std::string as_query;

    bool is_view() const { return properties.contains("view"); }
  };
  StatusOr<std::shared_ptr<const Table>> CreateTable(NewTable table) {
    return CreateTable(std::move(table), Write());
  }
  StatusOr<std::shared_ptr<const Table>> CreateTable(NewTable table, const Write& write);
  StatusOr<std::shared_ptr<const Table>> GetTable(const TableName& name) const;
  std::vector<std::shared_ptr<const Table>> ListTables(const DatasetName& name) const;
  // Adds columns, relaxes REQUIRED ones, changes descriptions (`schema`, when given) and replaces
  // the properties. ABORTED when `current`, from which the change was made, no longer is.
  StatusOr<std::shared_ptr<const Table>> UpdateTable(const Table& current,
                                                     const TableSchema* schema,
                                                     nlohmann::json properties);
  // Drops columns; for ALTER TABLE.
  Status DropColumn(const TableName& name, const std::string& column);
  Status DeleteTable(const TableName& name);

  // Write streams. Names are full and canonical ("projects/.../streams/s").
  StatusOr<WriteStream> CreateStream(const TableName& table);
  StatusOr<WriteStream> GetStream(const std::string& name) const;
  // From then on nothing is appended to it. Returns it with its final number of rows. Idempotent.
  StatusOr<WriteStream> FinalizeStream(const std::string& name);
  // For the committer, inside its transaction and once it is committed: persists the next offsets,
  // and shows them.
  Status StoreOffsets(Connection& connection,
                      const std::map<std::string, int64_t>& next_offsets) const;
  void ShowOffsets(const std::map<std::string, int64_t>& next_offsets);

  Database& database() { return *database_; }
  Clock& clock() { return *clock_; }

 private:
  Catalog(Database* database, Clock* clock) : database_(database), clock_(clock) {}

  Status Load();
  int64_t NowMs() const { return clock_->NowMicros() / 1000; }
  // Both write the row of one resource.
  Status Store(Connection& connection, const Dataset& dataset) const;
  Status Store(Connection& connection, const Table& table) const;
  Status Forget(Connection& connection, const TableName& name) const;
  // Fills in the types (from DuckDB) and the generation.
  Status Finish(Connection& connection, Table* table);
  void Show(std::shared_ptr<const Table> table);
  void Hide(const TableName& name);

  Database* const database_;
  Clock* const clock_;

  WriterTurn turn_;
  std::unique_ptr<Connection> writer_;  // of whoever has the turn
  std::atomic<uint64_t> version_{0};
  // Held from a commit until `committed` has shown it. Taken before mutex_.
  Mutex show_mutex_;

  mutable Mutex mutex_;
  std::map<DatasetName, Dataset> datasets_ ABSL_GUARDED_BY(mutex_);
  std::map<TableName, std::shared_ptr<const Table>> tables_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, WriteStream> streams_ ABSL_GUARDED_BY(mutex_);
  int64_t next_stream_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::atomic<uint64_t> next_generation_{1};
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_CATALOG_H_
