#include "services/bigquery/googlesql/translator.h"

#include <pybind11/embed.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

namespace py = pybind11;
using nlohmann::json;

std::string PythonPath() {
  if (const char* path = std::getenv("HORNBEAM_PYTHON_PATH")) return path;
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "python").string();
}

// Once per process, also when another part of it has started Python before.
Status StartPython() {
  if (Py_IsInitialized()) return absl::OkStatus();
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.site_import = 0;
  config.install_signal_handlers = 0;
  // Debian's own standard library, whatever python3 the PATH may have.
  PyStatus status = PyConfig_SetString(&config, &config.program_name, L"/usr/bin/python3");
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat("Python could not be started for SQL queries (",
                     status.err_msg ? status.err_msg : "unknown reason",
                     "); install Debian's libpython3-stdlib"));
  }
  // Nobody holds the lock until somebody translates.
  PyEval_SaveThread();
  return absl::OkStatus();
}

// The `translate` function. Never destroyed: Python lives as long as the process.
StatusOr<py::object*> LoadTranslate() {
  HB_RETURN_IF_ERROR(StartPython());
  const std::string path = PythonPath();
  py::gil_scoped_acquire lock;
  try {
    py::module_::import("sys").attr("path").attr("insert")(0, path);
    return new py::object(py::module_::import("hornbeam_googlesql").attr("translate"));
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("the SQL translator is missing or damaged in '", path, "' (", error.what(),
                     "); keep the folder 'python' beside the program"));
  }
}

StatusOr<py::object*> Translate() {
  static std::mutex* const mutex = new std::mutex;
  static py::object* loaded = nullptr;
  std::lock_guard<std::mutex> lock(*mutex);
  if (!loaded) {
    HB_ASSIGN_OR_RETURN(loaded, LoadTranslate());
  }
  return loaded;
}

Status ErrorOf(const json& error) {
  const std::string reason = error.value("reason", "invalidQuery");
  const std::string message = error.value("message", "invalid query");
  if (reason == "notFound") return absl::NotFoundError(message);
  if (reason == "invalidQuery") return InvalidQuery(message);
  return WithReason(Invalid(message), reason);
}

}  // namespace

StatusOr<json> TranslateGoogleSql(const std::string& sql, int index, const json& context,
                                  const NameResolver& resolver) {
  HB_ASSIGN_OR_RETURN(py::object* const translate, Translate());
  std::string text;
  {
    py::gil_scoped_acquire lock;
    try {
      const py::cpp_function resolve([&resolver](const std::string& request) {
        return resolver(json::parse(request)).dump(-1, ' ', false, json::error_handler_t::replace);
      });
      text = (*translate)(py::str(sql), index,
                          context.dump(-1, ' ', false, json::error_handler_t::replace), resolve)
                 .cast<std::string>();
    } catch (const std::exception& error) {
      return InvalidQuery(absl::StrCat("The query could not be translated: ", error.what()));
    }
  }
  json result = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!result.is_object()) return absl::InternalError("the SQL translator gave no JSON");
  if (const auto error = result.find("error"); error != result.end()) return ErrorOf(*error);
  for (const char* key : {"sql", "as_sql"}) {
    // DuckDB takes its text up to the first of these.
    const auto it = result.find(key);
    if (it != result.end() && it->get_ref<const std::string&>().find('\0') != std::string::npos) {
      return InvalidQuery(
          "The query holds the character U+0000, which this local BigQuery does not support; write "
          "CODE_POINTS_TO_STRING([0]) in its place.");
    }
  }
  return result;
}

}  // namespace hornbeam::services::bigquery
