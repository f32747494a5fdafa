#include "services/bigquery/core/insert_id_window.h"

namespace hornbeam::services::bigquery {
namespace {

constexpr int64_t kWindowMicros = 60'000'000;

}  // namespace

std::string InsertIdWindow::Key(std::string_view table, std::string_view id) {
  std::string key(table);
  key += '\0';
  return key.append(id);
}

void InsertIdWindow::Turn() {
  const int64_t minute = clock_->MonotonicMicros() / kWindowMicros;
  if (minute == minute_) return;
  if (minute != minute_ + 1) seen_[static_cast<size_t>((minute + 1) % 2)].clear();
  seen_[static_cast<size_t>(minute % 2)].clear();
  minute_ = minute;
}

bool InsertIdWindow::Add(std::string_view table, std::string_view id) {
  std::string key = Key(table, id);
  MutexLock lock(&mutex_);
  Turn();
  if (seen_[0].contains(key) || seen_[1].contains(key)) return false;
  seen_[static_cast<size_t>(minute_ % 2)].insert(std::move(key));
  return true;
}

void InsertIdWindow::Remove(std::string_view table, std::string_view id) {
  const std::string key = Key(table, id);
  MutexLock lock(&mutex_);
  seen_[0].erase(key);
  seen_[1].erase(key);
}

}  // namespace hornbeam::services::bigquery
