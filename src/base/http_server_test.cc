#include "base/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hornbeam {
namespace {

class HttpServerTest : public testing::Test {
 protected:
  void Serve() {
    ASSERT_TRUE(server_.Start(0).ok());
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_.port());
    client_->set_url_encode(false);
  }
  std::string Get(const std::string& path) {
    auto result = client_->Get(path.c_str());
    return result ? absl::StrCat(result->status, " ", result->body) : "no answer";
  }

  HttpServer server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, PatternsCaptureSegments) {
  server_.Route("GET", "/v1/{project}/topics/{topic}:peek",
                [](const HttpRequest& q, HttpResponse* r) {
                  r->body = q.Path("project") + "|" + q.Path("topic");
                });
  server_.Route("GET", "/v1/{project}/topics/{topic}", [](const HttpRequest& q, HttpResponse* r) {
    r->body = "plain " + q.Path("topic");
  });
  server_.Route("GET", "/files/{rest=**}", [](const HttpRequest& q, HttpResponse* r) {
    r->body = "[" + q.Path("rest") + "]";
  });
  Serve();
  EXPECT_EQ(Get("/v1/p/topics/t:peek"), "200 p|t");
  EXPECT_EQ(Get("/v1/p/topics/a%2Fb"), "200 plain a/b");
  EXPECT_EQ(Get("/files/a/b.css"), "200 [a/b.css]");
  EXPECT_EQ(Get("/files"), "200 []");
  EXPECT_THAT(Get("/v1/p/topics"), testing::StartsWith("404 "));
}

TEST_F(HttpServerTest, QueryHeadersAndMethodOverride) {
  server_.Route("PATCH", "/x", [](const HttpRequest& q, HttpResponse* r) {
    r->body = absl::StrCat(q.Query("a b").value_or("-"), " ", q.Header("x-one").value_or("-"), " ",
                           q.body);
    r->status = 201;
  });
  Serve();
  auto result =
      client_->Post("/x?a%20b=1%2B1", {{"X-One", "one"}, {"X-HTTP-Method-Override", "PATCH"}},
                    "body", "text/plain");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 201);
  EXPECT_EQ(result->body, "1+1 one body");
}

TEST_F(HttpServerTest, AThrowingHandlerIsAnInternalError) {
  server_.Route("GET", "/",
                [](const HttpRequest&, HttpResponse*) { throw std::runtime_error("broken"); });
  Serve();
  EXPECT_EQ(Get("/"), "500 Internal error: broken\n");
}

TEST_F(HttpServerTest, ABusyPortIsNamed) {
  Serve();
  HttpServer second;
  const Status status = second.Start(server_.port());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr(absl::StrCat("port ", server_.port(), " is busy")));
}

TEST_F(HttpServerTest, IdleConnectionsDoNotStarveOthers) {
  server_.Route("GET", "/", [](const HttpRequest&, HttpResponse* r) { r->body = "ok"; });
  Serve();
  std::vector<std::unique_ptr<httplib::Client>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<httplib::Client>("127.0.0.1", server_.port()));
    clients.back()->set_keep_alive(true);
    auto result = clients.back()->Get("/");
    ASSERT_TRUE(result);
    EXPECT_EQ(result->body, "ok");
  }
}

TEST(PercentDecodeTest, KeepsMalformedEscapes) {
  EXPECT_EQ(PercentDecode("a%2fb%zz%4"), "a/b%zz%4");
  EXPECT_EQ(PercentDecode("a+b%20c", true), "a b c");
}

}  // namespace
}  // namespace hornbeam
