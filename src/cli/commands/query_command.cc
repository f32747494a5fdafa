// hornbeam query "SQL"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/query_client.h"
#include "cli/up/data_dir.h"
#include "cli/up/local_cloud.h"

namespace hornbeam::cli {
namespace {

constexpr int64_t kDefaultMaxRows = 1000;

struct QueryFlags {
  std::string sql;
  std::string data_dir = DefaultDataDir();
  std::string endpoint;
  std::string project = kDefaultProject;
  int64_t max_rows = kDefaultMaxRows;
  bool json = false;
};

StatusOr<std::string> RunQuery(const QueryFlags& flags) {
  std::string endpoint = flags.endpoint;
  if (endpoint.empty()) {
    HB_ASSIGN_OR_RETURN(const Endpoints endpoints,
                        FindEndpoints(*FileSystem::Posix(), flags.data_dir));
    endpoint = endpoints.bigquery;
  }
  try {
    HB_ASSIGN_OR_RETURN(const nlohmann::json answer,
                        QueryClient(endpoint, flags.project).Run(flags.sql, flags.max_rows));
    return flags.json ? ResultJson(answer) : ResultTable(answer);
  } catch (const nlohmann::json::exception& error) {
    return absl::InternalError(
        absl::StrCat("the answer of ", endpoint, " is not as BigQuery's (", error.what(), ")"));
  }
}

}  // namespace

void AddQuery(CLI::App* app) {
  CLI::App* command = app->add_subcommand("query", "Run a GoogleSQL query on the local BigQuery");
  auto flags = std::make_shared<QueryFlags>();
  command
      ->add_option("sql", flags->sql,
                   "The query, as one argument: \"SELECT * FROM dataset.table LIMIT 10\"")
      ->required();
  command->add_flag("--json", flags->json, "Print a JSON array of objects in place of a table");
  command->add_option("--max-rows", flags->max_rows, "Print at most so many rows")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  command->add_option("--project", flags->project, "The project that names without one belong to")
      ->capture_default_str();
  command->add_option("--endpoint", flags->endpoint,
                      "BigQuery's REST address, host:port; else that of the running `hornbeam up`");
  command->add_option("--data-dir", flags->data_dir, "The data directory of that `hornbeam up`")
      ->capture_default_str();
  command->callback([flags] {
    const StatusOr<std::string> text = RunQuery(*flags);
    ExitOnError(text.status(), "query");
    std::fputs(text->c_str(), stdout);
  });
}

}  // namespace hornbeam::cli
