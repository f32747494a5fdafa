// How far a run is: on a terminal one line that is written over, elsewhere a line now and then.
#ifndef HORNBEAM_CLI_DEMO_PROGRESS_LINE_H_
#define HORNBEAM_CLI_DEMO_PROGRESS_LINE_H_

#include <chrono>
#include <string>

namespace hornbeam::cli {

// Writes to standard output. Not thread-safe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // ends the line

  // Shows `text` when it is time to.
  void Show(const std::string& text);
  void End();

 private:
  const bool terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_PROGRESS_LINE_H_
