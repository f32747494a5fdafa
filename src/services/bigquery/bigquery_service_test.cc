// The whole service in this process, by its own wires.
#include "services/bigquery/bigquery_service.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "google/cloud/bigquery/storage/v1/storage.grpc.pb.h"
#include "google/rpc/status.pb.h"

namespace hornbeam::services::bigquery {
namespace {

namespace storage = google::cloud::bigquery::storage::v1;
using google::protobuf::FieldDescriptorProto;
using nlohmann::json;
using testing::HasSubstr;

class BigQueryServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = (std::filesystem::temp_directory_path() /
            absl::StrCat("bigquery_test_", getpid(), "_", info->name()))
               .string();
    std::filesystem::remove_all(dir_);
    Start();
  }
  void TearDown() override {
    Stop();
    std::filesystem::remove_all(dir_);
  }

  void Start() {
    auto opened = BigQueryService::Open({.data_dir = dir_, .clock = &clock_});
    ASSERT_TRUE(opened.ok()) << opened.status();
    service_ = *std::move(opened);
    http_ = std::make_unique<HttpServer>();
    service_->RegisterRoutes(http_.get());
    ASSERT_TRUE(http_->Start(0).ok());
    grpc::ServerBuilder builder;
    for (grpc::Service* each : service_->GrpcServices()) builder.RegisterService(each);
    grpc_server_ = builder.BuildAndStart();
    stub_ = storage::BigQueryWrite::NewStub(grpc_server_->InProcessChannel({}));
  }
  void Stop() {
    stub_.reset();
    grpc_server_->Shutdown();
    http_.reset();
    service_.reset();
  }

  json Call(const char* method, const std::string& path, const json& body = nullptr) {
    httplib::Client client("127.0.0.1", http_->port());
    httplib::Request request;
    request.method = method;
    request.path = "/bigquery/v2" + path;
    for (const auto& [name, value] : headers_) request.headers.emplace(name, value);
    if (!body.is_null()) request.body = body.dump();
    const auto result = client.send(request);
    if (!result) return "no answer";
    code_ = result->status;
    return result->body.empty() ? json() : json::parse(result->body);
  }
  // The rows of a query, as "a|b" each; or "reason: message".
  std::vector<std::string> Query(const std::string& sql, const json& more = json::object()) {
    json body = {{"query", sql}, {"useLegacySql", false}, {"defaultDataset", {{"datasetId", "d"}}}};
    body.update(more);
    const json answer = Call("POST", "/projects/p/queries", body);
    if (answer.contains("error")) {
      return {absl::StrCat(answer["error"]["errors"][0]["reason"].get<std::string>(), ": ",
                           answer["error"]["message"].get<std::string>())};
    }
    std::vector<std::string> rows;
    for (const json& row : answer.value("rows", json::array())) {
      std::string text;
      for (const json& cell : row["f"]) {
        absl::StrAppend(&text, text.empty() ? "" : "|",
                        cell["v"].is_string() ? cell["v"].get<std::string>() : cell["v"].dump());
      }
      rows.push_back(text);
    }
    return rows;
  }
  void MakeTable(const char* schema = R"({"fields":[{"name":"id","type":"INT64","mode":"REQUIRED"},
                                                     {"name":"s","type":"STRING"}]})") {
    Call("POST", "/projects/p/datasets", {{"datasetReference", {{"datasetId", "d"}}}});
    Call("POST", "/projects/p/datasets/d/tables",
         {{"tableReference", {{"tableId", "t"}}}, {"schema", json::parse(schema)}});
    ASSERT_EQ(code_, 200);
  }

  static google::protobuf::DescriptorProto Descriptor() {
    google::protobuf::DescriptorProto made;
    made.set_name("Row");
    AddField(&made, "id", 1, FieldDescriptorProto::TYPE_INT64);
    AddField(&made, "s", 2, FieldDescriptorProto::TYPE_STRING);
    return made;
  }
  static FieldDescriptorProto* AddField(google::protobuf::DescriptorProto* message,
                                        const char* name, int number,
                                        FieldDescriptorProto::Type type) {
    auto* field = message->add_field();
    field->set_name(name);
    field->set_number(number);
    field->set_type(type);
    field->set_label(FieldDescriptorProto::LABEL_OPTIONAL);
    return field;
  }
  static std::string Row(int64_t id, const std::string& s) {
    std::string out = "\x08";
    PutVarint(&out, static_cast<uint64_t>(id));
    out += "\x12";
    PutBytes(&out, s);
    return out;
  }
  std::string CreateStream() {
    storage::CreateWriteStreamRequest request;
    request.set_parent("projects/p/datasets/d/tables/t");
    request.mutable_write_stream()->set_type(storage::WriteStream::COMMITTED);
    storage::WriteStream stream;
    grpc::ClientContext context;
    const grpc::Status status = stub_->CreateWriteStream(&context, request, &stream);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return stream.name();
  }
  static storage::AppendRowsRequest Append(const std::string& stream, std::vector<std::string> rows,
                                           int64_t offset = -1, bool schema = true) {
    storage::AppendRowsRequest request;
    request.set_write_stream(stream);
    if (offset >= 0) request.mutable_offset()->set_value(offset);
    auto* data = request.mutable_proto_rows();
    if (schema) *data->mutable_writer_schema()->mutable_proto_descriptor() = Descriptor();
    for (auto& row : rows) data->mutable_rows()->add_serialized_rows(std::move(row));
    return request;
  }
  // All requests on one connection, then all answers.
  std::vector<storage::AppendRowsResponse> AppendAll(
      const std::vector<storage::AppendRowsRequest>& requests) {
    grpc::ClientContext context;
    auto call = stub_->AppendRows(&context);
    for (const auto& request : requests) call->Write(request);
    call->WritesDone();
    std::vector<storage::AppendRowsResponse> responses;
    storage::AppendRowsResponse response;
    while (call->Read(&response)) responses.push_back(response);
    end_ = call->Finish();
    return responses;
  }
  static storage::StorageError Detail(const storage::AppendRowsResponse& response) {
    storage::StorageError detail;
    if (response.error().details_size() == 1) response.error().details(0).UnpackTo(&detail);
    return detail;
  }

  ManualClock clock_{1'700'000'000'000'000};
  std::string dir_;
  std::unique_ptr<BigQueryService> service_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<grpc::Server> grpc_server_;
  std::unique_ptr<storage::BigQueryWrite::Stub> stub_;
  std::map<std::string, std::string> headers_;
  int code_ = 0;
  grpc::Status end_;
};

