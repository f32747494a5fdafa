#include "connectors/pubsub/message_receiver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/rng.h"

namespace hornbeam::connectors {
namespace {

// Responses smaller than this are joined, so that a trickle of single messages stays cheap to take.
constexpr size_t kJoinBelow = 256;
constexpr std::chrono::milliseconds kFirstBackoff{50};
constexpr std::chrono::milliseconds kLongestBackoff{5'000};
// Pub/Sub closes streams now and then; what comes back at once is not worth a word.
constexpr int kFailuresBeforeWarning = 3;

bool EndsForGood(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNIMPLEMENTED: return true;
    default: return false;
  }
}

}  // namespace

MessageReceiver::MessageReceiver(const io::PubsubReadOptions& options, SubscriptionClient* client,
                                 const MessageDecoder* decoder, AckLedger* ledger,
                                 const Clock* clock, std::function<void()> wake)
    : options_(options),
      client_(client),
      decoder_(decoder),
      ledger_(ledger),
      clock_(clock),
      wake_(std::move(wake)),
      client_id_(absl::StrCat("hornbeam-", absl::Hex(RandomSeed(), absl::kZeroPad16))) {}

MessageReceiver::~MessageReceiver() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void MessageReceiver::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void MessageReceiver::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  queue_.clear();
  queued_ = 0;
  if (context_ != nullptr) context_->TryCancel();
  changed_.SignalAll();
  if (!thread_.joinable()) stopped_.store(true, std::memory_order_release);
}

void MessageReceiver::Take(std::deque<ReceivedMessages>* into) {
  MutexLock lock(&mutex_);
  if (into->empty()) {
    into->swap(queue_);
  } else {
    for (ReceivedMessages& received : queue_) into->push_back(std::move(received));
    queue_.clear();
  }
  queued_ = 0;
  changed_.SignalAll();
}

Status MessageReceiver::error() const {
  MutexLock lock(&mutex_);
  return error_;
}

bool MessageReceiver::pulling() const {
  return open_.load(std::memory_order_acquire) && client_->connected();
}

void MessageReceiver::Run() {
  std::chrono::milliseconds backoff = kFirstBackoff;
  int failures = 0;
  while (true) {
    bool received = false;
    const grpc::Status status = ReadStream(&received);
    {
      MutexLock lock(&mutex_);
      if (stopping_) break;
      if (EndsForGood(status)) {
        error_ = client_->Explain(status);
        break;
      }
    }
    if (received) {
      backoff = kFirstBackoff;
      failures = 0;
    }
    if (++failures == kFailuresBeforeWarning) {
      LogWarning(absl::StrCat(client_->Explain(status).message(),
                              " (the stream is broken; trying again until it works)"));
    }
    MutexLock lock(&mutex_);
    if (!stopping_) changed_.WaitFor(&mutex_, backoff);
    if (stopping_) break;
    backoff = std::min(backoff * 2, kLongestBackoff);
  }
  stopped_.store(true, std::memory_order_release);
  wake_();
}

grpc::Status MessageReceiver::ReadStream(bool* received) {
  grpc::ClientContext context;
  {
    MutexLock lock(&mutex_);
    if (stopping_) return grpc::Status::CANCELLED;
    context_ = &context;
  }
  const std::unique_ptr<SubscriptionClient::PullStream> stream = client_->Pull(&context);
  google::pubsub::v1::StreamingPullRequest request;
  request.set_subscription(client_->subscription());
  request.set_stream_ack_deadline_seconds(options_.lease_seconds);
  request.set_client_id(client_id_);
  request.set_max_outstanding_messages(options_.max_outstanding_messages);
  request.set_max_outstanding_bytes(options_.max_outstanding_bytes);
  if (stream->Write(request)) {
    open_.store(true, std::memory_order_release);
    google::pubsub::v1::StreamingPullResponse response;
    while (true) {
      if (!WaitForRoom()) {
        context.TryCancel();
        break;
      }
      if (!stream->Read(&response)) break;
      if (response.received_messages_size() == 0) continue;
      *received = true;
      Receive(&response);
    }
  }
  open_.store(false, std::memory_order_release);
  const grpc::Status status = stream->Finish();
  MutexLock lock(&mutex_);
  context_ = nullptr;
  return status;
}

bool MessageReceiver::WaitForRoom() {
  MutexLock lock(&mutex_);
  // The server keeps to the limit by itself; this is for one that does not.
  while (!stopping_ && queued_ >= static_cast<size_t>(options_.max_outstanding_messages)) {
    changed_.Wait(&mutex_);
  }
  return !stopping_;
}

void MessageReceiver::Receive(google::pubsub::v1::StreamingPullResponse* response) {
  ReceivedMessages received;
  AckIds ack_ids;
  const model::EventTime oldest = decoder_->Decode(response, &received, &ack_ids);
  const model::ProcessingTime now{clock_->NowMicros()};
  {
    MutexLock lock(&mutex_);
    // The numbers in the ledger and the order in the queue are the same.
    ledger_->Add(std::move(ack_ids), received.bytes, oldest, now);
    if (stopping_) return;
    queued_ += received.size();
    if (!queue_.empty() && queue_.back().size() < kJoinBelow) {
      queue_.back().Append(std::move(received));
    } else {
      queue_.push_back(std::move(received));
    }
  }
  wake_();
}

}  // namespace hornbeam::connectors
