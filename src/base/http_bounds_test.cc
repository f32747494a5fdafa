// What a client may ask of the HTTP server, and what it may not.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http_origin.h"
#include "base/http_server.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Sends `bytes` as they are and returns all that comes back until the server closes.
std::string Exchange(int port, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n <= 0) break;
    at += static_cast<size_t>(n);
  }
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  ::close(socket);
  return answer;
}

class HttpBoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.Route("GET", "/page",
                  [](const HttpRequest&, HttpResponse* r) { r->body = std::string(1000, 'x'); });
    server_.Route(
        "POST", "/size",
        [](const HttpRequest& q, HttpResponse* r) { r->body = absl::StrCat(q.body.size()); }, 1000);
    ASSERT_TRUE(server_.Start(0).ok());
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_.port());
    client_->set_keep_alive(true);
  }
  std::string Post(const std::string& body) {
    const auto answer = client_->Post("/size", body, "text/plain");
    return answer ? absl::StrCat(answer->status, " ", answer->body) : "no answer";
  }

  HttpServer server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpBoundsTest, ManyRangesGiveTheAnswerOnce) {
  std::string ranges = "bytes=0-";
  while (ranges.size() < 8000) ranges += ",0-";
  const auto answer = client_->Get("/page", {{"Range", ranges}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body.size(), 1000u);
}

TEST_F(HttpBoundsTest, AHeadOfManyFieldsIsRefused) {
  std::string head = "GET /page HTTP/1.1\r\n";
  while (head.size() < (size_t{80} << 10)) absl::StrAppend(&head, "X-Field: value\r\n");
  EXPECT_THAT(Exchange(server_.port(), head), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Exchange(server_.port(), std::string(size_t{80} << 10, 'x')),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(client_->Get("/page")->status, 200);
}

TEST_F(HttpBoundsTest, RequestsOnOneConnectionAreCountedEach) {
  std::string requests;
  for (int i = 0; i < 40; ++i)
    absl::StrAppend(&requests, "GET /page HTTP/1.1\r\nX: ", std::string(4000, 'x'), "\r\n\r\n");
  requests += "GET /page HTTP/1.1\r\nConnection: close\r\n\r\n";
  const std::string answers = Exchange(server_.port(), requests);
  size_t found = 0;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++found;
  EXPECT_EQ(found, 41u);
}

TEST_F(HttpBoundsTest, ABurstOfClientsIsServed) {
  std::vector<std::thread> clients;
  std::atomic<int> served{0};
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&] {
      httplib::Client client("127.0.0.1", server_.port());
      const auto answer = client.Get("/page");
      if (answer && answer->status == 200) ++served;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served, 100);
}

TEST_F(HttpBoundsTest, ABodyLargerThanItsRouteAllowsIsRefusedAndReadPast) {
  EXPECT_EQ(Post(std::string(1000, 'x')), "200 1000");
  EXPECT_THAT(Post(std::string(1001, 'x')), HasSubstr("413 The body of the request has more"));
  EXPECT_THAT(Post(std::string(5'000'000, 'x')), StartsWith("413 "));
  EXPECT_EQ(Post("x"), "200 1");
}

TEST_F(HttpBoundsTest, AChunkedBodyHasTheSameBound) {
  const auto post = [&](size_t chunks) {
    const auto answer = client_->Post(
        "/size",
        [chunks](size_t offset, httplib::DataSink& sink) {
          const std::string chunk(100, 'x');
          sink.write(chunk.data(), chunk.size());
          if (offset + 100 >= chunks * 100) sink.done();
          return true;
        },
        "text/plain");
    return answer ? answer->status : -1;
  };
  EXPECT_EQ(post(10), 200);
  EXPECT_EQ(post(11), 413);
}

#ifdef CPPHTTPLIB_ZLIB_SUPPORT
TEST_F(HttpBoundsTest, ABodyIsMeasuredUnpacked) {
  client_->set_compress(true);
  EXPECT_EQ(Post(std::string(1000, 'x')), "200 1000");
  EXPECT_THAT(Post(std::string(50'000'000, 'x')), StartsWith("413 "));
}
#endif

TEST(HttpOriginTest, OnlyPagesOfOtherSitesAreForeign) {
  const auto foreign = [](std::map<std::string, std::string, std::less<>> headers) {
    HttpRequest request;
    request.headers = std::move(headers);
    return IsForeign(request);
  };
  EXPECT_FALSE(foreign({}));
  EXPECT_FALSE(foreign({{"host", "127.0.0.1:9050"}}));
  EXPECT_FALSE(foreign({{"host", "LOCALHOST"}}));
  EXPECT_FALSE(foreign({{"host", "[::1]:9050"}}));
  EXPECT_FALSE(foreign({{"host", "bigquery.googleapis.com"}}));
  EXPECT_FALSE(foreign({{"host", "localhost:1"}, {"origin", "http://localhost:1"}}));
  EXPECT_TRUE(foreign({{"host", "evil.example"}}));
  EXPECT_TRUE(foreign({{"host", "127.0.0.1.evil.example"}}));
  EXPECT_TRUE(foreign({{"host", "evilgoogleapis.com"}}));
  EXPECT_TRUE(foreign({{"host", "localhost:1"}, {"origin", "http://localhost:2"}}));
  EXPECT_TRUE(foreign({{"host", "localhost:1"}, {"origin", "null"}}));
  EXPECT_TRUE(foreign({{"origin", "http://evil.example"}}));
}

}  // namespace
}  // namespace hornbeam
