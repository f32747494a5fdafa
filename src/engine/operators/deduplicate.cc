#include "engine/operators/deduplicate.h"

namespace hornbeam::engine {
namespace {

void AppendFingerprint(std::string* out, const model::KeyHash& fingerprint) {
  PutFixed64(out, fingerprint.low);
  PutFixed64(out, fingerprint.high);
}

}  // namespace

// In two passes, so that the misses of a batch's look-ups overlap.
void SeenKeys::Insert(const UniformColumn<model::Window>& windows, const std::vector<model::KeyHash>& hashes,
                      std::vector<bool>* is_new) {
  tables_.resize(hashes.size());
  is_new->assign(hashes.size(), false);
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (IsExpired(windows[i])) {
      tables_[i] = nullptr;
      continue;
    }
    tables_[i] = &TableOf(windows[i], hashes[i].slice());
    tables_[i]->seen.Prefetch(hashes[i]);
  }
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (tables_[i] == nullptr || !tables_[i]->seen.Insert(hashes[i])) continue;
    (*is_new)[i] = true;
    if (tables_[i]->fresh.empty()) dirty_.push_back({tables_[i]->slice, windows[i], false});
    tables_[i]->fresh.push_back(hashes[i]);
  }
}

void SeenKeys::AdvanceWatermark(model::EventTime watermark) {
  watermark_ = std::max(watermark_, watermark);
  std::vector<model::Window> expired;
  windows_.ForEach([&](Windows::WindowEntry& in) {
    if (IsExpired(in.window)) expired.push_back(in.window);
  });
  for (const model::Window& window : expired) {
    Windows::WindowEntry& in = *windows_.Find(window);
    for (uint32_t slice = 0; slice < model::kKeySlices; ++slice) {
      if (in.tables[slice] != nullptr) dirty_.push_back({slice, window, true});
    }
    windows_.Drop(window);
  }
}

void SeenKeys::OnMarker(OperatorId id, EpochRecords* records) {
  std::sort(dirty_.begin(), dirty_.end());
  size_t from = 0;
  while (from < dirty_.size()) {
    const uint32_t slice = dirty_[from].slice;
    WindowLogWriter log(records->Begin(id, slice, false));
    for (; from < dirty_.size() && dirty_[from].slice == slice; ++from) {
      const Dirty& dirty = dirty_[from];
      if (dirty.dropped) {
        log.Begin(WindowOp::kDrop, dirty.window);
        continue;
      }
      Windows::WindowEntry* const in = windows_.Find(dirty.window);
      if (in == nullptr) continue;
      std::vector<model::KeyHash>& fresh = in->tables[slice]->fresh;
      std::string* const out = log.Begin(WindowOp::kAppend, dirty.window);
      PutVarint(out, fresh.size());
      for (const model::KeyHash& fingerprint : fresh) AppendFingerprint(out, fingerprint);
      fresh.clear();
    }
    log.empty() ? records->Abandon() : records->End();
  }
  dirty_.clear();
}

void SeenKeys::Rewrite(OperatorId id, uint32_t slice, EpochRecords* records) {
  WindowLogWriter log(records->Begin(id, slice, true));
  windows_.ForEach([&](Windows::WindowEntry& in) {
    if (in.tables[slice] == nullptr) return;
    std::string* const out = log.Begin(WindowOp::kAppend, in.window);
    PutVarint(out, in.tables[slice]->seen.size());
    in.tables[slice]->seen.ForEach([&](const model::KeyHash& fingerprint) { AppendFingerprint(out, fingerprint); });
  });
  records->End();
}

Status SeenKeys::Restore(uint32_t slice, bool replaces, std::string_view payload) {
  if (replaces) {
    windows_.ForEach([&](Windows::WindowEntry& in) { in.tables[slice] = nullptr; });
  }
  WindowLogReader log(payload);
  WindowOp op;
  while (log.Next(&op)) {
    if (op == WindowOp::kDrop) {
      if (Windows::WindowEntry* const in = windows_.Find(log.window)) in->tables[slice] = nullptr;
      continue;
    }
    if (op != WindowOp::kAppend) return absl::DataLossError("the log holds malformed state of a deduplication");
    Table& table = TableOf(log.window, slice);
    for (uint64_t left = log.in.Varint(); left > 0 && log.in.ok(); --left) {
      const uint64_t low = log.in.Fixed64();
      table.seen.Insert({low, log.in.Fixed64()});
    }
  }
  if (log.in.ok() && log.in.done()) return absl::OkStatus();
  return absl::DataLossError("the log holds malformed state of a deduplication");
}

}  // namespace hornbeam::engine
