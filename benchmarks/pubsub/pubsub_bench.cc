// Load on the local Pub/Sub over loopback gRPC, from a process of its own. Prints one line of JSON.
//
//   pubsub_bench --server PATH [--data-dir DIR] [--seconds 5] [--bytes 100] [--batch 1000]
//   [--streams 1]
//                [--publishers 6] [--backlog 0] [--rate 0]
//
// 1. publishes as fast as it goes for --seconds; 2. drains that by StreamingPull, acknowledging on
// the stream;
// 3. publishes at --rate messages/s (0: half of the slower of the first two) to a listening stream
// and measures the time from before Publish to receipt; 4. with --backlog N, publishes N messages
// nobody takes and reads the server's memory.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "google/protobuf/arena.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace {

using google::pubsub::v1::PublishRequest;
using google::pubsub::v1::PublishResponse;
using google::pubsub::v1::StreamingPullRequest;
using google::pubsub::v1::StreamingPullResponse;
using Publisher = google::pubsub::v1::Publisher;
using Subscriber = google::pubsub::v1::Subscriber;

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "pubsub_bench: %s\n", what.c_str());
  std::exit(1);
}

void Check(const grpc::Status& status, const char* what) {
  if (!status.ok()) Die(std::string(what) + ": " + status.error_message());
}

// The server under test, in a process of its own.
class ServerProcess {
 public:
  ServerProcess(const std::string& binary, const std::string& data_dir) {
    const std::string ready = data_dir + ".ready";
    std::filesystem::remove(ready);
    pid_ = fork();
    if (pid_ == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
      execl(binary.c_str(), binary.c_str(), "--data-dir", data_dir.c_str(), "--port", "0",
            "--ready-file", ready.c_str(), nullptr);
      _exit(127);
    }
    while (!std::filesystem::exists(ready)) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) Die("the server '" + binary + "' did not start");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::ifstream(ready) >> address_;
    std::filesystem::remove(ready);
  }
  ~ServerProcess() {
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
  }
  const std::string& address() const { return address_; }
  double Megabytes(const std::string& field) const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(in, line);) {
      if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) / 1024.0;
    }
    return 0;
  }
  double CpuSeconds() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/stat");
    std::string word;
    double ticks = 0;
    for (int i = 1; in >> word && i <= 15; ++i) {
      if (i == 14 || i == 15) ticks += std::stod(word);
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t pid_ = 0;
  std::string address_;
};

