#include "services/bigquery/core/group_committer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

// A table's appender within the running transaction.
class TableAppender {
 public:
  ~TableAppender() {
    if (appender_) duckdb_appender_destroy(&appender_);
  }

  // `columns`: those that the chunks have; null: all of the table's, in its order.
  Status Open(Connection& connection, const TableName& name, const TableSchema* columns) {
    const std::string schema = PhysicalSchema(name.dataset_name());
    const std::string table = PhysicalName(name.table);
    if (duckdb_appender_create(connection.get(), schema.c_str(), table.c_str(), &appender_) ==
        DuckDBError) {
      return Error();
    }
    if (columns) {
      for (const Field& field : columns->fields) {
        if (duckdb_appender_add_column(appender_, field.name.c_str()) == DuckDBError)
          return Error();
      }
    }
    return absl::OkStatus();
  }

  Status Add(const RowChunk& chunk) {
    return duckdb_append_data_chunk(appender_, chunk.get()) == DuckDBError ? Error()
                                                                           : absl::OkStatus();
  }

  Status Close() {
    return duckdb_appender_close(appender_) == DuckDBError ? Error() : absl::OkStatus();
  }

 private:
  Status Error() {
    duckdb_error_data error = duckdb_appender_error_data(appender_);
    const char* message = duckdb_error_data_message(error);
    Status status =
        DuckDbError(duckdb_error_data_error_type(error), message ? message : "unknown error");
    duckdb_destroy_error_data(&error);
    return status;
  }

  duckdb_appender appender_ = nullptr;
};

bool HasColumns(const TableSchema& table, const TableSchema& columns) {
  for (const Field& column : columns.fields) {
    const int at = table.Find(column.name);
    if (at < 0) return false;
    const Field& now = table.fields[static_cast<size_t>(at)];
    if (now.type != column.type || now.fields != column.fields ||
        (now.mode == FieldMode::kRepeated) != (column.mode == FieldMode::kRepeated)) {
      return false;
    }
  }
  return true;
}

}  // namespace

GroupCommitter::GroupCommitter(Catalog* catalog) : catalog_(catalog), thread_([this] { Loop(); }) {}

void GroupCommitter::Submit(Append append) {
  {
    MutexLock lock(&mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(append));
      wake_.Signal();
      return;
    }
  }
  append.done(
      {absl::UnavailableError("the BigQuery service is stopping"), AppendRefusal::kNone, 0});
}

AppendOutcome GroupCommitter::SubmitAndWait(Append append) {
  Mutex mutex;
  CondVar ready;
  std::optional<AppendOutcome> outcome;
  append.done = [&](const AppendOutcome& done) {
    MutexLock lock(&mutex);
    outcome = done;
    ready.Signal();
  };
  Submit(std::move(append));
  MutexLock lock(&mutex);
  while (!outcome) ready.Wait(&mutex);
  return *outcome;
}

void GroupCommitter::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    wake_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void GroupCommitter::Loop() {
  for (;;) {
    std::vector<Append> group;
    {
      MutexLock lock(&mutex_);
      while (waiting_.empty() && !stopping_) wake_.Wait(&mutex_);
      if (waiting_.empty()) return;
      group.swap(waiting_);
    }
    CommitGroup(&group);
  }
}

void GroupCommitter::CommitGroup(std::vector<Append>* group) {
  std::vector<Append*> all;
  for (Append& append : *group) all.push_back(&append);
  std::vector<AppendOutcome> outcomes;
  Status status = CommitTogether(all, &outcomes);
  if (!status.ok() && all.size() > 1) {
    // One of them is at fault: each alone, so that the others do not suffer.
    outcomes.clear();
    for (Append* append : all) {
      std::vector<AppendOutcome> one;
      const Status alone = CommitTogether({append}, &one);
      outcomes.push_back(alone.ok() ? one[0] : AppendOutcome{alone});
    }
  } else if (!status.ok()) {
    outcomes = {AppendOutcome{status}};
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i]->chunks.clear();
    all[i]->done(outcomes[i]);
  }
}

