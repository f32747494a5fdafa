// Acknowledges what is sealed, keeps the leases of what is not, and gives back what nobody will
// process.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_LEASE_KEEPER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_LEASE_KEEPER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "connectors/pubsub/ack_ledger.h"
#include "connectors/pubsub/reader_mark.h"
#include "connectors/pubsub/subscription_client.h"

namespace hornbeam::connectors {

// One thread of its own, which makes all unary calls of a running reader.
class LeaseKeeper {
 public:
  // All outlive this. `mark` may be null. `wake` is called from the thread once a second
  // while nothing else happens: a watermark moves with the clock.
  LeaseKeeper(SubscriptionClient* client, AckLedger* ledger, ReaderMark* mark, const Clock* clock,
              int lease_seconds, std::function<void()> wake);
  // When the call that is under way is over (it is given ten seconds), acknowledges what is sealed
  // and gives back the rest, as far as five seconds allow, and takes the mark off.
  ~LeaseKeeper();

  void Start();
  // Any thread: the ledger has something to acknowledge.
  void Nudge();
  // Any thread: from now on, give back what is not polled, whenever there is any.
  void GiveBackUnpolled();

 private:
  void Run();
  using Deadline = std::chrono::steady_clock::time_point;
  // False: the server does not answer, or the time is over; try again later.
  bool SendAcks(Deadline deadline);
  void ExtendLeases();
  void GiveBack(const AckIds& ids, Deadline deadline);
  void RenewMark();

  SubscriptionClient* const client_;
  AckLedger* const ledger_;
  ReaderMark* const mark_;
  const Clock* const clock_;
  const int lease_seconds_;
  const std::function<void()> wake_;

  Mutex mutex_;
  CondVar changed_;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> give_back_{false};
  model::ProcessingTime mark_renewed_;
  std::string last_problem_;
  std::jthread thread_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_LEASE_KEEPER_H_
