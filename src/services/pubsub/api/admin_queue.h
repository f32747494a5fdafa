// The thread on which calls run that change topics and subscriptions: they wait for the disk, which
// gRPC's own threads must not.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_ADMIN_QUEUE_H_
#define HORNBEAM_SERVICES_PUBSUB_API_ADMIN_QUEUE_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace hornbeam::services::pubsub {

// Thread-safe. One thread is enough, as the catalog takes one change at a time anyway; with gRPC's
// plain methods each waiting call would have a thread of its own, without a bound, and when no more
// can be had gRPC answers nothing at all.
class AdminQueue {
 public:
  static constexpr size_t kMaxWaiting = 1000;

  AdminQueue();
  ~AdminQueue() { Stop(); }

  // Runs `call` after those that came before, and ends the call of `context` with what it returns.
  // The request and response that it uses live until then. RESOURCE_EXHAUSTED when kMaxWaiting
  // wait, UNAVAILABLE after Stop.
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                std::function<grpc::Status()> call);

  // Runs what waits and ends the thread. Idempotent.
  void Stop();

 private:
  struct Call {
    grpc::ServerUnaryReactor* reactor;
    std::function<grpc::Status()> run;
  };
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Call> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_ADMIN_QUEUE_H_
