// Reading a Pub/Sub subscription.
//
//   auto messages = pipeline | "Read" >> io::ReadFromPubsub({.subscription =
//   "projects/p/subscriptions/s"});
//
// With a timestamp attribute, a message that has none, or a bad one, fails the job, unless the
// pipeline asks for such messages:
//
//   auto read = pipeline | "Read" >> io::ReadFromPubsub(options).WithDeadLetters();
//   read.messages | ...;  read.dead_letters | ...;   // PubsubMessage::timestamp_error says why
#ifndef HORNBEAM_IO_PUBSUB_IO_H_
#define HORNBEAM_IO_PUBSUB_IO_H_

#include <memory>
#include <string>
#include <utility>

#include "hornbeam/io/pubsub_message.h"
#include "hornbeam/io/pubsub_read_options.h"
#include "hornbeam/pipeline.h"

namespace hornbeam::io {

struct PubsubReadResult {
  PCollection<PubsubMessage> messages;
  PCollection<PubsubMessage> dead_letters;
};

class ReadFromPubsubWithDeadLetters : public PTransform {
 public:
  explicit ReadFromPubsubWithDeadLetters(PubsubReadOptions options)
      : options_(std::move(options)) {}
  PubsubReadResult Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  PubsubReadOptions options_;
};

// An unbounded source: each message once within ten minutes (in at-least-once mode, at least once),
// in the global window, at its event time. docs/connectors.md has the rules.
class ReadFromPubsub : public PTransform {
 public:
  explicit ReadFromPubsub(PubsubReadOptions options) : options_(std::move(options)) {}
  ReadFromPubsubWithDeadLetters WithDeadLetters() const {
    return ReadFromPubsubWithDeadLetters(options_);
  }
  PCollection<PubsubMessage> Expand(Pipeline& pipeline, const std::string& name) const;

 private:
  PubsubReadOptions options_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_PUBSUB_IO_H_
