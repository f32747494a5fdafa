#include "cli/commands/command.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace hornbeam::cli {
namespace {

// What `hornbeam ARGS` says when it cannot parse them.
std::string Complaint(std::vector<std::string> args) {
  CLI::App app("", "hornbeam");
  app.require_subcommand(1);
  int port = 0;
  app.add_subcommand("up", "")->add_option("--port", port)->check(CLI::Range(0, 65535));
  CLI::App* jobs = app.add_subcommand("jobs", "");
  jobs->require_subcommand(1);
  jobs->add_subcommand("list", "");
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error, args);
  }
  return "";
}

TEST(UsageErrorTest, SaysInOneSentenceWhatIsWrongAndWhereHelpIs) {
  EXPECT_EQ(Complaint({"up"}), "");
  EXPECT_EQ(Complaint({}),
            "hornbeam: A subcommand is required; `hornbeam --help` tells what there is.");
  EXPECT_EQ(Complaint({"nope"}),
            "hornbeam: there is no command 'nope'; `hornbeam --help` tells what there is.");
  EXPECT_EQ(Complaint({""}),
            "hornbeam: there is no command ''; `hornbeam --help` tells what there is.");
  EXPECT_EQ(
      Complaint({"jobs", "nope"}),
      "hornbeam jobs: there is no command 'nope'; `hornbeam jobs --help` tells what there is.");
  EXPECT_EQ(Complaint({"up", "--port", "70000"}),
            "hornbeam up: --port: Value 70000 not in range 0 to 65535; `hornbeam up --help` tells "
            "what there is.");
}

}  // namespace
}  // namespace hornbeam::cli
