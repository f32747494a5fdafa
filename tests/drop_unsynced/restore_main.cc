// Makes a folder what a power cut would have left of it, after a process that ran with
// drop_unsynced.so was killed:
//
//   drop_unsynced_restore --root DIR --journal DIR [--seed N]
//
// What was not synced is undone, newest first. A name, new, changed or gone, is synced with its
// folder alone, as POSIX has it; most file systems are kinder. With a seed, not all of it is
// undone: of each file a random part of the unsynced writes, from the oldest on, reached the disk,
// and the last of them in part. Empties the journal and prints what it did.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "journal.h"

namespace {

namespace fs = std::filesystem;

struct Change {
  Record record;
  std::string payload;

  std::vector<std::string> Strings() const {
    std::vector<std::string> strings;
    for (size_t at = 0; at < payload.size(); at += strings.back().size() + 1) {
      strings.emplace_back(payload.c_str() + at);
    }
    strings.resize(3);
    return strings;
  }
};

struct Done {
  int writes = 0;
  int names = 0;
  uint64_t bytes = 0;
};

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "drop_unsynced_restore: %s\n", message.c_str());
  std::exit(1);
}

std::vector<Change> ReadJournal(const fs::path& path) {
  std::vector<Change> changes;
  std::ifstream in(path, std::ios::binary);
  Change change;
  while (in.read(reinterpret_cast<char*>(&change.record), sizeof(Record))) {
    if (change.record.magic != JOURNAL_MAGIC) Die("'" + path.string() + "' is damaged");
    change.payload.resize(change.record.payload);
    if (!in.read(change.payload.data(), static_cast<std::streamsize>(change.payload.size()))) break;
    changes.push_back(change);
  }
  return changes;
}

class Restorer {
 public:
  Restorer(const fs::path& root, const fs::path& journal, unsigned seed)
      : journal_(journal), seed_(seed), random_(seed), changes_(ReadJournal(journal / "records")) {
    for (const fs::path& top : {root, journal}) {
      Index(top);
      for (const auto& entry : fs::recursive_directory_iterator(top)) Index(entry.path());
    }
    for (const Change& change : changes_) {
      const Record& r = change.record;
      if (r.kind == kSync) synced_[r.ino] = std::max(synced_[r.ino], r.offset);
    }
  }

  Done Run() {
    if (seed_ != 0) ChooseWhatStays();
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      if (change->record.kind != kSync && !Durable(change->record)) Undo(*change);
    }
    for (const auto& entry : fs::directory_iterator(journal_)) fs::remove_all(entry.path());
    return done_;
  }

 private:
  void Index(const fs::path& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) == 0) paths_[info.st_ino] = path;
  }

  bool SyncedBy(uint64_t ino, uint64_t number) const {
    const auto it = synced_.find(ino);
    return it != synced_.end() && number < it->second;
  }
  bool Durable(const Record& r) const {
    return SyncedBy(r.kind == kContent ? r.ino : r.dir, r.number);
  }

  // Which records of each file's unsynced tail reached the disk after all.
  void ChooseWhatStays() {
    std::map<uint64_t, std::vector<Change*>> unsynced;
    for (Change& change : changes_) {
      if (change.record.kind == kContent && !Durable(change.record))
        unsynced[change.record.ino].push_back(&change);
    }
    for (auto& [ino, changes] : unsynced) {
      const size_t kept = random_() % (changes.size() + 1);
      if (kept == 0) continue;
      for (size_t i = 0; i + 1 < kept; ++i) changes[i]->record.kind = 0;
      Tear(changes[kept - 1], kept < changes.size() ? changes[kept]->record.old_size : SizeOf(ino));
    }
  }

  // Of a write that made the file grow to `grown`, a part stays; of another, all.
  void Tear(Change* change, uint64_t grown) {
    Record& r = change->record;
    if (r.offset != r.old_size || grown <= r.old_size) {
      r.kind = 0;
      return;
    }
    r.old_size += random_() % (grown - r.old_size + 1);
    r.offset = r.old_size;
  }

  uint64_t SizeOf(uint64_t ino) const {
    const auto it = paths_.find(ino);
    std::error_code error;
    const uint64_t size = it == paths_.end() ? 0 : fs::file_size(it->second, error);
    return error ? 0 : size;
  }

  void Undo(const Change& change) {
    switch (change.record.kind) {
      case kContent: return UndoContent(change);
      case kCreate: return UndoCreate(change);
      case kRemove: return UndoRemove(change);
      case kRename: return UndoRename(change);
      default: return;
    }
  }

  void UndoContent(const Change& change) {
    const Record& r = change.record;
    const auto it = paths_.find(r.ino);
    if (it == paths_.end()) return;  // its name went without being saved: a durable removal
    const int fd = ::open(it->second.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) Die("'" + it->second.string() + "' cannot be written");
    size_t put = 0;
    while (put < change.payload.size()) {
      const ssize_t n = ::pwrite(fd, change.payload.data() + put, change.payload.size() - put,
                                 static_cast<off_t>(r.offset + put));
      if (n <= 0) Die("'" + it->second.string() + "' cannot be written");
      put += static_cast<size_t>(n);
    }
    const uint64_t before = SizeOf(r.ino);
    if (::ftruncate(fd, static_cast<off_t>(r.old_size)) != 0)
      Die("'" + it->second.string() + "' cannot be cut");
    ::close(fd);
    ++done_.writes;
    done_.bytes += put + (before > r.old_size ? before - r.old_size : 0);
  }

  void UndoCreate(const Change& change) {
    const fs::path path = change.Strings()[0];
    struct stat info;
    if (lstat(path.c_str(), &info) != 0 || info.st_ino != change.record.ino) return;
    std::error_code error;
    fs::remove(path, error);  // a folder that something durable lies in stays
    paths_.erase(change.record.ino);
    ++done_.names;
  }

  void UndoRemove(const Change& change) {
    const std::vector<std::string> names = change.Strings();
    if (fs::exists(names[0])) return;
    if (names[1].empty()) {
      fs::create_directory(names[0]);
    } else {
      fs::rename(names[1], names[0]);
      paths_[change.record.ino] = names[0];
    }
    ++done_.names;
  }

  void UndoRename(const Change& change) {
    const std::vector<std::string> names = change.Strings();
    struct stat info;
    if (lstat(names[1].c_str(), &info) == 0 && info.st_ino == change.record.ino) {
      fs::rename(names[1], names[0]);
      paths_[change.record.ino] = names[0];
    }
    if (!names[2].empty() && !fs::exists(names[1])) {
      fs::rename(names[2], names[1]);
      Index(names[1]);
    }
    ++done_.names;
  }

  const fs::path journal_;
  const unsigned seed_;
  std::mt19937 random_;
  std::vector<Change> changes_;
  std::map<uint64_t, fs::path> paths_;   // by inode
  std::map<uint64_t, uint64_t> synced_;  // by inode: all records below this number are on disk
  Done done_;
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  if (flags["--root"].empty() || flags["--journal"].empty() || argc % 2 == 0) {
    Die("usage: drop_unsynced_restore --root DIR --journal DIR [--seed N]");
  }
  try {
    const Done done = Restorer(flags["--root"], flags["--journal"],
                               static_cast<unsigned>(std::atoi(flags["--seed"].c_str())))
                          .Run();
    std::printf("undone: %d writes (%llu bytes), %d names\n", done.writes,
                static_cast<unsigned long long>(done.bytes), done.names);
  } catch (const std::exception& error) {
    Die(error.what());
  }
  return 0;
}
