#include "services/pubsub/core/broker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"
#include "services/pubsub/core/resource_name.h"
#include "services/pubsub/core/resource_rules.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr uint64_t kMessageIdsReserved = 16'000'000;
constexpr int64_t kMaxSweepPauseUs = 100'000;
constexpr int64_t kMinSweepPauseUs = 10'000;

using google::protobuf::FieldMask;
using SubscriptionConfig = google::pubsub::v1::Subscription;
using TopicConfig = google::pubsub::v1::Topic;

// Collects items whose name is behind `token` until the page is full.
template <typename T, typename Map, typename Include, typename Convert>
StatusOr<Page<T>> Paginate(const Map& map, int page_size, const std::string& token,
                           const Include& include, const Convert& convert) {
  if (page_size < 0) return InvalidArgument("page_size", "It must not be negative.");
  const size_t limit =
      page_size == 0 ? kMaxPageSize : static_cast<size_t>(std::min(page_size, kMaxPageSize));
  Page<T> page;
  std::string last;
  for (auto it = map.upper_bound(token); it != map.end(); ++it) {
    if (!include(it->first, it->second)) continue;
    if (page.items.size() == limit) {
      page.next_token = last;
      break;
    }
    page.items.push_back(convert(it->second));
    last = it->first;
  }
  return page;
}

bool IsInProject(std::string_view name, std::string_view project) {
  return name.size() > project.size() && name.starts_with(project) && name[project.size()] == '/';
}

}  // namespace

// Ends leases in time, for all subscriptions.
class Broker::LeaseSweep final : public Consumer, public std::enable_shared_from_this<LeaseSweep> {
 public:
  explicit LeaseSweep(Broker* broker) : broker_(broker) {}

  void Run() override {
    const int64_t now_us = broker_->clock().MonotonicMicros();
    // A deadline that is set after this is at least a second away, so the next sweep sees it in
    // time.
    int64_t next_us = now_us + kMaxSweepPauseUs;
    for (const std::shared_ptr<Subscription>& subscription : broker_->subscriptions()) {
      if (const std::optional<int64_t> at = subscription->ExpireLeases())
        next_us = std::min(next_us, *at);
    }
    broker_->dispatcher()->ScheduleAt(std::max(next_us, now_us + kMinSweepPauseUs),
                                      weak_from_this());
  }

 private:
  Broker* const broker_;
};

Broker::Broker(BrokerOptions options) : options_(std::move(options)), rng_(options_.seed) {}

Broker::~Broker() { Shutdown(); }

std::string Broker::CatalogPath() const { return options_.data_dir + "/CATALOG"; }
std::string Broker::TopicDir(Uid uid) const {
  return absl::StrFormat("%s/topics/%010d", options_.data_dir, uid);
}
std::string Broker::AckPath(Uid uid) const {
  return absl::StrFormat("%s/subscriptions/%010d.acks", options_.data_dir, uid);
}

StatusOr<std::unique_ptr<Broker>> Broker::Open(BrokerOptions options) {
  std::unique_ptr<Broker> broker(new Broker(std::move(options)));
  const BrokerOptions& o = broker->options_;
  HB_RETURN_IF_ERROR(Annotate(o.fs->CreateDirectories(o.data_dir), "Pub/Sub data directory"));
  HB_RETURN_IF_ERROR(o.fs->CreateDirectories(o.data_dir + "/topics"));
  HB_RETURN_IF_ERROR(o.fs->CreateDirectories(o.data_dir + "/subscriptions"));
  HB_ASSIGN_OR_RETURN(broker->lock_, o.fs->Lock(o.data_dir + "/LOCK"));
  broker->dispatcher_ = std::make_unique<Dispatcher>(o.clock);
  broker->flusher_ = std::make_unique<AckFlusher>();
  broker->committer_ = std::make_unique<Committer>(static_cast<MessageIdSource*>(broker.get()),
                                                   o.clock, broker->flusher_.get());
  HB_RETURN_IF_ERROR(broker->Load());
  broker->sweep_ = std::make_shared<LeaseSweep>(broker.get());
  broker->dispatcher_->Schedule(broker->sweep_);
  return broker;
}

