#include "connectors/bigquery/storage_write_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/http_server.h"
#include "base/rng.h"
#include "connectors/bigquery/fake_bigquery_write.h"
#include "connectors/bigquery/row_descriptor.h"
#include "connectors/bigquery/table_check.h"
#include "connectors/bigquery/table_creator.h"
#include "hornbeam/io/failed_row.h"

namespace hornbeam::connectors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Fault = FakeBigQueryWrite::Fault;

io::TableSchema Schema() { return {{{"v", io::ColumnType::kString, io::ColumnMode::kRequired}}}; }

storage::TableSchema WireSchema() {
  storage::TableSchema schema;
  auto* const field = schema.add_fields();
  field->set_name("v");
  field->set_type(storage::TableFieldSchema::STRING);
  field->set_mode(storage::TableFieldSchema::REQUIRED);
  return schema;
}

// What a delivery's journal keeps. What is saved is on disk for good, and answers with it; of what
// is only remembered, with the deliveries confirmed since, a crash forgets as much as the test
// says.
class FakeJournal final : public engine::SinkJournal {
 public:
  Status Save(std::string_view state) override {
    state_.assign(state);
    notes_ = {{confirmed_, state_}};
    ++saves_;
    for (std::string& answer : given_) durable_.push_back(std::move(answer));
    given_.clear();
    return absl::OkStatus();
  }
  void Remember(std::string_view state) override { state_.assign(state); }
  void Answer(std::string encoded) override { given_.push_back(std::move(encoded)); }
  void Confirm() { notes_.emplace_back(++confirmed_, state_); }
  void Crash(size_t forget) {
    while (forget-- > 0 && notes_.size() > 1) notes_.pop_back();
    std::tie(confirmed_, state_) = notes_.back();
    given_.clear();
  }
  // How many deliveries are known to be confirmed.
  size_t confirmed() const { return confirmed_; }

  const std::string& state() const { return state_; }
  int saves() const { return saves_; }
  std::vector<io::FailedRow> Failed() const {
    std::vector<io::FailedRow> failed;
    for (const std::string& encoded : durable_) {
      ByteReader in(encoded);
      EXPECT_TRUE(model::Coder<io::FailedRow>::Decode(in, &failed.emplace_back()));
    }
    return failed;
  }

 private:
  std::string state_;
  std::vector<std::string> given_;
  std::vector<std::string> durable_;
  std::vector<std::pair<size_t, std::string>> notes_ = {{0, ""}};
  size_t confirmed_ = 0;
  int saves_ = 0;
};

class StorageWriteSinkTest : public testing::Test {
 protected:
  StorageWriteSinkTest() : layout_(*io::RowLayout::Make(Schema())) {
    fake_.SetSchema(WireSchema());
    options_.write.table = "p.d.t";
    options_.write.schema = Schema();
    options_.write.grpc_endpoint = fake_.endpoint();
    options_.write.create_disposition = io::CreateDisposition::kCreateNever;
    options_.job = "job";
  }

  Status TryOpen() {
    sink_ = std::make_unique<StorageWriteSink>(options_, layout_);
    return sink_->Open(&journal_, journal_.state());
  }
  void Open() {
    const Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status;
  }
  // The process dies and comes up again with what was saved.
  void Restart(size_t forget = SIZE_MAX) {
    journal_.Crash(forget);
    Open();
  }
  std::string Row(const std::string& value) const {
    std::string row;
    io::RowWriter writer(layout_.get(), &row);
    writer.Set("v", value);
    return row;
  }
  Status Deliver(engine::EpochId epoch, const std::vector<std::string>& values,
                 uint32_t shard = 0) {
    std::vector<std::string> rows;
    for (const std::string& value : values) rows.push_back(Row(value));
    const std::vector<std::string_view> views(rows.begin(), rows.end());
    const Status status = sink_->Deliver({epoch, shard, views});
    if (status.ok()) journal_.Confirm();
    return status;
  }
  std::vector<std::string> Values() {
    std::vector<std::string> values;
    for (const std::string& row : fake_.Rows()) {
      values.push_back(row == "intruder" ? row : row.substr(2));
    }
    return values;
  }

  FakeBigQueryWrite fake_;
  FakeJournal journal_;
  std::shared_ptr<const io::RowLayout> layout_;
  StorageWriteSink::Options options_;
  std::unique_ptr<StorageWriteSink> sink_;
};

