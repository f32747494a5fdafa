// One Pull: answers with what there is, or waits for it.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_PULL_CALL_H_
#define HORNBEAM_SERVICES_PUBSUB_API_PULL_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "services/pubsub/core/dispatcher.h"
#include "services/pubsub/core/subscription.h"

namespace hornbeam::services::pubsub {

// Owns itself from Start to OnDone.
class PullCall final : public grpc::ServerUnaryReactor, public Consumer {
 public:
  struct Request {
    std::shared_ptr<Subscription> subscription;
    size_t max_messages = 0;
    bool wait = false;
  };
  // `response` lives until the call is done; `dispatcher` and `clock` outlive it.
  static PullCall* Start(Request request, grpc::ByteBuffer* response, Dispatcher* dispatcher,
                         const Clock& clock);

 private:
  PullCall(Request request, grpc::ByteBuffer* response, const Clock& clock)
      : request_(std::move(request)), response_(response), clock_(clock) {}

  void Run() override;
  void OnCancel() override;
  void OnDone() override;

  const Request request_;
  grpc::ByteBuffer* const response_;
  const Clock& clock_;
  int64_t give_up_us_ = 0;
  std::shared_ptr<PullCall> self_;

  Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;   // somebody is in Run
  bool again_ ABSL_GUARDED_BY(mutex_) = false;  // Run was called meanwhile
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_PULL_CALL_H_
