// GoogleSQL to DuckDB's dialect, by sqlglot in an embedded CPython.
#ifndef HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_TRANSLATOR_H_
#define HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_TRANSLATOR_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"

namespace hornbeam::services::bigquery {

// Answers what the catalog knows: {"project", "dataset", "table"} -> {"schema", "table"} (DuckDB's
// names), or
// {"information_schema", "project", "dataset"} -> {"columns", "rows"}, or {"error": {"reason",
// "message"}}. Called on the translating thread with Python's lock held: it must not wait for
// another translation.
using NameResolver = std::function<nlohmann::json(const nlohmann::json&)>;

// Translates the index-th statement of `sql`. The result says what to do ("kind", "sql", "target",
// ...: see hornbeam_googlesql.py) and how many statements there are ("count"). What BigQuery would
// refuse, or what cannot be given BigQuery's meaning, is INVALID_ARGUMENT (or NOT_FOUND, from the
// resolver) with BigQuery's reason.
//
// The interpreter starts at the first call (some tenths of a second) and lives as long as the
// process. The Python modules are in the folder `python` beside the program, or where
// HORNBEAM_PYTHON_PATH says; FAILED_PRECONDITION when they are not. Thread-safe; translations take
// turns (Python's lock), a millisecond or so each.
StatusOr<nlohmann::json> TranslateGoogleSql(const std::string& sql, int index,
                                            const nlohmann::json& context,
                                            const NameResolver& resolver);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_TRANSLATOR_H_