class Load {
 public:
  Load(const std::string& address, int batch, size_t bytes) : batch_(batch), bytes_(bytes) {
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(64 << 20);
    args.SetInt("grpc.use_local_subchannel_pool", 1);
    for (int i = 0; i < 2; ++i) {
      channels_.push_back(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args));
    }
  }

  void Create(const std::string& id) {
    grpc::ClientContext topic_context;
    google::pubsub::v1::Topic topic;
    topic.set_name("projects/bench/topics/" + id);
    Check(Publisher::NewStub(channels_[0])->CreateTopic(&topic_context, topic, &topic),
          "CreateTopic");
    grpc::ClientContext subscription_context;
    google::pubsub::v1::Subscription subscription;
    subscription.set_name("projects/bench/subscriptions/" + id);
    subscription.set_topic(topic.name());
    Check(Subscriber::NewStub(channels_[0])
              ->CreateSubscription(&subscription_context, subscription, &subscription),
          "CreateSubscription");
  }

  PublishRequest Request(const std::string& id, int messages) const {
    PublishRequest request;
    request.set_topic("projects/bench/topics/" + id);
    for (int i = 0; i < messages; ++i) request.add_messages()->set_data(std::string(bytes_, 'x'));
    return request;
  }

  // Publishes from `threads` blocking clients until `until_us` or `limit` messages. Returns how
  // many.
  int64_t PublishFlatOut(const std::string& id, int threads, int64_t until_us, int64_t limit) {
    std::atomic<int64_t> published{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        const auto stub = Publisher::NewStub(channels_[0]);
        const PublishRequest request = Request(id, batch_);
        while (NowUs() < until_us && published.load() < limit) {
          grpc::ClientContext context;
          PublishResponse response;
          Check(stub->Publish(&context, request, &response), "Publish");
          published += response.message_ids_size();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    return published;
  }

  // Takes and acknowledges `count` messages on `streams` streams; each message's data goes to
  // `see`.
  template <typename See>
  void Drain(const std::string& id, int streams, int64_t count, const See& see) {
    std::atomic<int64_t> received{0};
    std::vector<std::thread> workers;
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    for (int s = 0; s < streams; ++s) contexts.push_back(std::make_unique<grpc::ClientContext>());
    for (int s = 0; s < streams; ++s) {
      workers.emplace_back([&, s] {
        const auto stub = Subscriber::NewStub(channels_[1]);
        const auto stream = stub->StreamingPull(contexts[s].get());
        StreamingPullRequest request;
        request.set_subscription("projects/bench/subscriptions/" + id);
        request.set_stream_ack_deadline_seconds(60);
        request.set_max_outstanding_messages(20'000);
        stream->Write(request);
        google::protobuf::ArenaOptions options;
        options.start_block_size = 256 << 10;
        options.max_block_size = 256 << 10;
        while (true) {
          google::protobuf::Arena arena(options);
          auto* response = google::protobuf::Arena::CreateMessage<StreamingPullResponse>(&arena);
          if (!stream->Read(response)) break;
          const int64_t now_us = NowUs();
          auto* acks = google::protobuf::Arena::CreateMessage<StreamingPullRequest>(&arena);
          for (auto& message : *response->mutable_received_messages()) {
            see(message.message().data(), now_us);
            acks->add_ack_ids(std::move(*message.mutable_ack_id()));
          }
          if (acks->ack_ids_size() > 0 && !stream->Write(*acks)) break;
          if ((received += acks->ack_ids_size()) >= count) {
            // Give the last acks time to arrive before everything is torn down.
            stream->WritesDone();
            for (int o = 0; o < streams; ++o) {
              if (o != s) contexts[o]->TryCancel();
            }
          }
        }
        stream->Finish();
      });
    }
    for (std::thread& worker : workers) worker.join();
  }

  // Publishes `count` messages at `rate`, each with the time before its Publish in front.
  void PublishPaced(const std::string& id, double rate, int64_t count, int threads) {
    const int batch =
        std::max(1, std::min(batch_, static_cast<int>(rate / 1000.0)));  // about one a millisecond
    std::atomic<int64_t> next{0};
    const int64_t start_us = NowUs();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        const auto stub = Publisher::NewStub(channels_[0]);
        PublishRequest request = Request(id, batch);
        while (true) {
          const int64_t first = next.fetch_add(batch);
          if (first >= count) return;
          // The time it should have been sent at, so that a late publisher counts as latency.
          const int64_t due_us =
              start_us + static_cast<int64_t>(static_cast<double>(first) / rate * 1e6);
          const int64_t wait_us = due_us - NowUs();
          if (wait_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
          for (auto& message : *request.mutable_messages()) {
            std::memcpy(message.mutable_data()->data(), &due_us, sizeof due_us);
          }
          grpc::ClientContext context;
          PublishResponse response;
          Check(stub->Publish(&context, request, &response), "Publish");
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  }

 private:
  const int batch_;
  const size_t bytes_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

double Percentile(std::vector<int64_t>* values, double p) {
  if (values->empty()) return 0;
  const size_t at =
      std::min(values->size() - 1, static_cast<size_t>(p * static_cast<double>(values->size())));
  std::nth_element(values->begin(), values->begin() + static_cast<ptrdiff_t>(at), values->end());
  return static_cast<double>((*values)[at]) / 1000.0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags = {
      {"--server", ""},      {"--data-dir", "/tmp/pubsub_bench_data"},
      {"--seconds", "5"},    {"--bytes", "100"},
      {"--batch", "1000"},   {"--streams", "1"},
      {"--publishers", "6"}, {"--backlog", "0"},
      {"--rate", "0"}};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!flags.contains(argv[i])) Die(std::string("unknown flag ") + argv[i]);
    flags[argv[i]] = argv[i + 1];
  }
  if (flags["--server"].empty()) Die("--server PATH of pubsub_server is needed");
  const double seconds = std::stod(flags["--seconds"]);
  const int streams = std::stoi(flags["--streams"]);
  const int publishers = std::stoi(flags["--publishers"]);
  const int64_t backlog = std::stoll(flags["--backlog"]);
  double rate = std::stod(flags["--rate"]);

  std::filesystem::remove_all(flags["--data-dir"]);
  double published_per_s = 0;
  double delivered_per_s = 0;
  double publish_cpu_us = 0;
  double deliver_cpu_us = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double rss_mb = 0;
  double backlog_rss_mb = 0;
  {
    ServerProcess server(flags["--server"], flags["--data-dir"]);
    Load load(server.address(), std::stoi(flags["--batch"]), std::stoul(flags["--bytes"]));
    load.Create("flat");
    const double cpu0 = server.CpuSeconds();
    int64_t start_us = NowUs();
    const int64_t count = load.PublishFlatOut(
        "flat", publishers, start_us + static_cast<int64_t>(seconds * 1e6), INT64_MAX);
    published_per_s = static_cast<double>(count) / (static_cast<double>(NowUs() - start_us) / 1e6);
    const double cpu1 = server.CpuSeconds();
    publish_cpu_us = (cpu1 - cpu0) * 1e6 / static_cast<double>(count);

    start_us = NowUs();
    load.Drain("flat", streams, count, [](const std::string&, int64_t) {});
    delivered_per_s = static_cast<double>(count) / (static_cast<double>(NowUs() - start_us) / 1e6);
    deliver_cpu_us = (server.CpuSeconds() - cpu1) * 1e6 / static_cast<double>(count);

    if (rate == 0) rate = std::min(published_per_s, delivered_per_s) / 2;
    load.Create("paced");
    const int64_t paced = static_cast<int64_t>(rate * seconds);
    std::vector<int64_t> latencies_us;
    latencies_us.reserve(static_cast<size_t>(paced) + 10'000);
    std::thread drain([&] {
      load.Drain("paced", 1, paced, [&](const std::string& data, int64_t now_us) {
        int64_t sent_us = 0;
        std::memcpy(&sent_us, data.data(), sizeof sent_us);
        latencies_us.push_back(now_us - sent_us);
      });
    });
    load.PublishPaced("paced", rate, paced, publishers);
    drain.join();
    // The first second warms up.
    const size_t skip = std::min(latencies_us.size() / 2, static_cast<size_t>(rate));
    latencies_us.erase(latencies_us.begin(), latencies_us.begin() + static_cast<ptrdiff_t>(skip));
    p50_ms = Percentile(&latencies_us, 0.50);
    p99_ms = Percentile(&latencies_us, 0.99);
    rss_mb = server.Megabytes("VmHWM");
  }
  if (backlog > 0) {
    std::filesystem::remove_all(flags["--data-dir"]);
    ServerProcess server(flags["--server"], flags["--data-dir"]);
    Load load(server.address(), std::stoi(flags["--batch"]), std::stoul(flags["--bytes"]));
    load.Create("backlog");
    load.PublishFlatOut("backlog", publishers, INT64_MAX, backlog);
    backlog_rss_mb = server.Megabytes("VmRSS");
  }
  std::filesystem::remove_all(flags["--data-dir"]);
  std::printf(
      "{\"published_per_s\": %.0f, \"delivered_acked_per_s\": %.0f, "
      "\"server_cpu_us_per_published\": %.2f, "
      "\"server_cpu_us_per_delivered\": %.2f, \"paced_rate_per_s\": %.0f, \"p50_ms\": %.2f, "
      "\"p99_ms\": %.2f, "
      "\"peak_rss_mb\": %.0f, \"backlog_messages\": %lld, \"backlog_rss_mb\": %.0f}\n",
      published_per_s, delivered_per_s, publish_cpu_us, deliver_cpu_us, rate, p50_ms, p99_ms,
      rss_mb, static_cast<long long>(backlog), backlog_rss_mb);
  return 0;
}
