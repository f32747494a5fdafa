// The local BigQuery over loopback, server and client in this one process:
//   bigquery_bench write --data-dir DIR [--rows N] [--batch N] [--connections N]   Storage Write,
//   COMMITTED streams bigquery_bench insertall --data-dir DIR [--rows N] [--batch N] [--connections
//   N] bigquery_bench query --data-dir DIR [--rows N]        group-by through the API and by DuckDB
//   directly bigquery_bench appender --data-dir DIR [--rows N]     DuckDB's appender alone, for
//   comparison
// Rows have 6 columns and about 100 bytes of payload. DIR is emptied of an earlier run's database.
// One JSON line is printed.
#include <duckdb.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>
#include <httplib.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/http_server.h"
#include "google/cloud/bigquery/storage/v1/storage.grpc.pb.h"
#include "services/bigquery/bigquery_service.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {
namespace {

namespace storage = google::cloud::bigquery::storage::v1;
using google::protobuf::FieldDescriptorProto;
using nlohmann::json;

struct Flags {
  std::string mode, data_dir;
  int64_t rows = 2'000'000, batch = 1000, connections = 2;
};

[[noreturn]] void Fail(absl::string_view message) {
  std::fprintf(stderr, "bigquery_bench: %s\n", std::string(message).c_str());
  std::exit(1);
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

long PeakMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// id INT64, store STRING, ts TIMESTAMP, amount FLOAT64, quantity INT64, note STRING of 50 bytes.
constexpr char kSchema[] =
    R"({"fields":[{"name":"id","type":"INT64","mode":"REQUIRED"},{"name":"store","type":"STRING"},
  {"name":"ts","type":"TIMESTAMP"},{"name":"amount","type":"FLOAT64"},{"name":"quantity","type":"INT64"},
  {"name":"note","type":"STRING"}]})";
constexpr char kNote[] = "a note of fifty bytes that no column compresses ..";

