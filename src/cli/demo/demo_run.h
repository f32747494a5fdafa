// The demo, from an empty data directory to a summary: its own local cloud, a year of flights
// published to it, the pipeline that reads them, and what its tables hold in the end.
#ifndef HORNBEAM_CLI_DEMO_DEMO_RUN_H_
#define HORNBEAM_CLI_DEMO_DEMO_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "cli/demo/flight_publisher.h"
#include "cli/demo/flight_replay.h"
#include "cli/stop_signals.h"
#include "cli/topic_publisher.h"
#include "cli/up/local_cloud.h"
#include "engine/job/job_snapshot.h"

namespace hornbeam::engine {
class Job;
}  // namespace hornbeam::engine

namespace hornbeam::cli {

struct DemoOptions {
  std::string data_dir;
  std::string ready_file;     // empty: none; otherwise as for `up`, before the first message
  int64_t rate = 0;           // messages per second; 0: as fast as it goes
  int64_t flights = 0;        // only so many, the first ones; 0: all
  bool keep_running = false;  // the services stay up after the summary, until a signal
};

// One run. All on the calling thread but the publisher, the job's threads and the services'.
class DemoRun {
 public:
  DemoRun(DemoOptions options, StopSignals* signals)
      : options_(std::move(options)), signals_(signals) {}

  // CANCELLED after Ctrl-C; INTERNAL when the counts do not reconcile.
  Status Run();

 private:
  struct Figures {
    int64_t read = 0;
    int64_t failed = 0;
    int64_t dropped_late = 0;
    double seconds = 0;
  };

  Status EmptyDataDir();
  Status StartCloud();
  Status Prepare();
  Status RunJob();
  Status Watch(engine::Job* job);
  Status FinishJob(engine::Job* job);
  Status Summarise();
  StatusOr<int64_t> CountRows(const std::string& table);
  Status Reconcile(int64_t events, int64_t dead_letters, int64_t hourly_flights);
  Status PrintTable(const std::string& title, const std::string& sql);
  void PrintNext();

  const DemoOptions options_;
  StopSignals* const signals_;
  std::unique_ptr<LocalCloud> cloud_;
  std::unique_ptr<const FlightReplay> replay_;
  std::unique_ptr<TopicPublisher> topic_;
  Figures figures_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_DEMO_RUN_H_