TEST_F(BigQueryServiceTest, DatasetsAndTheirErrors) {
  json made = Call(
      "POST", "/projects/p/datasets",
      {{"datasetReference", {{"datasetId", "d"}}}, {"description", "x"}, {"labels", {{"a", "b"}}}});
  EXPECT_EQ(made["id"], "p:d");
  EXPECT_EQ(made["labels"]["a"], "b");
  json again = Call("POST", "/projects/p/datasets", {{"datasetReference", {{"datasetId", "d"}}}});
  EXPECT_EQ(code_, 409);
  EXPECT_EQ(again["error"]["errors"][0]["reason"], "duplicate");
  EXPECT_EQ(again["error"]["message"], "Already Exists: Dataset p:d");
  EXPECT_EQ(Call("GET", "/projects/p/datasets/nope")["error"]["message"],
            "Not found: Dataset p:nope");
  EXPECT_EQ(code_, 404);
  EXPECT_EQ(Call("PATCH", "/projects/p/datasets/d", {{"description", "y"}})["labels"]["a"], "b");
  headers_["If-Match"] = made["etag"];
  Call("PATCH", "/projects/p/datasets/d", {{"description", "z"}});
  EXPECT_EQ(code_, 412);
  headers_.clear();
  EXPECT_EQ(Call("GET", "/projects/p/datasets")["datasets"].size(), 1u);
  EXPECT_EQ(Call("GET", "/projects/q/datasets")["datasets"].size(), 0u);
  MakeTable();
  EXPECT_EQ(Call("DELETE", "/projects/p/datasets/d")["error"]["errors"][0]["reason"],
            "resourceInUse");
  Call("DELETE", "/projects/p/datasets/d?deleteContents=true");
  EXPECT_EQ(code_, 204);
}

TEST_F(BigQueryServiceTest, NamesDifferByCaseAlone) {
  MakeTable();
  Query("CREATE TABLE d.T AS SELECT 7 AS x");
  EXPECT_THAT(Query("SELECT x FROM d.T"), testing::ElementsAre("7"));
  EXPECT_THAT(Query("SELECT id FROM d.t"), testing::IsEmpty());
}

