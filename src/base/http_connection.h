// One client's connection to the HTTP server: its bytes, with bounds on what a request may send.
#ifndef HORNBEAM_BASE_HTTP_CONNECTION_H_
#define HORNBEAM_BASE_HTTP_CONNECTION_H_

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hornbeam {

// What httplib reads and writes. It reads heads and chunk lines byte by byte, as long as they may
// be, so the bounds are here: a request whose head is larger or slower than allowed, or that sends
// more bytes than allowed altogether, finds the connection at its end. One thread at a time. Does
// not own the socket.
class HttpConnection final : public httplib::Stream {
 public:
  struct Limits {
    // Request line and header fields.
    size_t head_bytes = 64 << 10;
    std::chrono::milliseconds head_time{10'000};
    // Head, body and chunk lines, as they come over the wire.
    size_t request_bytes = 0;
    // Of one read or write without progress.
    std::chrono::milliseconds idle_time{5'000};
  };
  HttpConnection(socket_t socket, const Limits& limits) : socket_(socket), limits_(limits) {}

  // Waits until the next request begins. False when none does within `timeout`, or the client has
  // closed.
  bool WaitForRequest(std::chrono::milliseconds timeout);
  // Whether a request has broken the bounds. What follows on the connection cannot be understood.
  bool broken() const { return broken_; }
  // Ends our side and reads past what the client still sends, within bounds: to close at once would
  // take back from it the answer that it has not read.
  void Linger();

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  enum class Part { kFirstLine, kLineStart, kCarriageReturn, kInLine, kBody };

  // Fills the buffer. False at the end, after an error, and when nothing came in time.
  bool Fill();
  // Counts a byte of the request's head.
  void Advance(char c);
  bool IsWithinLimits();

  const socket_t socket_;
  const Limits limits_;
  std::array<char, 16 << 10> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  Part part_ = Part::kFirstLine;
  size_t head_bytes_ = 0;
  size_t request_bytes_ = 0;
  std::chrono::steady_clock::time_point head_deadline_;
  bool broken_ = false;
};

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_HTTP_CONNECTION_H_