std::string ProtoRow(int64_t id) {
  std::string out;
  const auto tag = [&](int number, int wire) { out += static_cast<char>(number << 3 | wire); };
  tag(1, 0), PutVarint(&out, static_cast<uint64_t>(id));
  tag(2, 2), PutBytes(&out, absl::StrCat("store-", id % 1000));
  tag(3, 0), PutVarint(&out, static_cast<uint64_t>(1'700'000'000'000'000 + id));
  const double amount = static_cast<double>(id % 977) / 7;
  uint64_t bits;
  std::memcpy(&bits, &amount, sizeof bits);
  tag(4, 1), PutFixed64(&out, bits);
  tag(5, 0), PutVarint(&out, static_cast<uint64_t>(id % 17));
  tag(6, 2), PutBytes(&out, kNote);
  return out;
}

google::protobuf::DescriptorProto Descriptor() {
  google::protobuf::DescriptorProto made;
  made.set_name("Row");
  const std::pair<const char*, FieldDescriptorProto::Type> fields[] = {
      {"id", FieldDescriptorProto::TYPE_INT64},       {"store", FieldDescriptorProto::TYPE_STRING},
      {"ts", FieldDescriptorProto::TYPE_INT64},       {"amount", FieldDescriptorProto::TYPE_DOUBLE},
      {"quantity", FieldDescriptorProto::TYPE_INT64}, {"note", FieldDescriptorProto::TYPE_STRING}};
  int number = 0;
  for (const auto& [name, type] : fields) {
    auto* field = made.add_field();
    field->set_name(name);
    field->set_number(++number);
    field->set_type(type);
    field->set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  }
  return made;
}

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {
    std::filesystem::remove_all(flags.data_dir);
    auto opened = BigQueryService::Open({.data_dir = flags.data_dir});
    if (!opened.ok()) Fail(opened.status().message());
    service_ = *std::move(opened);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &grpc_port_);
    builder.SetMaxReceiveMessageSize(32 << 20);
    for (grpc::Service* each : service_->GrpcServices()) builder.RegisterService(each);
    grpc_server_ = builder.BuildAndStart();
    service_->RegisterRoutes(&http_);
    if (!http_.Start(0).ok()) Fail("no HTTP server");
    Post("/projects/p/datasets", R"({"datasetReference":{"datasetId":"d"}})");
    Post("/projects/p/datasets/d/tables",
         absl::StrCat(R"({"tableReference":{"tableId":"t"},"schema":)", kSchema, "}"));
  }
  ~Bench() {
    http_.Stop();
    grpc_server_->Shutdown();
  }

  json Post(const std::string& path, const std::string& body) {
    httplib::Client client("127.0.0.1", http_.port());
    client.set_read_timeout(600);
    const auto result = client.Post(path.c_str(), body, "application/json");
    if (!result || result->status >= 300)
      Fail(absl::StrCat(path, ": ", result ? result->body : "no answer"));
    return json::parse(result->body);
  }

  int64_t RowCount() {
    const json answer = Post("/projects/p/queries", R"({"query":"SELECT COUNT(*) FROM d.t"})");
    return std::stoll(answer["rows"][0]["f"][0]["v"].get<std::string>());
  }

  // Each connection appends its share to a stream of its own, with offsets, up to 64 requests ahead
  // of the answers.
  double Write() {
    std::vector<std::vector<storage::AppendRowsRequest>> requests(
        static_cast<size_t>(flags_.connections));
    for (int64_t c = 0; c < flags_.connections; ++c) {
      int64_t offset = 0;
      for (int64_t left = flags_.rows / flags_.connections; left > 0; left -= flags_.batch) {
        auto& request = requests[static_cast<size_t>(c)].emplace_back();
        for (int64_t i = 0; i < std::min(left, flags_.batch); ++i) {
          request.mutable_proto_rows()->mutable_rows()->add_serialized_rows(
              ProtoRow(c * flags_.rows + offset + i));
        }
        request.mutable_offset()->set_value(offset);
        offset += std::min(left, flags_.batch);
      }
      *requests[static_cast<size_t>(c)][0]
           .mutable_proto_rows()
           ->mutable_writer_schema()
           ->mutable_proto_descriptor() = Descriptor();
    }
    const double start = Seconds();
    std::vector<std::thread> threads;
    for (auto& own : requests) {
      threads.emplace_back([&] {
        auto stub = storage::BigQueryWrite::NewStub(grpc::CreateChannel(
            absl::StrCat("127.0.0.1:", grpc_port_), grpc::InsecureChannelCredentials()));
        storage::CreateWriteStreamRequest create;
        create.set_parent("projects/p/datasets/d/tables/t");
        create.mutable_write_stream()->set_type(storage::WriteStream::COMMITTED);
        storage::WriteStream stream;
        grpc::ClientContext create_context;
        if (!stub->CreateWriteStream(&create_context, create, &stream).ok()) Fail("no stream");
        grpc::ClientContext context;
        auto call = stub->AppendRows(&context);
        std::thread reader([&] {
          storage::AppendRowsResponse response;
          for (size_t i = 0; i < own.size(); ++i) {
            if (!call->Read(&response) || response.has_error()) Fail(response.error().message());
          }
        });
        own[0].set_write_stream(stream.name());
        for (const auto& request : own) {
          if (!call->Write(request)) Fail("the call broke");
        }
        call->WritesDone();
        reader.join();
        call->Finish();
      });
    }
    for (auto& thread : threads) thread.join();
    return Seconds() - start;
  }

  double InsertAll() {
    std::vector<std::vector<std::string>> bodies(static_cast<size_t>(flags_.connections));
    int64_t id = 0;
    for (auto& own : bodies) {
      for (int64_t left = flags_.rows / flags_.connections; left > 0; left -= flags_.batch) {
        std::string body = R"({"rows":[)";
        for (int64_t i = 0; i < std::min(left, flags_.batch); ++i, ++id) {
          absl::StrAppend(&body, i ? "," : "", R"({"insertId":")", id, R"(","json":{"id":)", id,
                          R"(,"store":"store-)", id % 1000,
                          R"(","ts":"2024-01-02T03:04:05.678Z","amount":)", id % 977,
                          R"(.5,"quantity":)", id % 17, R"(,"note":")", kNote, R"("}})");
        }
        own.push_back(body + "]}");
      }
    }
    const double start = Seconds();
    std::vector<std::thread> threads;
    for (const auto& own : bodies) {
      threads.emplace_back([&] {
        httplib::Client client("127.0.0.1", http_.port());
        client.set_keep_alive(true);
        client.set_tcp_nodelay(true);
        for (const std::string& body : own) {
          const auto result =
              client.Post("/projects/p/datasets/d/tables/t/insertAll", body, "application/json");
          if (!result || result->body.find("insertErrors") != std::string::npos)
            Fail("insertAll failed");
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return Seconds() - start;
  }

  double Query() {
    Post("/projects/p/queries", R"({"query":"SELECT 1"})");  // starts Python
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = Seconds();
      Post("/projects/p/queries",
           R"({"query":"SELECT store, COUNT(*) AS n, SUM(amount) AS s FROM d.t GROUP BY store",)"
           R"("timeoutMs":100000})");
      best = std::min(best, Seconds() - start);
    }
    return best;
  }

  void Stop() { service_->Shutdown(); }

 private:
  const Flags flags_;
  std::unique_ptr<BigQueryService> service_;
  std::unique_ptr<grpc::Server> grpc_server_;
  HttpServer http_;
  int grpc_port_ = 0;
};

double DirectQuery(const std::string& data_dir) {
  auto database = Database::Open(data_dir + "/bigquery.duckdb", Database::Options());
  if (!database.ok()) Fail(database.status().message());
  auto connection = (*database)->Connect();
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = Seconds();
    auto result =
        (*connection)->Query(R"(SELECT store, COUNT(*), SUM(amount) FROM "p.d".t GROUP BY store)");
    if (!result.ok()) Fail(result.status().message());
    best = std::min(best, Seconds() - start);
  }
  return best;
}

