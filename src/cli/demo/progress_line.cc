#include "cli/demo/progress_line.h"

#include <unistd.h>

#include <cstdio>

namespace hornbeam::cli {
namespace {

constexpr std::chrono::milliseconds kOnTerminal{100};
constexpr std::chrono::milliseconds kElsewhere{2000};

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDOUT_FILENO) == 1) {}
ProgressLine::~ProgressLine() { End(); }

void ProgressLine::Show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? kOnTerminal : kElsewhere)) return;
  last_ = now;
  std::printf(terminal_ ? "\r\x1b[K%s" : "%s\n", text.c_str());
  std::fflush(stdout);
  open_ = terminal_;
}

void ProgressLine::End() {
  if (open_) std::printf("\n");
  open_ = false;
}

}  // namespace hornbeam::cli
