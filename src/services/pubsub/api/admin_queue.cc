#include "services/pubsub/api/admin_queue.h"

#include <utility>

#include "services/pubsub/api/grpc_status.h"
#include "services/pubsub/core/errors.h"

namespace hornbeam::services::pubsub {

AdminQueue::AdminQueue() : thread_([this] { Loop(); }) {}

grpc::ServerUnaryReactor* AdminQueue::Run(grpc::CallbackServerContext* context,
                                          std::function<grpc::Status()> call) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  grpc::Status refused;
  {
    MutexLock lock(&mutex_);
    if (stopping_) {
      refused = ToGrpcStatus(ShuttingDown());
    } else if (waiting_.size() >= kMaxWaiting) {
      refused = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                 "Too many changes of topics and subscriptions wait for the disk; try again."};
    } else {
      waiting_.push_back({reactor, std::move(call)});
      changed_.Signal();
      return reactor;
    }
  }
  reactor->Finish(refused);
  return reactor;
}

void AdminQueue::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void AdminQueue::Loop() {
  for (;;) {
    Call call;
    {
      MutexLock lock(&mutex_);
      while (waiting_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (waiting_.empty()) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    call.reactor->Finish(call.run());
  }
}

}  // namespace hornbeam::services::pubsub