Status Broker::Load() {
  HB_RETURN_IF_ERROR(MakeFirstCatalog());
  HB_ASSIGN_OR_RETURN(catalog_, LoadCatalog(options_.fs, CatalogPath()));
  HB_RETURN_IF_ERROR(RemoveOrphans());
  std::map<Uid, std::shared_ptr<Topic>> by_uid;
  next_message_id_ = message_id_limit_ = catalog_.message_id_ceiling;
  for (const auto& [uid, entry] : catalog_.topics) {
    TopicConfig config;
    if (!config.ParseFromString(entry.config)) {
      return absl::DataLossError(
          absl::StrCat("Pub/Sub catalog '", CatalogPath(), "' is damaged (topic ", uid, ")"));
    }
    HB_ASSIGN_OR_RETURN(std::unique_ptr<TopicLog> log,
                        TopicLog::Open(options_.fs, TopicDir(uid), options_.log));
    next_message_id_ = message_id_limit_ = std::max(next_message_id_, log->end_message_id());
    auto topic = std::make_shared<Topic>(uid, std::move(config), std::move(log));
    by_uid[uid] = topic;
    if (entry.deleted) {
      deleted_topics_[uid] = std::move(topic);
    } else {
      const std::string name = topic->config().name();
      topics_[name] = {uid, std::move(topic)};
    }
  }
  for (const auto& [uid, entry] : catalog_.subscriptions) {
    SubscriptionConfig config;
    if (!config.ParseFromString(entry.config)) {
      return absl::DataLossError(absl::StrCat("Pub/Sub catalog '", CatalogPath(),
                                              "' is damaged (subscription ", uid, ")"));
    }
    const std::shared_ptr<Topic>& topic = by_uid[entry.topic];
    AckState acked;
    HB_ASSIGN_OR_RETURN(std::unique_ptr<AckLog> ack_log,
                        AckLog::Open(options_.fs, AckPath(uid), entry.start, &acked));
    const Seq acked_end = acked.ranges.empty() ? acked.floor : acked.ranges.back().end;
    if (acked_end > topic->log()->end() || acked.floor < topic->log()->begin()) {
      return absl::DataLossError(absl::StrCat(
          "segments are missing in '", TopicDir(entry.topic), "': subscription '", config.name(),
          "' has acknowledged up to ", acked_end, " and needs messages from ", acked.floor,
          ", and the folder holds ", topic->log()->begin(), " to ", topic->log()->end(),
          ". Restore it from a copy, or start with an empty data directory"));
    }
    const std::string name = config.name();
    auto subscription = std::make_shared<Subscription>(
        entry.incarnation, std::move(config), topic,
        Subscription::Environment{options_.clock, dispatcher_.get(), flusher_.get()});
    topic->AddReader(subscription);
    subscription->Start(acked, std::move(ack_log), static_cast<uint16_t>(rng_.Next()));
    subscriptions_[name] = {uid, std::move(subscription)};
  }
  return absl::OkStatus();
}

Status Broker::MakeFirstCatalog() {
  if (options_.fs->Exists(CatalogPath())) return absl::OkStatus();
  for (const char* folder : {"/topics", "/subscriptions"}) {
    HB_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        options_.fs->List(options_.data_dir + folder));
    if (names.empty()) continue;
    return absl::DataLossError(absl::StrCat(
        "Pub/Sub catalog '", CatalogPath(), "' is missing, and '", options_.data_dir, folder,
        "' is not empty: restore it from a copy, or start with an empty data "
        "directory"));
  }
  return StoreCatalog(options_.fs, CatalogPath(), Catalog());
}