TEST_F(StorageWriteSinkTest, WritesInOneStreamForEachShard) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a", "b"}).ok());
  ASSERT_TRUE(Deliver(1, {"c"}, 1).ok());
  ASSERT_TRUE(Deliver(2, {"d"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "d", "c"));
  EXPECT_EQ(fake_.streams(), 2u);
  EXPECT_EQ(journal_.saves(), 2);  // one for each stream; the rest follows from the rows
  google::protobuf::DescriptorProto descriptor;
  DescribeRow(*layout_, &descriptor);
  EXPECT_EQ(fake_.writer_schema(), descriptor.SerializeAsString());
  ASSERT_TRUE(sink_->Finish().ok());
  Restart();
  ASSERT_TRUE(Deliver(2, {"d"}).ok());  // its confirmation was lost
  ASSERT_TRUE(Deliver(3, {"e"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "d", "c", "e"));
  EXPECT_EQ(fake_.streams(), 3u);
}

TEST_F(StorageWriteSinkTest, ADeliveryThatIsMadeAgainWritesNothingTwice) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a"}).ok());
  ASSERT_TRUE(Deliver(2, {"b"}).ok());
  Restart();  // both confirmations were lost
  ASSERT_TRUE(Deliver(1, {"a"}).ok());
  ASSERT_TRUE(Deliver(2, {"b"}).ok());
  ASSERT_TRUE(Deliver(3, {"c"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "c"));
}

TEST_F(StorageWriteSinkTest, ALostCallIsTriedAgainInPlace) {
  for (const Fault fault : {Fault::kLostBefore, Fault::kLostAfter}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Open();
    const size_t before = Values().size();
    const engine::EpochId epoch = 10 + static_cast<engine::EpochId>(fault);
    fake_.FaultAt(1, fault);
    EXPECT_EQ(Deliver(epoch, {"x"}).code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Deliver(epoch, {"x"}).ok());
    EXPECT_THAT(Values(), SizeIs(before + 1));
  }
}

TEST_F(StorageWriteSinkTest, SplitsALargeDeliveryAndFindsItsPlaceAgain) {
  options_.max_request_bytes = 40;
  std::vector<std::string> values;
  for (int i = 0; i < 50; ++i) values.push_back(absl::StrCat("value", i));
  for (int nth = 1; nth <= 12; ++nth) {
    SCOPED_TRACE(nth);
    Open();
    const size_t before = Values().size();
    fake_.FaultAt(nth, nth % 2 ? Fault::kLostBefore : Fault::kLostAfter);
    const engine::EpochId epoch = static_cast<engine::EpochId>(nth);
    EXPECT_EQ(Deliver(epoch, values).code(), absl::StatusCode::kUnavailable);
    Restart(0);
    ASSERT_TRUE(Deliver(epoch, values).ok());
    const std::vector<std::string> all = Values();
    EXPECT_EQ(std::vector<std::string>(all.begin() + static_cast<long>(before), all.end()), values);
  }
}

TEST_F(StorageWriteSinkTest, BadRowsAreAnsweredAndTheRestIsWritten) {
  options_.max_request_bytes = 40;
  fake_.RefuseRowsWith("bad");
  Open();
  ASSERT_TRUE(Deliver(1, {"a", "bad1", "b", "c", "bad2", "d", "e", "f", "g", "bad3"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "c", "d", "e", "f", "g"));
  const std::vector<io::FailedRow> failed = journal_.Failed();
  ASSERT_THAT(failed, SizeIs(3));
  EXPECT_EQ(failed[0], (io::FailedRow{"p.d.t", "bad row: bad", R"({"v":"bad1"})"}));
  Restart();
  ASSERT_TRUE(Deliver(1, {"a", "bad1", "b", "c", "bad2", "d", "e", "f", "g", "bad3"}).ok());
  ASSERT_TRUE(Deliver(2, {"h"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  EXPECT_THAT(journal_.Failed(), SizeIs(3));
}

TEST_F(StorageWriteSinkTest, ADeliveryOfBadRowsAloneWritesNothing) {
  fake_.RefuseRowsWith("bad");
  Open();
  ASSERT_TRUE(Deliver(1, {"bad1", "bad2"}).ok());
  ASSERT_TRUE(Deliver(2, {"a"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a"));
  EXPECT_THAT(journal_.Failed(), SizeIs(2));
}

TEST_F(StorageWriteSinkTest, AnExpiredStreamIsSettledByItsRowCount) {
  options_.max_request_bytes = 20;
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back(absl::StrCat("value", i));
  for (int nth = 1; nth <= 7; ++nth) {
    SCOPED_TRACE(nth);
    Open();
    const size_t before = Values().size();
    fake_.FaultAt(nth, Fault::kFinalized);
    const engine::EpochId epoch = static_cast<engine::EpochId>(nth);
    ASSERT_TRUE(Deliver(epoch, values).ok());
    Restart();
    ASSERT_TRUE(Deliver(epoch, values).ok());
    const std::vector<std::string> all = Values();
    EXPECT_EQ(std::vector<std::string>(all.begin() + static_cast<long>(before), all.end()), values);
  }
  EXPECT_EQ(fake_.streams(), 8u);
}

TEST_F(StorageWriteSinkTest, AStreamThatIsGoneIsReplacedWhereNothingIsInDoubt) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a"}).ok());
  fake_.FaultAt(1, Fault::kForgotten);
  ASSERT_TRUE(Deliver(2, {"b"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b"));

  fake_.FaultAt(1, Fault::kLostBefore);
  EXPECT_EQ(Deliver(3, {"c"}).code(), absl::StatusCode::kUnavailable);
  fake_.FaultAt(1, Fault::kForgotten);
  const Status status = Deliver(3, {"c"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be known"));
}

TEST_F(StorageWriteSinkTest, RowsOfSomeoneElseAreNotTakenForOurs) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a"}).ok());
  fake_.Intrude(1);
  const Status status = Deliver(2, {"b"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("holds rows that this job did not write"));
}

TEST_F(StorageWriteSinkTest, RowsThatBigQueryLostAreAnError) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a", "b"}).ok());
  fake_.Lose(1);
  const Status status = Deliver(2, {"c"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has lost rows"));
}

TEST_F(StorageWriteSinkTest, ADamagedLogIsNoticed) {
  Open();
  ASSERT_TRUE(Deliver(1, {"a", "b"}).ok());
  Restart();
  EXPECT_EQ(Deliver(1, {"a"}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(StorageWriteSinkTest, AtLeastOnceUsesTheDefaultStream) {
  options_.mode = engine::ProcessingMode::kAtLeastOnce;
  fake_.RefuseRowsWith("bad");
  Open();
  ASSERT_TRUE(Deliver(1, {"a", "bad", "b"}).ok());
  fake_.FaultAt(1, Fault::kLostAfter);
  EXPECT_EQ(Deliver(1, {"c"}).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(Deliver(1, {"c"}).ok());
  EXPECT_THAT(Values(), ElementsAre("a", "b", "c", "c"));
  EXPECT_THAT(journal_.Failed(), SizeIs(1));
}

// Deliveries of two shards, with every fault and with crashes that forget confirmations: each row
// is in the table once, and each bad row is answered once.
TEST_F(StorageWriteSinkTest, ExactlyOnceWhateverHappens) {
  options_.max_request_bytes = 30;
  fake_.RefuseRowsWith("bad");
  std::multiset<std::string> expected;
  size_t expected_failed = 0;
  struct Planned {
    engine::EpochId epoch;
    uint32_t shard;
    std::vector<std::string> values;
  };
  std::vector<Planned> plan;
  Open();
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    for (engine::EpochId epoch = 1; epoch <= 8; ++epoch) {
      for (uint32_t shard = 0; shard < 2; ++shard) {
        Planned planned{seed * 100 + epoch, shard, {}};
        for (uint64_t i = rng.Below(12); i > 0; --i) {
          const bool bad = rng.OneIn(6);
          planned.values.push_back(absl::StrCat(bad ? "bad" : "v", seed, ".", epoch, ".", shard,
                                                ".", std::string(rng.Below(8), 'x'), i));
          if (bad) {
            ++expected_failed;
          } else {
            expected.insert(planned.values.back());
          }
        }
        plan.push_back(std::move(planned));
      }
    }
    size_t next = journal_.confirmed();
    size_t restarts = 0;
    while (next < plan.size()) {
      if (rng.OneIn(3)) {
        const Fault faults[] = {Fault::kLostBefore, Fault::kLostAfter, Fault::kFinalized};
        fake_.FaultAt(static_cast<int>(1 + rng.Below(4)), faults[rng.Below(3)]);
      }
      const Status status = Deliver(plan[next].epoch, plan[next].values, plan[next].shard);
      ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
      if (status.ok()) ++next;
      if (rng.OneIn(4) && restarts++ < 20) {
        Restart(rng.Below(6));
        next = journal_.confirmed();
      }
    }
  }
  std::multiset<std::string> got;
  for (std::string& value : Values()) got.insert(std::move(value));
  EXPECT_EQ(got, expected);
  EXPECT_THAT(journal_.Failed(), SizeIs(expected_failed));
}

TEST_F(StorageWriteSinkTest, AMissingTableFailsTheStart) {
  fake_.DropTable();
  const Status status = TryOpen();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("p.d.t"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("CREATE_NEVER"));
}

TEST_F(StorageWriteSinkTest, CreatesATableThroughRest) {
  fake_.DropTable();
  HttpServer rest;
  std::string body;
  int code = 200;
  rest.Route("POST", "/bigquery/v2/projects/p/datasets/d/tables",
             [&](const HttpRequest& request, HttpResponse* response) {
               body = request.body;
               response->status = code;
               response->body = R"({"error": {"message": "no such dataset"}})";
               if (code == 200) fake_.SetSchema(WireSchema());
             });
  ASSERT_TRUE(rest.Start(0).ok());
  options_.write.create_disposition = io::CreateDisposition::kCreateIfNeeded;
  options_.write.rest_endpoint = absl::StrCat("http://127.0.0.1:", rest.port());
  code = 404;
  const Status status = TryOpen();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("dataset p.d does not exist"));
  code = 200;
  Open();
  EXPECT_EQ(body, R"({"schema":{"fields":[{"mode":"REQUIRED","name":"v","type":"STRING"}]},)"
                  R"("tableReference":{"datasetId":"d","projectId":"p","tableId":"t"}})");
  rest.Stop();
}

TEST_F(StorageWriteSinkTest, ATableThatDoesNotFitFailsTheStartByName) {
  storage::TableSchema schema = WireSchema();
  schema.mutable_fields(0)->set_type(storage::TableFieldSchema::INT64);
  fake_.SetSchema(schema);
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("'v' is INT64 in the table and STRING"));
  schema.mutable_fields(0)->set_name("w");
  fake_.SetSchema(schema);
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("no column 'v'"));
  schema = WireSchema();
  *schema.add_fields() = schema.fields(0);
  schema.mutable_fields(1)->set_name("more");
  fake_.SetSchema(schema);
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("REQUIRES the column 'more'"));
}

TEST(TableCreatorTest, AsksForPartitionsAndClusters) {
  io::BigQueryWriteOptions options;
  options.schema = {{{"day", io::ColumnType::kDate},
                     {"r", io::ColumnType::kRecord, io::ColumnMode::kRepeated, {{"x"}}}}};
  options.partition_column = "day";
  options.clustering_columns = {"day"};
  EXPECT_EQ(CreateTableBody({"p", "d", "t"}, options),
            R"({"clustering":{"fields":["day"]},"schema":{"fields":[)"
            R"({"mode":"NULLABLE","name":"day","type":"DATE"},)"
            R"({"fields":[{"mode":"NULLABLE","name":"x","type":"STRING"}],"mode":"REPEATED",)"
            R"("name":"r","type":"RECORD"}]},)"
            R"("tableReference":{"datasetId":"d","projectId":"p","tableId":"t"},)"
            R"("timePartitioning":{"field":"day","type":"DAY"}})");
}

TEST(TableCheckTest, RefusesOptionsThatCannotBe) {
  io::BigQueryWriteOptions options;
  options.table = "p.d.t";
  options.schema = Schema();
  EXPECT_TRUE(CheckWriteOptions(options).ok());
  options.write_disposition = io::WriteDisposition::kTruncate;
  EXPECT_THAT(std::string(CheckWriteOptions(options).message()), HasSubstr("only append"));
  options.write_disposition = io::WriteDisposition::kAppend;
  options.partition_column = "v";
  EXPECT_THAT(std::string(CheckWriteOptions(options).message()), HasSubstr("'v'"));
  options.partition_column = "";
  options.clustering_columns = {"w"};
  EXPECT_THAT(std::string(CheckWriteOptions(options).message()), HasSubstr("'w'"));
}

TEST(TableNameTest, ReadsAllThreeSpellings) {
  for (const char* text : {"p.d.t", "p:d.t", "projects/p/datasets/d/tables/t"}) {
    const StatusOr<io::TableName> name = io::TableName::Parse(text);
    ASSERT_TRUE(name.ok()) << text;
    EXPECT_EQ(name->ToString(), "p.d.t");
  }
  EXPECT_EQ(io::TableName::Parse("example.com:p.d.t")->project, "example.com:p");
  for (const char* text : {"", "t", "d.t", ".d.t", "p..t", "p.d.", "projects/p/tables/t"}) {
    EXPECT_FALSE(io::TableName::Parse(text).ok()) << text;
  }
}

TEST(SinkStateTest, IsReadBackAndRefusedWhenCut) {
  SinkState state;
  state.horizon = 64;
  state.shards[0] = {"stream", 7, 100, 10, 2, {3, 5}, 4};
  state.shards[3] = {};
  const std::string text = state.Encode();
  const StatusOr<SinkState> again = SinkState::Decode(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->Encode(), text);
  EXPECT_EQ(again->shards.at(0).end_offset(), 106);
  for (size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_FALSE(SinkState::Decode(std::string_view(text).substr(0, cut)).ok()) << cut;
  }
}

}  // namespace
}  // namespace hornbeam::connectors
