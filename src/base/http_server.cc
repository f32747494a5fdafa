#include "base/http_server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/http_connection.h"
#include "base/mutex.h"

namespace hornbeam {
namespace {

constexpr size_t kMaxThreads = 256;
constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kKeepAlive{2000};
// Of the bodies of all requests that are being served.
constexpr size_t kMaxBodiesBytes = size_t{1} << 30;
// What a body that is too large may still send, to be read past so that its sender hears why.
constexpr size_t kMaxRequestBytes = size_t{256} << 20;

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
  return out;
}

// A server whose connections are HttpConnections.
class BoundedServer final : public httplib::Server {
 public:
  // httplib lets five connections wait to be accepted, and the system forgets those beyond: a burst
  // of clients would wait in vain. REQUIRES: bound.
  void DeepenBacklog() { ::listen(svr_sock_, kBacklog); }

 private:
  bool process_and_close_socket(socket_t socket) override {
    HttpConnection connection(socket, {.request_bytes = kMaxRequestBytes});
    bool ok = true;
    bool closed = false;
    while (ok && !closed && !connection.broken() && svr_sock_ != INVALID_SOCKET &&
           connection.WaitForRequest(kKeepAlive)) {
      ok = process_request(connection, /*close_connection=*/false, closed, nullptr);
    }
    if (connection.broken()) connection.Linger();
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return ok;
  }
};

// The share of one request in kMaxBodiesBytes; given back at the end.
class BodyBudget {
 public:
  explicit BodyBudget(std::atomic<size_t>* in_use) : in_use_(in_use) {}
  ~BodyBudget() { in_use_->fetch_sub(taken_, std::memory_order_relaxed); }
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  bool Take(size_t bytes) {
    taken_ += bytes;
    return in_use_->fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMaxBodiesBytes;
  }

 private:
  std::atomic<size_t>* const in_use_;
  size_t taken_ = 0;
};

enum class BodyFault { kNone, kTooLarge, kNoRoom, kUnreadable };

// Reads the body, unpacked, into *body. A body that may not be kept is read past.
BodyFault ReadBody(const httplib::ContentReader& reader, size_t most, BodyBudget* budget,
                   std::string* body) {
  BodyFault fault = BodyFault::kNone;
  const bool read = reader([&](const char* data, size_t size) {
    if (fault != BodyFault::kNone) return true;
    if (size > most - body->size()) {
      fault = BodyFault::kTooLarge;
    } else if (!budget->Take(size)) {
      fault = BodyFault::kNoRoom;
    } else {
      body->append(data, size);
      return true;
    }
    std::string().swap(*body);
    return true;
  });
  return fault == BodyFault::kNone && !read ? BodyFault::kUnreadable : fault;
}

void SetText(int status, std::string text, HttpResponse* response) {
  *response = {};
  response->status = status;
  response->content_type = "text/plain; charset=UTF-8";
  response->body = std::move(text);
}

void SetBodyFault(BodyFault fault, size_t most, HttpResponse* response) {
  switch (fault) {
    case BodyFault::kNone: break;
    case BodyFault::kTooLarge:
      return SetText(413,
                     absl::StrCat("The body of the request has more than the ", most,
                                  " bytes that are allowed here; send less at a time.\n"),
                     response);
    case BodyFault::kNoRoom:
      return SetText(503,
                     "The bodies of the requests that are being served fill the memory that is set "
                     "aside for them; try again.\n",
                     response);
    case BodyFault::kUnreadable:
      return SetText(400, "The body of the request could not be read or unpacked.\n", response);
  }
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
  BoundedServer server;
  std::thread listener;
  std::atomic<size_t> bodies_bytes{0};
};

HttpServer::HttpServer() = default;
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Route(std::string_view method, std::string_view pattern, Handler handler,
                       size_t max_body_bytes) {
  routes_.push_back({std::string(method), SplitPath(pattern), std::move(handler),
                     std::min(max_body_bytes, kDefaultMaxBodyBytes)});
}

const HttpServer::RouteEntry* HttpServer::FindRoute(HttpRequest* request) const {
  const std::vector<std::string> path = SplitPath(request->path);
  for (const RouteEntry& route : routes_) {
    if (route.method != "*" && route.method != request->method) continue;
    request->path_parameters.clear();
    if (Match(route.segments, path, &request->path_parameters)) return &route;
  }
  return nullptr;
}

void HttpServer::Serve(const httplib::Request& in, httplib::Response& out,
                       const httplib::ContentReader* reader) {
  // httplib would cut the answer into as many parts as a Range names, the whole of it each if so
  // asked. The request is its caller's own, and not const there.
  const_cast<httplib::Request&>(in).ranges.clear();
  HttpResponse response;
  HttpRequest request = ToHttpRequest(in);
  const RouteEntry* route = FindRoute(&request);
  const size_t most = route ? route->max_body_bytes : 0;
  BodyBudget budget(&impl_->bodies_bytes);
  const BodyFault fault =
      reader ? ReadBody(*reader, most, &budget, &request.body) : BodyFault::kNone;
  if (!route) {
    SetText(404, absl::StrCat("There is nothing at ", request.method, " ", request.path, ".\n"),
            &response);
  } else if (fault != BodyFault::kNone) {
    SetBodyFault(fault, most, &response);
  } else {
    try {
      route->handler(request, &response);
    } catch (const std::exception& error) {
      SetText(500, absl::StrCat("Internal error: ", error.what(), "\n"), &response);
    }
  }
  out.status = response.status;
  for (const auto& [name, value] : response.headers) out.set_header(name.c_str(), value);
  if (response.status != 204 && response.status != 304) {
    out.set_content(std::move(response.body), response.content_type.c_str());
  }
}

Status HttpServer::Start(int port) {
  impl_ = std::make_unique<Impl>();
  BoundedServer& server = impl_->server;
  server.new_task_queue = [] { return new GrowingTaskQueue; };
  // For the Keep-Alive header; BoundedServer keeps to it.
  server.set_keep_alive_max_count(size_t{1} << 40);
  server.set_keep_alive_timeout(kKeepAlive.count() / 1000);
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(kMaxRequestBytes);
  // Not httplib's own SO_REUSEPORT, with which two servers would share one port.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  const auto serve = [this](const httplib::Request& in, httplib::Response& out) {
    Serve(in, out, nullptr);
  };
  const auto serve_body = [this](const httplib::Request& in, httplib::Response& out,
                                 const httplib::ContentReader& reader) { Serve(in, out, &reader); };
  server.Get(".*", serve);
  server.Post(".*", serve_body);
  server.Put(".*", serve_body);
  server.Patch(".*", serve_body);
  server.Delete(".*", serve_body);
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
  server.DeepenBacklog();
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