AppendOutcome GroupCommitter::CheckStream(const Append& append,
                                          std::map<std::string, int64_t>* next_offsets) const {
  const auto stream = catalog_->GetStream(append.stream);
  if (!stream.ok()) return {stream.status(), AppendRefusal::kStreamNotFound};
  if (stream->finalized) {
    return {absl::InvalidArgumentError(absl::StrCat(
                "Stream has been finalized and cannot be appended. Entity: ", append.stream)),
            AppendRefusal::kStreamFinalized};
  }
  const auto pending = next_offsets->find(append.stream);
  const int64_t next = pending == next_offsets->end() ? stream->next_offset : pending->second;
  if (append.offset && *append.offset < next) {
    return {absl::AlreadyExistsError(absl::StrCat("The offset is within stream, expected offset ",
                                                  next, ", received ", *append.offset,
                                                  " Entity: ", append.stream)),
            AppendRefusal::kOffsetAlreadyExists};
  }
  if (append.offset && *append.offset > next) {
    return {absl::OutOfRangeError(absl::StrCat("The offset is beyond stream, expected offset ",
                                               next, ", received ", *append.offset,
                                               " Entity: ", append.stream)),
            AppendRefusal::kOffsetOutOfRange};
  }
  (*next_offsets)[append.stream] = next + append.rows;
  return {absl::OkStatus(), AppendRefusal::kNone, next};
}

Status GroupCommitter::CommitTogether(const std::vector<Append*>& appends,
                                      std::vector<AppendOutcome>* outcomes) {
  std::map<std::string, int64_t> next_offsets;
  int64_t rows = 0;
  const Status status = catalog_->WriteTransaction(
      [&](Connection& connection) -> Status {
        // By the version of the table that the chunks were laid out for.
        struct Target {
          std::shared_ptr<const Table> laid_out;
          std::vector<const Append*> appends;
        };
        std::map<uint64_t, Target> targets;
        for (Append* append : appends) {
          const TableName& name = append->table->name;
          const auto table = catalog_->GetTable(name);
          if (!table.ok()) {
            outcomes->push_back({table.status(), AppendRefusal::kTableNotFound});
            continue;
          }
          if ((*table)->generation != append->table->generation &&
              !HasColumns((*table)->schema, append->table->schema)) {
            outcomes->push_back(
                {absl::FailedPreconditionError(absl::StrCat(
                     "the columns of ", name.ToString(), " have changed; open the stream again")),
                 AppendRefusal::kSchemaChanged});
            continue;
          }
          AppendOutcome outcome;
          if (!append->stream.empty()) outcome = CheckStream(*append, &next_offsets);
          outcomes->push_back(outcome);
          if (!outcome.status.ok()) continue;
          Target& target = targets[append->table->generation];
          target.laid_out = append->table;
          target.appends.push_back(append);
          rows += append->rows;
        }
        for (const auto& [generation, target] : targets) {
          const TableName& name = target.laid_out->name;
          HB_ASSIGN_OR_RETURN(const auto table, catalog_->GetTable(name));
          TableAppender appender;
          HB_RETURN_IF_ERROR(
              appender.Open(connection, name,
                            table->generation == generation ? nullptr : &target.laid_out->schema));
          for (const Append* append : target.appends) {
            for (const RowChunk& chunk : append->chunks) HB_RETURN_IF_ERROR(appender.Add(chunk));
          }
          HB_RETURN_IF_ERROR(appender.Close());
        }
        return catalog_->StoreOffsets(connection, next_offsets);
      },
      [&] { catalog_->ShowOffsets(next_offsets); });
  if (status.ok()) {
    rows_committed_.fetch_add(rows, std::memory_order_relaxed);
    transactions_.fetch_add(1, std::memory_order_relaxed);
  }
  return status;
}

}  // namespace hornbeam::services::bigquery
