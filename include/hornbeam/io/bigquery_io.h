// Writing a BigQuery table.
//
//   auto written = orders | "Write" >> io::WriteToBigQuery<Order>(
//       {.table = "project.dataset.orders", .schema = schema},
//       [](const Order& order, io::RowWriter& row) { row.Set("id", order.id); });
//   written.failed_rows() | "Failed" >> ...;
//
// The function may also take the element's time, window and pane:
// (const Order&, const io::RowContext&, io::RowWriter&).
#ifndef HORNBEAM_IO_BIGQUERY_IO_H_
#define HORNBEAM_IO_BIGQUERY_IO_H_

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/cord.h"
#include "hornbeam/io/bigquery_row.h"
#include "hornbeam/io/bigquery_write_options.h"
#include "hornbeam/io/failed_row.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/window.h"
#include "hornbeam/transforms/write.h"

namespace hornbeam::io {

struct RowContext {
  EventTime timestamp;
  const Window& window;
  const PaneInfo& pane;
};

class BigQueryWriteResult {
 public:
  explicit BigQueryWriteResult(PCollection<FailedRow> failed_rows) : failed_rows_(failed_rows) {}

  // Rows that could not be made, and rows that BigQuery refused; in the global window.
  PCollection<FailedRow> failed_rows() const { return failed_rows_; }

 private:
  PCollection<FailedRow> failed_rows_;
};

namespace internal {

// What of WriteToBigQuery does not depend on the element's type.
class BigQueryWrite {
 public:
  explicit BigQueryWrite(BigQueryWriteOptions options);

  // OK when the options can be used; the layout is there then.
  const Status& status() const { return status_; }
  const std::shared_ptr<const RowLayout>& layout() const { return layout_; }

  StatusOr<std::unique_ptr<engine::SinkWriter>> NewWriter(const engine::JobContext& job) const;
  // A row that Finish gave `status` for: whether it may be sent, with what there is of it in the
  // error.
  Status CheckRow(Status status, const std::string& row) const;
  FailedRow Failed(const Status& why) const;

 private:
  BigQueryWriteOptions options_;
  Status status_;
  std::string table_;
  std::shared_ptr<const RowLayout> layout_;
};

template <typename T, typename Fn>
class BigQueryEncoder final : public engine::RowEncoder<T> {
 public:
  BigQueryEncoder(std::shared_ptr<const BigQueryWrite> write, Fn fn)
      : write_(std::move(write)), fn_(std::move(fn)) {}

  // A shard for each worker: what one stream has is in that worker's order.
  void Open(int worker) override { shard_ = static_cast<uint32_t>(worker); }

  StatusOr<uint32_t> Encode(const T& element, EventTime timestamp, const Window& window,
                            const PaneInfo& pane, std::string* row) override {
    RowWriter writer(write_->layout().get(), row);
    try {
      if constexpr (std::is_invocable_v<Fn&, const T&, const RowContext&, RowWriter&>) {
        fn_(element, RowContext{timestamp, window, pane}, writer);
      } else {
        fn_(element, writer);
      }
    } catch (const std::exception& error) {
      writer.Fail(absl::InvalidArgumentError(error.what()));
    }
    HB_RETURN_IF_ERROR(write_->CheckRow(writer.Finish(), *row));
    return shard_;
  }

 private:
  const std::shared_ptr<const BigQueryWrite> write_;
  Fn fn_;
  uint32_t shard_ = 0;
};

}  // namespace internal

// Appends rows through the Storage Write API: each once, or at least once in that mode.
template <typename T, typename Fn>
class BigQueryWriteTransform : public PTransform {
 public:
  BigQueryWriteTransform(BigQueryWriteOptions options, Fn fn)
      : write_(std::make_shared<const internal::BigQueryWrite>(std::move(options))),
        fn_(std::move(fn)) {}

  BigQueryWriteResult Expand(const PCollection<T>& input, const std::string& name) const {
    Pipeline& pipeline = input.pipeline();
    if (!write_->status().ok()) pipeline.NoteMistake(Annotate(write_->status(), "'" + name + "'"));
    Write<T, FailedRow, FailedRow> write;
    write.urn = "hornbeam:transform:bigquery_storage_write:v1";
    write.new_writer = [write = write_](engine::JobContext* job) { return write->NewWriter(*job); };
    write.new_encoder = [write = write_, fn = fn_] {
      return std::make_unique<internal::BigQueryEncoder<T, Fn>>(write, fn);
    };
    write.refuse = [write = write_](const T&, const Status& why) { return write->Failed(why); };
    const WriteResult<FailedRow, FailedRow> written = write.Expand(input, name);
    const PCollection<FailedRow> unmade =
        written.refused.Apply(name + "/Unmade", WindowInto(GlobalWindows()));
    return BigQueryWriteResult(Flatten<FailedRow>(name + "/FailedRows", {unmade, written.answers}));
  }

 private:
  std::shared_ptr<const internal::BigQueryWrite> write_;
  Fn fn_;
};

template <typename T, typename Fn>
BigQueryWriteTransform<T, Fn> WriteToBigQuery(BigQueryWriteOptions options, Fn fn) {
  return BigQueryWriteTransform<T, Fn>(std::move(options), std::move(fn));
}

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_BIGQUERY_IO_H_
