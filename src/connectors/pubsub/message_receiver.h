// Keeps a streaming pull open and holds what it gives until the worker takes it.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_RECEIVER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_RECEIVER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "connectors/pubsub/ack_ledger.h"
#include "connectors/pubsub/message_decoder.h"
#include "connectors/pubsub/subscription_client.h"
#include "hornbeam/io/pubsub_read_options.h"

namespace hornbeam::connectors {

// One thread of its own: it opens the stream, reads, decodes, and opens the stream again when it
// breaks. What it receives is in the ledger before it can be taken. The worker takes.
class MessageReceiver {
 public:
  // All outlive this; `wake` is called from the thread when there is something to take or an error.
  MessageReceiver(const io::PubsubReadOptions& options, SubscriptionClient* client,
                  const MessageDecoder* decoder, AckLedger* ledger, const Clock* clock,
                  std::function<void()> wake);
  ~MessageReceiver();

  void Start();
  // Begins to end: takes in nothing more, and drops what was not taken. Never blocks; `stopped`
  // becomes true when the stream is closed.
  void Stop();
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

  // Moves all there is behind *into.
  void Take(std::deque<ReceivedMessages>* into);
  // The error that ended the stream for good; OK while there is none.
  Status error() const;
  // A stream is open and the server is connected.
  bool pulling() const;

 private:
  void Run();
  // Reads one stream to its end and says why it ended; true in *received if it gave anything.
  grpc::Status ReadStream(bool* received);
  void Receive(google::pubsub::v1::StreamingPullResponse* response);
  bool WaitForRoom();

  const io::PubsubReadOptions options_;
  SubscriptionClient* const client_;
  const MessageDecoder* const decoder_;
  AckLedger* const ledger_;
  const Clock* const clock_;
  const std::function<void()> wake_;
  const std::string client_id_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<ReceivedMessages> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the open stream
  Status error_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> open_{false};
  std::atomic<bool> stopped_{false};
  std::jthread thread_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_RECEIVER_H_
