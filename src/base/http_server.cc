#include "base/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/mutex.h"

namespace hornbeam {
namespace {

constexpr size_t kMaxThreads = 256;
constexpr size_t kMaxBodyBytes = size_t{1} << 30;

// Starts a thread when a connection arrives and none is idle. A kept-alive connection holds its
// thread, so a pool of fixed size would be starved by idle clients.
class GrowingTaskQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < kMaxThreads) {
      threads_.emplace_back([this] { Work(); });
    } else {
      wake_.Signal();
    }
  }

  void shutdown() override {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      wake_.SignalAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Work() {
    for (;;) {
      std::function<void()> task;
      {
        MutexLock lock(&mutex_);
        ++idle_;
        while (tasks_.empty() && !stopping_) wake_.Wait(&mutex_);
        --idle_;
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Grows in enqueue, which httplib calls from one thread, the one that then calls shutdown.
  std::vector<std::thread> threads_;
};

std::vector<std::string> SplitPath(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
}

bool Match(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
           std::map<std::string, std::string, std::less<>>* captured) {
  size_t i = 0;
  for (; i < pattern.size(); ++i) {
    const std::string& want = pattern[i];
    if (want.empty() || want.front() != '{') {
      if (i >= path.size() || PercentDecode(path[i]) != want) return false;
      continue;
    }
    const size_t close = want.find('}');
    const std::string name = want.substr(1, close - 1);
    if (absl::EndsWith(name, "=**")) {
      std::string rest;
      for (size_t j = i; j < path.size(); ++j) {
        if (j > i) rest += '/';
        rest += PercentDecode(path[j]);
      }
      (*captured)[name.substr(0, name.size() - 3)] = std::move(rest);
      return true;
    }
    if (i >= path.size()) return false;
    const std::string suffix = want.substr(close + 1);
    std::string value = PercentDecode(path[i]);
    if (value.size() <= suffix.size() || !absl::EndsWith(value, suffix)) return false;
    value.resize(value.size() - suffix.size());
    (*captured)[name] = std::move(value);
  }
  return i == path.size();
}

HttpRequest ToHttpRequest(const httplib::Request& in) {
  HttpRequest out;
  out.method = in.method == "HEAD" ? "GET" : in.method;
  // Before httplib decoded it: an encoded slash belongs to its segment.
  out.path = in.target.substr(0, in.target.find('?'));
  for (const auto& [name, value] : in.params) out.query.emplace(name, value);
  for (const auto& [name, value] : in.headers) {
    out.headers.emplace(absl::AsciiStrToLower(name), value);
  }
  if (const auto method = out.Header("x-http-method-override")) out.method = *method;
  out.body = in.body;
  return out;
}

}  // namespace

std::string PercentDecode(std::string_view text, bool plus_is_space) {
  const auto hex = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

const std::string& HttpRequest::Path(std::string_view name) const {
  static const std::string* const kEmpty = new std::string;
  const auto it = path_parameters.find(name);
  return it == path_parameters.end() ? *kEmpty : it->second;
}

std::optional<std::string> HttpRequest::Query(std::string_view name) const {
  const auto it = query.find(name);
  return it == query.end() ? std::nullopt : std::optional<std::string>(it->second);
}

std::optional<std::string> HttpRequest::Header(std::string_view lower_case_name) const {
  const auto it = headers.find(lower_case_name);
  return it == headers.end() ? std::nullopt : std::optional<std::string>(it->second);
}

struct HttpServer::Impl {
  httplib::Server server;
  std::thread listener;
};

HttpServer::HttpServer() = default;
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Route(std::string_view method, std::string_view pattern, Handler handler) {
  routes_.push_back({std::string(method), SplitPath(pattern), std::move(handler)});
}

void HttpServer::Dispatch(HttpRequest* request, HttpResponse* response) const {
  const std::vector<std::string> path = SplitPath(request->path);
  for (const RouteEntry& route : routes_) {
    if (route.method != "*" && route.method != request->method) continue;
    request->path_parameters.clear();
    if (!Match(route.segments, path, &request->path_parameters)) continue;
    route.handler(*request, response);
    return;
  }
  response->status = 404;
  response->content_type = "text/plain; charset=UTF-8";
  response->body = absl::StrCat("There is nothing at ", request->method, " ", request->path, ".\n");
}

Status HttpServer::Start(int port) {
  impl_ = std::make_unique<Impl>();
  httplib::Server& server = impl_->server;
  server.new_task_queue = [] { return new GrowingTaskQueue; };
  server.set_keep_alive_max_count(size_t{1} << 40);
  server.set_keep_alive_timeout(2);
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(kMaxBodyBytes);
  // Not httplib's own SO_REUSEPORT, with which two servers would share one port.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  const auto serve = [this](const httplib::Request& in, httplib::Response& out) {
    HttpResponse response;
    HttpRequest request = ToHttpRequest(in);
    try {
      Dispatch(&request, &response);
    } catch (const std::exception& error) {
      response = {};
      response.status = 500;
      response.content_type = "text/plain; charset=UTF-8";
      response.body = absl::StrCat("Internal error: ", error.what(), "\n");
    }
    out.status = response.status;
    for (const auto& [name, value] : response.headers) out.set_header(name.c_str(), value);
    if (response.status != 204 && response.status != 304) {
      out.set_content(std::move(response.body), response.content_type.c_str());
    }
  };
  server.Get(".*", serve);
  server.Post(".*", serve);
  server.Put(".*", serve);
  server.Patch(".*", serve);
  server.Delete(".*", serve);
  server.Options(".*", serve);

  errno = 0;
  if (port == 0) {
    port_ = server.bind_to_any_port("127.0.0.1");
    if (port_ <= 0) {
      port_ = 0;
      return absl::UnavailableError("no free port on 127.0.0.1; close some programs and try again");
    }
  } else if (server.bind_to_port("127.0.0.1", port)) {
    port_ = port;
  } else if (errno == EACCES) {
    return absl::PermissionDeniedError(absl::StrCat(
        "port ", port, " needs rights this user does not have; choose one above 1023"));
  } else {
    return absl::UnavailableError(absl::StrCat(
        "port ", port, " is busy; stop the program that uses it or choose another port"));
  }
  impl_->listener = std::thread([&server] { server.listen_after_bind(); });
  // stop() before the loop runs would be lost.
  while (!server.is_running()) std::this_thread::yield();
  return absl::OkStatus();
}

void HttpServer::Stop() {
  if (!impl_) return;
  if (impl_->listener.joinable()) {
    impl_->server.stop();
    impl_->listener.join();
  }
  impl_.reset();
}

}  // namespace hornbeam
