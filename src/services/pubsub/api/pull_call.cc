#include "services/pubsub/api/pull_call.h"

#include <string>
#include <utility>

#include "services/pubsub/api/delivery_encoding.h"
#include "services/pubsub/api/grpc_status.h"
#include "services/pubsub/core/limits.h"

namespace hornbeam::services::pubsub {

PullCall* PullCall::Start(Request request, grpc::ByteBuffer* response, Dispatcher* dispatcher,
                          const Clock& clock) {
  std::shared_ptr<PullCall> call(new PullCall(std::move(request), response, clock));
  call->self_ = call;
  call->give_up_us_ = clock.MonotonicMicros() + (call->request_.wait ? kPullWaitUs : 0);
  if (call->request_.wait) dispatcher->ScheduleAt(call->give_up_us_, std::weak_ptr<Consumer>(call));
  call->Run();
  return call.get();
}

void PullCall::Run() {
  {
    MutexLock lock(&mutex_);
    if (finished_) return;
    if (busy_) {
      again_ = true;
      return;
    }
    busy_ = true;
  }
  while (true) {
    bool cancelled = false;
    {
      MutexLock lock(&mutex_);
      cancelled = cancelled_;
    }
    StatusOr<Delivery> delivery = absl::CancelledError("The call was cancelled.");
    if (!cancelled) {
      delivery =
          request_.subscription->Take(0, request_.max_messages, 0, request_.wait ? self_ : nullptr);
    }
    const bool give_up = clock_.MonotonicMicros() >= give_up_us_;
    {
      MutexLock lock(&mutex_);
      if (delivery.ok() && delivery->messages.empty() && !give_up) {
        if (std::exchange(again_, false)) continue;
        busy_ = false;
        return;
      }
      finished_ = true;
    }
    request_.subscription->StopWaiting(this);
    std::string body;
    if (delivery.ok()) AppendReceivedMessages(*delivery, &body);
    *response_ = ToByteBuffer(std::move(body));
    Finish(ToGrpcStatus(delivery.status()));
    return;
  }
}

void PullCall::OnCancel() {
  {
    MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  Run();
}

void PullCall::OnDone() { self_.reset(); }

}  // namespace hornbeam::services::pubsub