TEST_F(BigQueryServiceTest, InsertAllRefusesOrSkipsBadRows) {
  MakeTable();
  const std::string path = "/projects/p/datasets/d/tables/t/insertAll";
  const json rows = {{{"insertId", "1"}, {"json", {{"id", 1}, {"s", "a"}}}},
                     {{"json", {{"id", "two"}}}},
                     {{"json", {{"id", 3}, {"nope", 1}}}}};
  json answer = Call("POST", path, {{"rows", rows}});
  ASSERT_EQ(answer["insertErrors"].size(), 3u);
  EXPECT_EQ(answer["insertErrors"][0]["errors"][0]["reason"], "stopped");
  EXPECT_EQ(answer["insertErrors"][1]["errors"][0]["location"], "id");
  EXPECT_EQ(answer["insertErrors"][2]["errors"][0]["message"], "no such field: nope.");
  EXPECT_THAT(Query("SELECT COUNT(*) FROM t"), testing::ElementsAre("0"));
  answer = Call("POST", path,
                {{"rows", rows}, {"skipInvalidRows", true}, {"ignoreUnknownValues", true}});
  ASSERT_EQ(answer["insertErrors"].size(), 1u);
  EXPECT_EQ(answer["insertErrors"][0]["index"], 1);
  EXPECT_THAT(Query("SELECT id, s FROM t ORDER BY id"), testing::ElementsAre("1|a", "3|null"));
  // The same insertId within the minute is the same row.
  Call("POST", path, {{"rows", json::array({rows[0]})}});
  EXPECT_THAT(Query("SELECT COUNT(*) FROM t"), testing::ElementsAre("2"));
  clock_.AdvanceMicros(200'000'000);
  Call("POST", path, {{"rows", json::array({rows[0]})}});
  EXPECT_THAT(Query("SELECT COUNT(*) FROM t"), testing::ElementsAre("3"));
}

TEST_F(BigQueryServiceTest, EveryTypeComesBackAsItWent) {
  MakeTable(
      R"({"fields":[{"name":"b","type":"BYTES"},{"name":"f","type":"FLOAT64"},{"name":"o","type":"BOOL"},
    {"name":"n","type":"NUMERIC"},{"name":"g","type":"BIGNUMERIC"},{"name":"ts","type":"TIMESTAMP"},{"name":"da","type":"DATE"},
    {"name":"ti","type":"TIME"},{"name":"dt","type":"DATETIME"},{"name":"j","type":"JSON"},
    {"name":"l","type":"INT64","mode":"REPEATED"},
    {"name":"r","type":"RECORD","mode":"REPEATED","fields":[{"name":"x","type":"STRING"},{"name":"ys","type":"INT64","mode":"REPEATED"}]}]})");
  const json row = {{"b", "AQI="},
                    {"f", 0.1},
                    {"o", true},
                    {"n", "1.000000001"},
                    {"g", "2.5"},
                    {"ts", "2024-02-29T12:00:00.000001Z"},
                    {"da", "2024-02-29"},
                    {"ti", "01:02:03.5"},
                    {"dt", "2024-02-29 01:02:03"},
                    {"j", {{"k", {1, nullptr}}}},
                    {"l", {1, 2, 3}},
                    {"r", {{{"x", "a string longer than twelve"}, {"ys", {7}}}, {{"ys", {8, 9}}}}}};
  Call("POST", "/projects/p/datasets/d/tables/t/insertAll",
       {{"rows", {{{"json", row}}, {{"json", json::object()}}}}});
  const json list =
      Call("GET", "/projects/p/datasets/d/tables/t/data?formatOptions.useInt64Timestamp=true");
  const json& f = list["rows"][0]["f"];
  EXPECT_EQ(f[0]["v"], "AQI=");
  EXPECT_EQ(f[1]["v"], "0.1");
  EXPECT_EQ(f[2]["v"], "true");
  EXPECT_EQ(f[3]["v"], "1.000000001");
  EXPECT_EQ(f[4]["v"], "2.5");
  EXPECT_EQ(f[5]["v"], "1709208000000001");
  EXPECT_EQ(f[6]["v"], "2024-02-29");
  EXPECT_EQ(f[7]["v"], "01:02:03.500000");
  EXPECT_EQ(f[8]["v"], "2024-02-29T01:02:03");
  EXPECT_EQ(f[9]["v"], R"({"k":[1,null]})");
  EXPECT_EQ(f[10]["v"].size(), 3u);
  EXPECT_EQ(f[11]["v"][0]["v"]["f"][0]["v"], "a string longer than twelve");
  EXPECT_EQ(f[11]["v"][1]["v"]["f"][0]["v"], json());
  EXPECT_EQ(f[11]["v"][1]["v"]["f"][1]["v"][1]["v"], "9");
  EXPECT_EQ(list["rows"][1]["f"][0]["v"], json());
  EXPECT_EQ(list["rows"][1]["f"][10]["v"], json::array());
  EXPECT_EQ(list["totalRows"], "2");
}

