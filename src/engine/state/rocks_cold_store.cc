#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "engine/state/cold_store.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

namespace hornbeam::engine {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// The least key behind all that begin with `prefix`; empty where there is none.
std::string Behind(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

// Cells are written in bulk, read one by one at random, and mostly die with their window: so large write buffers, filters,
// and no log or sync of RocksDB's own.
rocksdb::Options OptionsFor(size_t memory_bytes) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = std::clamp<size_t>(memory_bytes / 6, 1 << 20, 64 << 20);
  options.max_write_buffer_number = 3;
  options.target_file_size_base = 64 << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  options.compression = rocksdb::kNoCompression;
  options.info_log_level = rocksdb::ERROR_LEVEL;
  options.keep_log_file_num = 1;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(memory_bytes / 2);
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class RocksColdStore final : public ColdStore {
 public:
  RocksColdStore(std::string directory, std::unique_ptr<rocksdb::DB> db) : directory_(std::move(directory)), db_(std::move(db)) {
    write_.disableWAL = true;
  }
  ~RocksColdStore() override {
    (void)db_->Close();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  Status Put(const ColdBatch& batch) override {
    rocksdb::WriteBatch writes;
    batch.ForEach([&](std::string_view key, std::string_view value) { (void)writes.Put(ToSlice(key), ToSlice(value)); });
    return Checked(db_->Write(write_, &writes));
  }

  StatusOr<bool> Get(std::string_view key, std::string* value) override {
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), ToSlice(key), value);
    if (status.IsNotFound()) return false;
    HB_RETURN_IF_ERROR(Checked(status));
    return true;
  }

  Status Remove(std::string_view key) override { return Checked(db_->Delete(write_, ToSlice(key))); }

  Status Scan(std::string_view prefix, absl::FunctionRef<Status(std::string_view, std::string_view)> visit) override {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    read.readahead_size = 1 << 20;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(read));
    for (at->Seek(ToSlice(prefix)); at->Valid() && at->key().starts_with(ToSlice(prefix)); at->Next()) {
      HB_RETURN_IF_ERROR(visit(ToView(at->key()), ToView(at->value())));
    }
    return Checked(at->status());
  }

  Status RemoveAll(std::string_view prefix) override {
    const std::string end = Behind(prefix);
    if (end.empty()) return Scan(prefix, [this](std::string_view key, std::string_view) { return Remove(key); });
    return Checked(db_->DeleteRange(write_, db_->DefaultColumnFamily(), ToSlice(prefix), end));
  }

 private:
  Status Checked(const rocksdb::Status& status) const {
    if (status.ok()) return absl::OkStatus();
    const std::string what = absl::StrCat("the state that does not fit in memory, in '", directory_, "': ", status.ToString());
    return status.IsNoSpace() ? absl::ResourceExhaustedError(what) : absl::InternalError(what);
  }

  const std::string directory_;
  const std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions write_;
};

}  // namespace

StatusOr<std::unique_ptr<ColdStore>> OpenRocksColdStore(const std::string& directory, size_t memory_bytes) {
  std::error_code failed;
  std::filesystem::remove_all(directory, failed);
  if (!failed) std::filesystem::create_directories(directory, failed);
  if (failed) {
    return absl::InternalError(absl::StrCat("cannot make the directory '", directory, "' for state that does not fit in memory: ",
                                            failed.message()));
  }
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(OptionsFor(memory_bytes), directory, &db);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat("cannot open '", directory, "' for state that does not fit in memory: ",
                                            status.ToString()));
  }
  return std::make_unique<RocksColdStore>(directory, std::unique_ptr<rocksdb::DB>(db));
}

}  // namespace hornbeam::engine
