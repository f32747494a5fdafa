// Changes of topics and subscriptions on a disk that does not answer.
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "gtest/gtest.h"
#include "services/pubsub/api/admin_queue.h"
#include "services/pubsub/pubsub_service.h"

namespace hornbeam::services::pubsub {
namespace {

namespace pb = google::pubsub::v1;

// A disk in memory on which names change only while the gate is open.
class GatedFileSystem final : public FileSystem {
 public:
  void CloseGate() {
    MutexLock lock(&mutex_);
    open_ = false;
  }
  void OpenGate() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void WaitUntilSomeoneWaits() {
    MutexLock lock(&mutex_);
    while (waiting_ == 0) changed_.Wait(&mutex_);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    {
      MutexLock lock(&mutex_);
      ++waiting_;
      changed_.SignalAll();
      while (!open_) changed_.Wait(&mutex_);
      --waiting_;
    }
    return fs_.Rename(from, to);
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return fs_.Create(path);
  }
  StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(const std::string& path) override {
    return fs_.OpenForAppend(path);
  }
  StatusOr<std::unique_ptr<RandomAccessFile>> OpenForRead(const std::string& path) override {
    return fs_.OpenForRead(path);
  }
  Status Truncate(const std::string& path, uint64_t size) override {
    return fs_.Truncate(path, size);
  }
  Status RewriteInPlace(const std::string& path, uint64_t offset) override {
    return fs_.RewriteInPlace(path, offset);
  }
  Status Remove(const std::string& path) override { return fs_.Remove(path); }
  Status CreateDirectories(const std::string& path) override { return fs_.CreateDirectories(path); }
  Status SyncDirectory(const std::string& path) override { return fs_.SyncDirectory(path); }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    return fs_.List(path);
  }
  bool Exists(const std::string& path) override { return fs_.Exists(path); }
  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return fs_.Lock(path);
  }

 private:
  MemoryFileSystem fs_;
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// One CreateTopic under way.
struct PendingCreate {
  grpc::ClientContext context;
  pb::Topic answer;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<pb::Topic>> reader;
};

TEST(PubSubAdminTest, AStuckDiskTakesNoThreadsAndStopsNoMessages) {
  GatedFileSystem fs;
  PubSubOptions options;
  options.data_dir = "data";
  options.fs = &fs;
  auto service = PubSubService::Open(options);
  ASSERT_TRUE(service.ok()) << service.status();
  grpc::ServerBuilder builder;
  for (grpc::Service* each : (*service)->GrpcServices()) builder.RegisterService(each);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto publisher = pb::Publisher::NewStub(server->InProcessChannel({}));

  const auto publish = [&] {
    grpc::ClientContext context;
    pb::PublishRequest request;
    request.set_topic("projects/p/topics/first");
    request.add_messages()->set_data("x");
    pb::PublishResponse response;
    return publisher->Publish(&context, request, &response).ok();
  };
  {
    grpc::ClientContext context;
    pb::Topic topic;
    topic.set_name("projects/p/topics/first");
    ASSERT_TRUE(publisher->CreateTopic(&context, topic, &topic).ok());
    ASSERT_TRUE(publish());
  }

  fs.CloseGate();
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<PendingCreate>> calls;
  const auto create = [&] {
    auto call = std::make_unique<PendingCreate>();
    pb::Topic topic;
    topic.set_name(absl::StrCat("projects/p/topics/topic-", calls.size()));
    call->reader = publisher->AsyncCreateTopic(&call->context, topic, &queue);
    call->reader->Finish(&call->answer, &call->status, call.get());
    calls.push_back(std::move(call));
  };
  create();
  fs.WaitUntilSomeoneWaits();
  const size_t threads_before = ThreadsOfThisProcess();
  constexpr size_t kTooMany = 5;
  while (calls.size() < 1 + AdminQueue::kMaxWaiting + kTooMany) create();
  // Those for whom there is no room hear so at once, though the disk still stands.
  for (size_t i = 0; i < kTooMany; ++i) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(static_cast<PendingCreate*>(tag)->status.error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_LE(ThreadsOfThisProcess(), threads_before + 20);
  EXPECT_TRUE(publish());
  {
    grpc::ClientContext context;
    pb::ListTopicsRequest request;
    request.set_project("projects/p");
    pb::ListTopicsResponse response;
    EXPECT_TRUE(publisher->ListTopics(&context, request, &response).ok());
    EXPECT_EQ(response.topics_size(), 1);
  }

  fs.OpenGate();
  size_t made = 0;
  for (size_t i = kTooMany; i < calls.size(); ++i) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    if (static_cast<PendingCreate*>(tag)->status.ok()) ++made;
  }
  EXPECT_EQ(made, 1 + AdminQueue::kMaxWaiting);
  queue.Shutdown();
  (*service)->Shutdown();
  server->Shutdown();
}

}  // namespace
}  // namespace hornbeam::services::pubsub