TEST_F(BigQueryServiceTest, ListsInPages) {
  MakeTable();
  Query("INSERT INTO t (id) SELECT x FROM UNNEST(GENERATE_ARRAY(1, 5000)) AS x");
  int64_t rows = 0, pages = 0;
  std::string token;
  do {
    const json page =
        Call("GET", "/projects/p/datasets/d/tables/t/data?maxResults=1500&selectedFields=id" +
                        (token.empty() ? "" : "&pageToken=" + token));
    rows += static_cast<int64_t>(page["rows"].size());
    token = page.value("pageToken", "");
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(rows, 5000);
  EXPECT_EQ(pages, 4);
  EXPECT_EQ(Call("GET", "/projects/p/datasets/d/tables/t")["numRows"], "5000");
}

TEST_F(BigQueryServiceTest, SchemaGrowsByPatch) {
  MakeTable();
  Query("INSERT INTO t VALUES (1, 'a')");
  const json schema =
      json::parse(R"({"fields":[{"name":"id","type":"INTEGER"},{"name":"s","type":"STRING"},
                                      {"name":"l","type":"STRING","mode":"REPEATED"}]})");
  Call("PATCH", "/projects/p/datasets/d/tables/t", {{"schema", schema}});
  EXPECT_EQ(code_, 200);
  EXPECT_THAT(Query("SELECT id, l FROM t"), testing::ElementsAre("1|[]"));
  const json refused =
      Call("PATCH", "/projects/p/datasets/d/tables/t",
           {{"schema", json::parse(R"({"fields":[{"name":"id","type":"STRING"}]})")}});
  EXPECT_EQ(code_, 400);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("changed type"));
}

