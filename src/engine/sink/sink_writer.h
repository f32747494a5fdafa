// The world's side of a sink: takes what is sealed to where it belongs.
#ifndef HORNBEAM_ENGINE_SINK_SINK_WRITER_H_
#define HORNBEAM_ENGINE_SINK_SINK_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/epoch/epoch_records.h"

namespace hornbeam::engine {

// What a sink needs to remember across a crash. Given to the writer by the delivery; used on the delivery thread.
class SinkJournal {
 public:
  virtual ~SinkJournal() = default;
  // `state` replaces what was saved before. Durable when it returns: call it before acting on a decision (an offset, a
  // stream chosen, rows left out). Answers given since the last Save become durable with it.
  virtual Status Save(std::string_view state) = 0;
  // The same, but durable no later than the next Save, and perhaps not before a crash: for what the next delivery finds out
  // again, such as how far a file has been written.
  virtual void Remember(std::string_view state) = 0;
  // An element for the sink's answers PCollection (a refused row, a finished file), encoded with its coder.
  virtual void Answer(std::string encoded) = 0;
};

// The rows of one shard in one epoch. `rows` are the encoder's, in order; the views live during the call.
struct Delivery {
  EpochId epoch = 0;
  uint32_t shard = 0;
  const std::vector<std::string_view>& rows;
};

// One per sink transform of a job. All calls come from the sink's delivery thread, one at a time, and may block.
class SinkWriter {
 public:
  virtual ~SinkWriter() = default;

  // `state` is what was last saved, empty when nothing was. Connects and checks the destination, so that a job with a
  // wrong table fails at its start.
  virtual Status Open(SinkJournal* journal, std::string_view state) = 0;

  // Delivers, and returns once the destination has confirmed. Called again with the same delivery after a crash, or after an
  // UNAVAILABLE that it returned, so it must be idempotent with what it has saved. Any other error fails the job.
  virtual Status Deliver(const Delivery& delivery) = 0;

  // No more deliveries will come: the input ended or the job is draining. Not called on cancel.
  virtual Status Finish() { return absl::OkStatus(); }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SINK_SINK_WRITER_H_
