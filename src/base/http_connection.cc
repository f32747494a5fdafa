#include "base/http_connection.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/string_view.h"

namespace hornbeam {
namespace {

using std::chrono::milliseconds;

bool PollFor(socket_t socket, short events, milliseconds timeout) {
  pollfd wanted{socket, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&wanted, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

void SetAddress(const sockaddr_in& address, std::string* ip, int* port) {
  char text[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  *ip = text;
  *port = ntohs(address.sin_port);
}

}  // namespace

bool HttpConnection::WaitForRequest(milliseconds timeout) {
  if (begin_ == end_) {
    if (!PollFor(socket_, POLLIN, timeout)) return false;
    char next;
    if (::recv(socket_, &next, 1, MSG_PEEK) <= 0) return false;
  }
  part_ = Part::kFirstLine;
  head_bytes_ = request_bytes_ = 0;
  head_deadline_ = std::chrono::steady_clock::now() + limits_.head_time;
  return true;
}

void HttpConnection::Linger() {
  constexpr size_t kMostBytes = size_t{1} << 20;
  constexpr milliseconds kPatience{500};
  ::shutdown(socket_, SHUT_WR);
  for (size_t past = 0; past < kMostBytes && PollFor(socket_, POLLIN, kPatience);) {
    const ssize_t n = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (n <= 0) return;
    past += static_cast<size_t>(n);
  }
}

bool HttpConnection::is_readable() const {
  return begin_ < end_ || PollFor(socket_, POLLIN, limits_.idle_time);
}

bool HttpConnection::is_writable() const { return PollFor(socket_, POLLOUT, limits_.idle_time); }

bool HttpConnection::Fill() {
  milliseconds patience = limits_.idle_time;
  if (part_ != Part::kBody) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(head_deadline_ - std::chrono::steady_clock::now());
    patience = std::clamp(left, milliseconds(0), patience);
  }
  if (!PollFor(socket_, POLLIN, patience)) return false;
  ssize_t n = 0;
  do {
    n = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
  } while (n < 0 && errno == EINTR);
  begin_ = 0;
  end_ = n > 0 ? static_cast<size_t>(n) : 0;
  return n > 0;
}

void HttpConnection::Advance(char c) {
  ++head_bytes_;
  switch (part_) {
    case Part::kFirstLine:
    case Part::kInLine:
      if (c == '\n') part_ = Part::kLineStart;
      break;
    case Part::kLineStart: part_ = c == '\r' ? Part::kCarriageReturn : Part::kInLine; break;
    case Part::kCarriageReturn: part_ = c == '\n' ? Part::kBody : Part::kInLine; break;
    case Part::kBody: break;
  }
}

bool HttpConnection::IsWithinLimits() {
  if (broken_) return false;
  if (head_bytes_ > limits_.head_bytes && part_ != Part::kBody) {
    static constexpr absl::string_view kTooLarge =
        "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: "
        "0\r\n\r\n";
    ::send(socket_, kTooLarge.data(), kTooLarge.size(), MSG_NOSIGNAL);
    broken_ = true;
  } else if (request_bytes_ > limits_.request_bytes) {
    broken_ = true;
  }
  return !broken_;
}

ssize_t HttpConnection::read(char* to, size_t size) {
  if (!IsWithinLimits()) return -1;
  if (begin_ == end_ && !Fill()) return -1;
  size_t n = std::min(size, end_ - begin_);
  if (part_ != Part::kBody) {
    // What belongs to the head is counted as such, wherever the reads end.
    size_t taken = 0;
    while (taken < n && part_ != Part::kBody) Advance(buffer_[begin_ + taken++]);
    n = taken;
  }
  std::memcpy(to, buffer_.data() + begin_, n);
  begin_ += n;
  request_bytes_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t HttpConnection::write(const char* from, size_t size) {
  if (broken_ || !is_writable()) return -1;
  ssize_t n = 0;
  do {
    n = ::send(socket_, from, size, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n;
}

void HttpConnection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  SetAddress(address, &ip, &port);
}

void HttpConnection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  SetAddress(address, &ip, &port);
}

}  // namespace hornbeam