TEST_F(BigQueryServiceTest, QueriesMeanWhatBigQueryMeans) {
  MakeTable();
  EXPECT_THAT(Query("SELECT 1 / 2, DIV(7, 2), SAFE_DIVIDE(1, 0), 2147483647 + 1"),
              testing::ElementsAre("0.5|3|null|2147483648"));
  EXPECT_THAT(Query("SELECT x, o FROM UNNEST(['a', 'b']) AS x WITH OFFSET AS o ORDER BY o DESC"),
              testing::ElementsAre("b|1", "a|0"));
  EXPECT_THAT(Query("SELECT EXTRACT(DAYOFWEEK FROM DATE '2024-01-07'), EXTRACT(MILLISECOND FROM "
                    "TIMESTAMP '2024-01-01 00:00:05.25Z')"),
              testing::ElementsAre("1|250"));
  EXPECT_THAT(Query("SELECT DATE_DIFF(DATE '2024-01-03', DATE '2024-01-01', DAY)"),
              testing::ElementsAre("2"));
  EXPECT_THAT(Query("WITH t AS (SELECT 5 AS x) SELECT x FROM t"), testing::ElementsAre("5"));
  EXPECT_THAT(Query("SELECT v FROM UNNEST([3, NULL, 1]) AS v ORDER BY v"),
              testing::ElementsAre("null", "1", "3"));
  EXPECT_THAT(Query("SELECT TO_JSON_STRING(STRUCT(1 AS a))"), testing::ElementsAre(R"({"a":1})"));
  EXPECT_THAT(Query("SELECT @a + 1, @b", {{"queryParameters", json::parse(R"([
                {"name":"a","parameterType":{"type":"INT64"},"parameterValue":{"value":"41"}},
                {"name":"b","parameterType":{"type":"STRING"},"parameterValue":{"value":"it's"}}])")}}),
              testing::ElementsAre("42|it's"));
}

TEST_F(BigQueryServiceTest, QueriesFailAsBigQueryFails) {
  MakeTable();
  EXPECT_THAT(
      Query("SELECT * FROM nope"),
      testing::ElementsAre("notFound: Not found: Table p:d.nope was not found in location US"));
  EXPECT_THAT(Query("SELECT nope FROM t"),
              testing::ElementsAre("invalidQuery: Unrecognized name: nope"));
  EXPECT_THAT(Query("SELECT FROM WHERE")[0], HasSubstr("invalidQuery: Syntax error"));
  EXPECT_THAT(Query("SELECT 1 / 0")[0], HasSubstr("invalidQuery: division by zero"));
  EXPECT_THAT(Query("SELECT READ_TEXT('/etc/passwd')")[0], HasSubstr("Function not found"));
  EXPECT_THAT(Query("SELECT * FROM hornbeam.tables")[0], HasSubstr("notFound"));
  EXPECT_THAT(Query("DELETE FROM t")[0], HasSubstr("must have a WHERE clause"));
  EXPECT_THAT(Query("INSERT INTO t (s) VALUES ('x')")[0], HasSubstr("invalidQuery"));
  EXPECT_EQ(code_, 400);
}

TEST_F(BigQueryServiceTest, DmlAndMerge) {
  MakeTable();
  Query("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
  Query("UPDATE t SET s = 'c' WHERE id = 2");
  Query(
      "MERGE t USING (SELECT 2 AS id, 'd' AS s UNION ALL SELECT 3, 'e') AS n ON t.id = n.id "
      "WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.id, "
      "n.s)");
  EXPECT_THAT(Query("SELECT id, s FROM t ORDER BY id"), testing::ElementsAre("1|a", "2|d", "3|e"));
}

TEST_F(BigQueryServiceTest, OffsetsAreExact) {
  MakeTable();
  const std::string stream = CreateStream();
  const auto answers = AppendAll(
      {Append(stream, {Row(0, "a"), Row(1, "b")}, 0), Append(stream, {Row(2, "c")}, 2, false),
       Append(stream, {Row(2, "c")}, 2, false), Append(stream, {Row(9, "z")}, 9, false),
       Append(stream, {Row(3, "d"), "\x12\x01x"}, 3, false),
       Append(stream, {Row(3, "d")}, 3, false)});
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_TRUE(end_.ok());
  EXPECT_EQ(answers[0].append_result().offset().value(), 0);
  EXPECT_EQ(answers[1].append_result().offset().value(), 2);
  EXPECT_EQ(answers[2].error().code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Detail(answers[2]).code(), storage::StorageError::OFFSET_ALREADY_EXISTS);
  EXPECT_EQ(answers[3].error().code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Detail(answers[3]).code(), storage::StorageError::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(answers[4].error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_EQ(answers[4].row_errors_size(), 1);
  EXPECT_EQ(answers[4].row_errors(0).index(), 1);
  EXPECT_THAT(answers[4].row_errors(0).message(), HasSubstr("id is required"));
  EXPECT_EQ(answers[5].append_result().offset().value(), 3);

  Stop();
  Start();
  const auto after =
      AppendAll({Append(stream, {Row(3, "d")}, 3), Append(stream, {Row(4, "e")}, 4, false)});
  EXPECT_EQ(Detail(after[0]).code(), storage::StorageError::OFFSET_ALREADY_EXISTS);
  EXPECT_EQ(after[1].append_result().offset().value(), 4);
  storage::FinalizeWriteStreamRequest finalize;
  finalize.set_name(stream);
  storage::FinalizeWriteStreamResponse finalized;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->FinalizeWriteStream(&context, finalize, &finalized).ok());
  EXPECT_EQ(finalized.row_count(), 5);
  EXPECT_EQ(Detail(AppendAll({Append(stream, {Row(5, "f")}, 5)})[0]).code(),
            storage::StorageError::STREAM_FINALIZED);
  EXPECT_THAT(Query("SELECT STRING_AGG(s, '' ORDER BY id) FROM t"), testing::ElementsAre("abcde"));
}

TEST_F(BigQueryServiceTest, ANegativeOffsetIsNotOneThatExists) {
  MakeTable();
  auto request = Append(CreateStream(), {Row(0, "a")});
  request.mutable_offset()->set_value(-1);
  EXPECT_TRUE(AppendAll({request}).empty());
  EXPECT_EQ(end_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Query("SELECT COUNT(*) FROM t"), testing::ElementsAre("0"));
}

TEST_F(BigQueryServiceTest, ErrorsOfLongNamesFitIntoHeaders) {
  MakeTable();
  const std::string table = "projects/p/datasets/d/tables/" + std::string(1'000'000, 'x');
  EXPECT_TRUE(AppendAll({Append(table + "/_default", {Row(0, "a")})}).empty());
  EXPECT_EQ(end_.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_LT(end_.error_message().size() + end_.error_details().size(), 7000u);
}

TEST_F(BigQueryServiceTest, TheDefaultStreamServesManyTables) {
  MakeTable();
  Query("CREATE TABLE u (id INT64, s STRING)");
  const auto answers = AppendAll(
      {Append("projects/p/datasets/d/tables/t/_default", {Row(1, "a")}),
       Append("projects/p/datasets/d/tables/u/_default", {Row(2, "b")}),
       Append("projects/p/datasets/d/tables/t/streams/_default", {Row(3, "c")}, -1, false)});
  ASSERT_EQ(answers.size(), 3u) << end_.error_message();
  EXPECT_FALSE(answers[0].append_result().has_offset());
  EXPECT_THAT(Query("SELECT id FROM t ORDER BY id"), testing::ElementsAre("1", "3"));
  EXPECT_THAT(Query("SELECT id FROM u"), testing::ElementsAre("2"));
  EXPECT_TRUE(
      AppendAll({Append("projects/p/datasets/d/tables/nope/_default", {Row(1, "a")})}).empty());
  EXPECT_EQ(end_.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(BigQueryServiceTest, SchemasThatDoNotMatchAreRefused) {
  MakeTable();
  storage::AppendRowsRequest request =
      Append("projects/p/datasets/d/tables/t/_default", {Row(1, "a")});
  AddField(request.mutable_proto_rows()->mutable_writer_schema()->mutable_proto_descriptor(),
           "more", 3, FieldDescriptorProto::TYPE_INT64);
  const auto extra = AppendAll({request});
  ASSERT_EQ(extra.size(), 1u);
  EXPECT_EQ(Detail(extra[0]).code(), storage::StorageError::SCHEMA_MISMATCH_EXTRA_FIELDS);
  request = Append("projects/p/datasets/d/tables/t/_default", {});
  request.mutable_proto_rows()
      ->mutable_writer_schema()
      ->mutable_proto_descriptor()
      ->mutable_field(0)
      ->set_type(FieldDescriptorProto::TYPE_STRING);
  EXPECT_THAT(AppendAll({request})[0].error().message(),
              HasSubstr("does not fit the column type INT64"));
}

TEST_F(BigQueryServiceTest, AConnectionLearnsOfANewColumn) {
  MakeTable();
  grpc::ClientContext context;
  auto call = stub_->AppendRows(&context);
  storage::AppendRowsResponse response;
  call->Write(Append("projects/p/datasets/d/tables/t/_default", {Row(1, "a")}));
  ASSERT_TRUE(call->Read(&response));
  EXPECT_FALSE(response.has_updated_schema());
  Query("ALTER TABLE t ADD COLUMN more STRING");
  call->Write(Append("projects/p/datasets/d/tables/t/_default", {Row(2, "b")}, -1, false));
  ASSERT_TRUE(call->Read(&response));
  EXPECT_TRUE(response.has_append_result());
  EXPECT_EQ(response.updated_schema().fields_size(), 3);
  call->WritesDone();
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_THAT(Query("SELECT id, more FROM t ORDER BY id"),
              testing::ElementsAre("1|null", "2|null"));
}

TEST_F(BigQueryServiceTest, BodiesNestedWithoutEndAreRefused) {
  MakeTable();
  std::string deep(200'000, '[');
  deep.append(200'000, ']');
  httplib::Client client("127.0.0.1", http_->port());
  const auto post = [&](const std::string& path, const std::string& body) {
    return client.Post("/bigquery/v2/projects/p" + path, body, "application/json");
  };
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/datasets", R"({"datasetReference":{"datasetId":"e"},"labels":)" + deep + "}"},
           {"/queries", R"({"query":"SELECT 1","queryParameters":)" + deep + "}"},
           {"/jobs", R"({"configuration":{"query":{"query":"SELECT 1"},"labels":)" + deep + "}}"},
           {"/datasets/d/tables/t/insertAll", R"({"rows":[{"json":)" + deep + "}]}"}}) {
    const auto answer = post(path, body);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 400) << path;
    EXPECT_THAT(answer->body, HasSubstr("parseError")) << path;
  }
  // Brackets within strings nest nothing.
  const auto text = post("/queries", R"({"query":"SELECT ')" + std::string(1000, '[') + "\\\"'\"}");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->status, 200) << text->body;
}

TEST_F(BigQueryServiceTest, PagesAsLargeAsNumbersGo) {
  for (const char* id : {"a", "b", "c"})
    Call("POST", "/projects/p/datasets", {{"datasetReference", {{"datasetId", id}}}});
  const std::string most = "maxResults=9223372036854775807&pageToken=";
  json page = Call("GET", "/projects/p/datasets?" + most + "1");
  EXPECT_EQ(page["datasets"].size(), 2u);
  EXPECT_FALSE(page.contains("nextPageToken"));
  page = Call("GET", "/projects/p/datasets?" + most + "9223372036854775807");
  EXPECT_EQ(page["datasets"].size(), 0u);
  EXPECT_FALSE(page.contains("nextPageToken"));
  Call("GET", "/projects/p/datasets?maxResults=-1");
  EXPECT_EQ(code_, 400);
  for (const json& bad : {json(-1), json(1e300), json("x"), json::array()})
    EXPECT_THAT(Query("SELECT 1", {{"maxResults", bad}})[0], HasSubstr("invalid: Invalid value"));
  EXPECT_THAT(Query("SELECT 1", {{"maxResults", "5"}, {"timeoutMs", "60000"}}),
              testing::ElementsAre("1"));
}

TEST_F(BigQueryServiceTest, AQueryWithTheCharacterZeroIsRefused) {
  EXPECT_THAT(Query("SELECT 1 AS x, 'a\\x00b' AS y")[0],
              HasSubstr("invalidQuery: The query holds"));
  EXPECT_THAT(Query("SELECT 'a\\\\x00b'"), testing::ElementsAre("a\\x00b"));
}

TEST_F(BigQueryServiceTest, ASchemaThatRepeatsAColumnIsRefused) {
  MakeTable();
  // Messages of themselves, with many fields of one name: to plan each would take for ever.
  json fields = json::array({{{"name", "r"}, {"type", "STRING"}}});
  for (int level = 1; level < 15; ++level)
    fields = json::array({{{"name", "r"}, {"type", "RECORD"}, {"fields", fields}}});
  Call("POST", "/projects/p/datasets/d/tables",
       {{"tableReference", {{"tableId", "deep"}}}, {"schema", {{"fields", fields}}}});
  ASSERT_EQ(code_, 200);
  storage::AppendRowsRequest request;
  request.set_write_stream("projects/p/datasets/d/tables/deep/_default");
  auto* message = request.mutable_proto_rows()->mutable_writer_schema()->mutable_proto_descriptor();
  message->set_name("Row");
  for (int i = 1; i <= 30; ++i)
    AddField(message, "r", i, FieldDescriptorProto::TYPE_MESSAGE)->set_type_name("Row");
  const auto answers = AppendAll({request});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].error().code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(BigQueryServiceTest, ASecondProcessAndADamagedFileAreNamed) {
  const pid_t child = fork();
  if (child == 0) {
    const auto second = BigQueryService::Open({.data_dir = dir_});
    _exit(second.status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);

  const std::string other = dir_ + "_damaged";
  std::filesystem::create_directories(other);
  std::ofstream(other + "/bigquery.duckdb")
      << "this is no database, and long enough to be read as one";
  const auto damaged = BigQueryService::Open({.data_dir = other});
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.status().message()), HasSubstr(other + "/bigquery.duckdb"));
  std::filesystem::remove_all(other);

  // Cut off behind its header: DuckDB opens it, and finds out when it reads.
  MakeTable();
  Stop();
  const std::string file = dir_ + "/bigquery.duckdb";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto cut = BigQueryService::Open({.data_dir = dir_});
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr("restore it from a copy"));
  std::filesystem::remove(file);
  Start();
}

}  // namespace
}  // namespace hornbeam::services::bigquery