double Appender(const Flags& flags) {
  std::filesystem::remove_all(flags.data_dir);
  std::filesystem::create_directories(flags.data_dir);
  auto database = Database::Open(flags.data_dir + "/bigquery.duckdb", Database::Options());
  auto connection = *(*database)->Connect();
  connection
      ->Run(
          "CREATE TABLE t (id BIGINT, store VARCHAR, ts TIMESTAMPTZ, amount DOUBLE, quantity "
          "BIGINT, note VARCHAR)")
      .IgnoreError();
  const double start = Seconds();
  duckdb_appender appender;
  duckdb_appender_create(connection->get(), nullptr, "t", &appender);
  for (int64_t id = 0; id < flags.rows; ++id) {
    const std::string store = absl::StrCat("store-", id % 1000);
    duckdb_append_int64(appender, id);
    duckdb_append_varchar_length(appender, store.data(), store.size());
    duckdb_append_timestamp(appender, {1'700'000'000'000'000 + id});
    duckdb_append_double(appender, static_cast<double>(id % 977) / 7);
    duckdb_append_int64(appender, id % 17);
    duckdb_append_varchar_length(appender, kNote, sizeof kNote - 1);
    duckdb_appender_end_row(appender);
  }
  duckdb_appender_close(appender);
  duckdb_appender_destroy(&appender);
  return Seconds() - start;
}

int Run(int argc, char** argv) {
  Flags flags;
  if (argc < 2) Fail("say write, insertall, query or appender");
  flags.mode = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    int64_t number = 0;
    if (flag == "--data-dir") {
      flags.data_dir = argv[i + 1];
    } else if (!absl::SimpleAtoi(argv[i + 1], &number) || number <= 0) {
      Fail(flag + " needs a positive number");
    } else if (flag == "--rows") {
      flags.rows = number;
    } else if (flag == "--batch") {
      flags.batch = number;
    } else if (flag == "--connections") {
      flags.connections = number;
    } else {
      Fail("unknown flag " + flag);
    }
  }
  if (flags.data_dir.empty()) Fail("--data-dir is missing");
  json line = {{"mode", flags.mode},
               {"rows", flags.rows},
               {"batch", flags.batch},
               {"connections", flags.connections}};
  double seconds = 0;
  if (flags.mode == "appender") {
    seconds = Appender(flags);
  } else {
    Bench bench(flags);
    seconds = flags.mode == "insertall" ? bench.InsertAll() : bench.Write();
    if (const int64_t count = bench.RowCount();
        count != flags.rows / flags.connections * flags.connections) {
      Fail(absl::StrCat("the table has ", count, " rows"));
    }
    if (flags.mode == "query") line["query_seconds"] = bench.Query();
    bench.Stop();
  }
  if (flags.mode == "query") line["direct_seconds"] = DirectQuery(flags.data_dir);
  line["seconds"] = seconds;
  line["rows_per_s"] = static_cast<int64_t>(static_cast<double>(flags.rows) / seconds);
  line["peak_rss_mb"] = PeakMb();
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace hornbeam::services::bigquery

int main(int argc, char** argv) { return hornbeam::services::bigquery::Run(argc, argv); }