Status Broker::RemoveOrphans() {
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> topics,
                      options_.fs->List(options_.data_dir + "/topics"));
  for (const std::string& name : topics) {
    Uid uid = 0;
    if (absl::SimpleAtoi(name, &uid) && !catalog_.topics.contains(uid)) RemoveTopicFiles(uid);
  }
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> acks,
                      options_.fs->List(options_.data_dir + "/subscriptions"));
  for (const std::string& name : acks) {
    absl::string_view stem = name;
    Uid uid = 0;
    if (absl::ConsumeSuffix(&stem, ".acks") && absl::SimpleAtoi(stem, &uid) &&
        !catalog_.subscriptions.contains(uid)) {
      options_.fs->Remove(AckPath(uid)).IgnoreError();  // it is tried again at the next opening
    }
  }
  return absl::OkStatus();
}

void Broker::RemoveTopicFiles(Uid uid) {
  // What cannot be removed now is an orphan that the next opening removes.
  const StatusOr<std::vector<std::string>> names = options_.fs->List(TopicDir(uid));
  if (!names.ok()) return;
  for (const std::string& name : *names)
    options_.fs->Remove(absl::StrCat(TopicDir(uid), "/", name)).IgnoreError();
  options_.fs->Remove(TopicDir(uid)).IgnoreError();
}

StatusOr<uint64_t> Broker::Reserve(uint64_t count) {
  if (next_message_id_ + count > message_id_limit_) {
    MutexLock lock(&admin_mutex_);
    Catalog changed = catalog_;
    changed.message_id_ceiling = next_message_id_ + count + kMessageIdsReserved;
    const uint64_t limit = changed.message_id_ceiling;
    HB_RETURN_IF_ERROR(Commit(std::move(changed)));
    message_id_limit_ = limit;
  }
  const uint64_t first = next_message_id_;
  next_message_id_ += count;
  return first;
}

Status Broker::Commit(Catalog changed) {
  if (shut_down_) return ShuttingDown();
  HB_RETURN_IF_ERROR(StoreCatalog(options_.fs, CatalogPath(), changed));
  catalog_ = std::move(changed);
  return absl::OkStatus();
}

StatusOr<TopicConfig> Broker::CreateTopic(TopicConfig config) {
  HB_RETURN_IF_ERROR(CompleteTopic(&config));
  MutexLock admin(&admin_mutex_);
  if (FindTopic(config.name()).ok()) return ResourceExists(config.name());
  Catalog changed = catalog_;
  const Uid uid = changed.next_uid++;
  changed.topics[uid].config = config.SerializeAsString();
  HB_ASSIGN_OR_RETURN(std::unique_ptr<TopicLog> log,
                      TopicLog::Open(options_.fs, TopicDir(uid), options_.log));
  HB_RETURN_IF_ERROR(Commit(std::move(changed)));
  auto topic = std::make_shared<Topic>(uid, config, std::move(log));
  MutexLock lock(&mutex_);
  topics_[config.name()] = {uid, std::move(topic)};
  return config;
}

StatusOr<TopicConfig> Broker::UpdateTopic(const TopicConfig& change, const FieldMask& mask) {
  HB_RETURN_IF_ERROR(CheckTopicName(change.name()));
  MutexLock admin(&admin_mutex_);
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Topic> topic, FindTopic(change.name()));
  HB_ASSIGN_OR_RETURN(TopicConfig updated, UpdatedTopic(topic->config(), change, mask));
  Catalog changed = catalog_;
  changed.topics[topic->uid()].config = updated.SerializeAsString();
  HB_RETURN_IF_ERROR(Commit(std::move(changed)));
  topic->set_config(updated);
  return updated;
}

Status Broker::DeleteTopic(const std::string& name) {
  HB_RETURN_IF_ERROR(CheckTopicName(name));
  MutexLock admin(&admin_mutex_);
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Topic> topic, FindTopic(name));
  const Uid uid = topic->uid();
  Catalog changed = catalog_;
  changed.topics[uid].deleted = true;
  for (auto& [sub_uid, entry] : changed.subscriptions) {
    if (entry.topic != uid) continue;
    SubscriptionConfig config;
    HB_CHECK(config.ParseFromString(entry.config));
    config.set_topic(std::string(kDeletedTopic));
    entry.config = config.SerializeAsString();
  }
  std::vector<Uid> dropped;
  HB_RETURN_IF_ERROR(DropUnreferencedTopics(&changed, &dropped));
  HB_RETURN_IF_ERROR(Commit(std::move(changed)));
  topic->Close(ResourceNotFound(name));
  {
    MutexLock lock(&mutex_);
    topics_.erase(name);
    if (dropped.empty()) deleted_topics_[uid] = topic;
    for (auto& [sub_name, entry] : subscriptions_) {
      if (entry.subscription->topic() != topic) continue;
      SubscriptionConfig config = entry.subscription->config();
      config.set_topic(std::string(kDeletedTopic));
      entry.subscription->set_config(std::move(config));
    }
  }
  for (const Uid drop : dropped) RemoveTopicFiles(drop);
  return absl::OkStatus();
}

