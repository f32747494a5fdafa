// hornbeam jobs list|show|cancel|drain
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/http_client.h"
#include "cli/commands/command.h"
#include "cli/text_table.h"
#include "cli/up/data_dir.h"
#include "cli/up/local_cloud.h"
#include "console/job_state_json.h"
#include "console/job_totals.h"

namespace hornbeam::cli {
namespace {

using nlohmann::json;

struct JobsFlags {
  std::string id;
  std::string data_dir = DefaultDataDir();
  std::string endpoint;
  bool json = false;
};

StatusOr<json> Parse(const HttpClient& client, const StatusOr<HttpClient::Reply>& reply) {
  if (!reply.ok()) {
    return Status(reply.status().code(),
                  absl::StrCat(reply.status().message(),
                               "; start the services with `hornbeam up`, or name the console's "
                               "address with --endpoint"));
  }
  json answer = json::parse(reply->body, nullptr, false);
  if (!answer.is_object()) {
    return absl::UnavailableError(
        absl::StrCat("what answers at ", client.endpoint(),
                     " is no console of Hornbeam; name its address with --endpoint"));
  }
  if (reply->status == 200) return answer;
  return absl::UnknownError(
      answer.value(json::json_pointer("/error/message"), absl::StrCat("HTTP ", reply->status)));
}

StatusOr<HttpClient> Console(const JobsFlags& flags) {
  if (!flags.endpoint.empty()) return HttpClient(flags.endpoint);
  HB_ASSIGN_OR_RETURN(const Endpoints endpoints,
                      FindEndpoints(*FileSystem::Posix(), flags.data_dir));
  return HttpClient(endpoints.console);
}

// "JOB_STATE_RUNNING" as "running".
std::string StateText(const json& job) {
  if (job.value("lost", false)) return "lost";
  if (!job.value("responding", true)) return "not responding";
  return absl::AsciiStrToLower(absl::StripPrefix(job.value("state", ""), "JOB_STATE_"));
}

std::string TimeText(int64_t us) {
  return us == 0
             ? ""
             : absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(us), absl::UTCTimeZone());
}

std::string ListText(const json& answer) {
  if (answer.at("jobs").empty()) return "No job has run here yet; `hornbeam demo` starts one.\n";
  TextTable table(
      {{"JOB"}, {"STATE"}, {"STARTED (UTC)"}, {"READ", true}, {"FAILED", true}, {"LATE", true}});
  for (const json& job : answer.at("jobs")) {
    table.Add({job.at("id").get<std::string>(), StateText(job),
               TimeText(job.value("started_at_us", int64_t{0})),
               Grouped(job.value("elements_read", int64_t{0})),
               Grouped(job.value("failed", int64_t{0})),
               Grouped(job.value("dropped_late", int64_t{0}))});
  }
  return table.ToString();
}

StatusOr<std::string> ShowText(const json& answer) {
  HB_ASSIGN_OR_RETURN(const engine::JobSnapshot job, console::JobSnapshotFromJson(answer));
  std::string out = absl::StrCat(answer.at("id").get<std::string>(), ": ", StateText(answer),
                                 ", started ", TimeText(job.started_at_us), " UTC, ", job.workers,
                                 job.workers == 1 ? " worker, " : " workers, ",
                                 job.exactly_once ? "exactly once" : "at least once", ", epoch ",
                                 job.sealed_epoch, " sealed\n");
  if (!job.error.empty()) absl::StrAppend(&out, "Error: ", Printable(job.error), "\n");
  out += "\n";
  TextTable table({{"STEP"},
                   {"IN", true},
                   {"OUT", true},
                   {"FAILED", true},
                   {"LATE", true},
                   {"BACKLOG", true},
                   {"DELIVERED", true},
                   {"WATERMARK"}});
  const auto known = [](int64_t n) { return n < 0 ? std::string() : Grouped(n); };
  for (const engine::StepSnapshot& step : job.steps) {
    table.Add({step.name, step.inputs.empty() ? "" : Grouped(step.elements_in),
               Grouped(console::ElementsOut(step)), Grouped(step.failed),
               Grouped(step.dropped_late), known(step.backlog.elements), known(step.rows_delivered),
               model::ToString(step.output_watermark)});
  }
  return out + table.ToString();
}

Status List(const JobsFlags& flags) {
  HB_ASSIGN_OR_RETURN(const HttpClient console, Console(flags));
  HB_ASSIGN_OR_RETURN(const json answer, Parse(console, console.Get("/api/v1/jobs")));
  std::fputs((flags.json ? answer.at("jobs").dump(2) + "\n" : ListText(answer)).c_str(), stdout);
  return absl::OkStatus();
}

Status Show(const JobsFlags& flags) {
  HB_ASSIGN_OR_RETURN(const HttpClient console, Console(flags));
  HB_ASSIGN_OR_RETURN(const json answer,
                      Parse(console, console.Get(absl::StrCat("/api/v1/jobs/", flags.id))));
  HB_ASSIGN_OR_RETURN(const std::string text,
                      flags.json ? answer.dump(2) + "\n" : ShowText(answer));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

Status Command(const JobsFlags& flags, const char* verb) {
  HB_ASSIGN_OR_RETURN(const HttpClient console, Console(flags));
  HB_RETURN_IF_ERROR(
      Parse(console, console.PostJson(absl::StrCat("/api/v1/jobs/", flags.id, ":", verb), "{}"))
          .status());
  std::printf("Asked job %s to %s; `hornbeam jobs show %s` shows how far it is.\n",
              flags.id.c_str(), verb, flags.id.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddJobs(CLI::App* app) {
  CLI::App* jobs = app->add_subcommand("jobs", "List, show, cancel and drain jobs");
  jobs->require_subcommand(1);
  auto flags = std::make_shared<JobsFlags>();
  const auto add = [&](const char* name, const char* help, bool takes_id, bool prints, auto run) {
    CLI::App* command = jobs->add_subcommand(name, help);
    if (takes_id)
      command->add_option("job", flags->id, "The job's id, as `hornbeam jobs list` prints it")
          ->required();
    if (prints) command->add_flag("--json", flags->json, "Print the state as JSON");
    command->add_option("--endpoint", flags->endpoint,
                        "The console's address, host:port; else that of the running `hornbeam up`");
    command->add_option("--data-dir", flags->data_dir, "The data directory of that `hornbeam up`")
        ->capture_default_str();
    command->callback([flags, run, name] {
      try {
        ExitOnError(run(*flags), absl::StrCat("jobs ", name));
      } catch (const json::exception& error) {
        ExitOnError(absl::InternalError(
                        absl::StrCat("the console's answer cannot be read (", error.what(), ")")),
                    absl::StrCat("jobs ", name));
      }
    });
  };
  add("list", "List the jobs, newest first", false, true, List);
  add("show", "Show a job's steps", true, true, Show);
  add("cancel", "Stop a job where it is; what is sealed stays", true, false,
      [](const JobsFlags& f) { return Command(f, "cancel"); });
  add("drain",
      "End a job in good order: it takes in nothing new, finishes what is under way and fires what "
      "waits",
      true, false, [](const JobsFlags& f) { return Command(f, "drain"); });
}

}  // namespace hornbeam::cli