Status Broker::DropUnreferencedTopics(Catalog* catalog, std::vector<Uid>* dropped) {
  for (auto it = catalog->topics.begin(); it != catalog->topics.end();) {
    const Uid uid = it->first;
    const bool is_needed =
        !it->second.deleted ||
        std::any_of(catalog->subscriptions.begin(), catalog->subscriptions.end(),
                    [&](const auto& entry) { return entry.second.topic == uid; });
    if (is_needed) {
      ++it;
    } else {
      dropped->push_back(uid);
      it = catalog->topics.erase(it);
    }
  }
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<Topic>> Broker::FindTopic(std::string_view name) const {
  MutexLock lock(&mutex_);
  auto it = topics_.find(name);
  if (it == topics_.end()) return ResourceNotFound(name);
  return it->second.topic;
}

StatusOr<std::shared_ptr<Subscription>> Broker::FindSubscription(std::string_view name) const {
  MutexLock lock(&mutex_);
  auto it = subscriptions_.find(name);
  if (it == subscriptions_.end()) return ResourceNotFound(name);
  return it->second.subscription;
}

StatusOr<Page<TopicConfig>> Broker::ListTopics(const std::string& project, int page_size,
                                               const std::string& token) const {
  HB_RETURN_IF_ERROR(CheckProjectName(project));
  MutexLock lock(&mutex_);
  return Paginate<TopicConfig>(
      topics_, page_size, token,
      [&](const std::string& name, const TopicEntry&) { return IsInProject(name, project); },
      [](const TopicEntry& entry) { return entry.topic->config(); });
}

StatusOr<Page<SubscriptionConfig>> Broker::ListSubscriptions(const std::string& project,
                                                             int page_size,
                                                             const std::string& token) const {
  HB_RETURN_IF_ERROR(CheckProjectName(project));
  MutexLock lock(&mutex_);
  return Paginate<SubscriptionConfig>(
      subscriptions_, page_size, token,
      [&](const std::string& name, const SubscriptionEntry&) { return IsInProject(name, project); },
      [](const SubscriptionEntry& entry) { return entry.subscription->config(); });
}

StatusOr<Page<std::string>> Broker::ListTopicSubscriptions(const std::string& topic_name,
                                                           int page_size,
                                                           const std::string& token) const {
  HB_RETURN_IF_ERROR(CheckTopicName(topic_name));
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Topic> topic, FindTopic(topic_name));
  MutexLock lock(&mutex_);
  return Paginate<std::string>(
      subscriptions_, page_size, token,
      [&](const std::string&, const SubscriptionEntry& entry) {
        return entry.subscription->topic() == topic;
      },
      [](const SubscriptionEntry& entry) { return entry.subscription->config().name(); });
}

StatusOr<SubscriptionConfig> Broker::CreateSubscription(SubscriptionConfig config) {
  HB_RETURN_IF_ERROR(CompleteSubscription(&config));
  MutexLock admin(&admin_mutex_);
  if (FindSubscription(config.name()).ok()) return ResourceExists(config.name());
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Topic> topic, FindTopic(config.topic()));
  Catalog changed = catalog_;
  const Uid uid = changed.next_uid++;
  CatalogSubscription& entry = changed.subscriptions[uid];
  entry.incarnation = static_cast<uint32_t>(rng_.Next());
  entry.topic = topic->uid();
  entry.config = config.SerializeAsString();
  auto subscription = std::make_shared<Subscription>(
      entry.incarnation, config, topic,
      Subscription::Environment{options_.clock, dispatcher_.get(), flusher_.get()});
  // From here on the topic keeps its segments for it, and everything published later belongs to it.
  entry.start = topic->AddReader(subscription);
  AckState acked;
  StatusOr<std::unique_ptr<AckLog>> ack_log =
      AckLog::Open(options_.fs, AckPath(uid), entry.start, &acked);
  Status status = ack_log.status();
  if (status.ok()) status = Commit(std::move(changed));
  if (!status.ok()) {
    topic->RemoveReader(subscription.get());
    return status;
  }
  subscription->Start(acked, *std::move(ack_log), static_cast<uint16_t>(rng_.Next()));
  MutexLock lock(&mutex_);
  subscriptions_[config.name()] = {uid, std::move(subscription)};
  return config;
}

StatusOr<SubscriptionConfig> Broker::UpdateSubscription(const SubscriptionConfig& change,
                                                        const FieldMask& mask) {
  HB_RETURN_IF_ERROR(CheckSubscriptionName(change.name()));
  MutexLock admin(&admin_mutex_);
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Subscription> subscription,
                      FindSubscription(change.name()));
  HB_ASSIGN_OR_RETURN(SubscriptionConfig updated,
                      UpdatedSubscription(subscription->config(), change, mask));
  Catalog changed = catalog_;
  {
    MutexLock lock(&mutex_);
    changed.subscriptions[subscriptions_.find(change.name())->second.uid].config =
        updated.SerializeAsString();
  }
  HB_RETURN_IF_ERROR(Commit(std::move(changed)));
  subscription->set_config(updated);
  return updated;
}

Status Broker::DeleteSubscription(const std::string& name) {
  HB_RETURN_IF_ERROR(CheckSubscriptionName(name));
  MutexLock admin(&admin_mutex_);
  HB_ASSIGN_OR_RETURN(const std::shared_ptr<Subscription> subscription, FindSubscription(name));
  Catalog changed = catalog_;
  Uid uid = 0;
  {
    MutexLock lock(&mutex_);
    uid = subscriptions_.find(name)->second.uid;
  }
  changed.subscriptions.erase(uid);
  std::vector<Uid> dropped;
  HB_RETURN_IF_ERROR(DropUnreferencedTopics(&changed, &dropped));
  HB_RETURN_IF_ERROR(Commit(std::move(changed)));
  {
    MutexLock lock(&mutex_);
    subscriptions_.erase(name);
    for (const Uid drop : dropped) deleted_topics_.erase(drop);
  }
  subscription->Close(ResourceNotFound(name));
  subscription->topic()->RemoveReader(subscription.get());
  options_.fs->Remove(AckPath(uid)).IgnoreError();  // else an orphan that the next opening removes
  if (dropped.empty()) {
    flusher_->Request(subscription->topic(), false);
  }
  for (const Uid drop : dropped) RemoveTopicFiles(drop);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Topic>> Broker::topics() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Topic>> all;
  for (const auto& [name, entry] : topics_) all.push_back(entry.topic);
  return all;
}

std::vector<std::shared_ptr<Subscription>> Broker::subscriptions() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Subscription>> all;
  all.reserve(subscriptions_.size());
  for (const auto& [name, entry] : subscriptions_) all.push_back(entry.subscription);
  return all;
}

void Broker::Shutdown() {
  {
    MutexLock admin(&admin_mutex_);
    shut_down_ = true;
  }
  for (const std::shared_ptr<Topic>& topic : topics()) topic->Close(ShuttingDown());
  if (committer_ != nullptr) committer_->Stop();
  for (const std::shared_ptr<Subscription>& subscription : subscriptions())
    subscription->Close(ShuttingDown());
  if (flusher_ != nullptr) flusher_->Stop();
  if (dispatcher_ != nullptr) dispatcher_->Stop();
  // Topic and subscription hold each other until here.
  for (const std::shared_ptr<Subscription>& subscription : subscriptions()) {
    subscription->topic()->RemoveReader(subscription.get());
  }
}

}  // namespace hornbeam::services::pubsub
