// A library to preload. It writes down how to undo every change below one folder until the change
// is synced; after the process was killed, drop_unsynced_restore undoes what was not, so that
// SIGKILL acts as a power cut.
//
//   DROP_UNSYNCED_ROOT     the folder; as the program names it, absolute, without links and ".."
//   DROP_UNSYNCED_JOURNAL  the journal's folder, empty (journal.h)
//   LD_PRELOAD             this library
//   DROP_UNSYNCED_SYNC_MS  so much longer a sync takes, as on a disk without a cache; the longer,
//   the
//                          more is unsynced when the process is killed
//   DROP_UNSYNCED_LIE      if set, a sync is not counted as one: shows that a test would notice
//
// Understood: open, creat, write, pwrite, writev, pwritev, truncate, ftruncate, fallocate, rename,
// unlink, remove, mkdir, rmdir, fsync, fdatasync, close, in all their spellings. Not understood:
// writes through mmap, stdio and duplicated descriptors, and links; the stores under test use none.
//
// One lock is held around every change and its record, so that the journal's order is the order of
// the changes. A sync covers what was written before it began.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"

#define MAX_FDS 65536

struct Watched {
  bool used;
  bool append;
  ino_t ino;
};

static struct Watched watched[MAX_FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static char journal_dir[PATH_MAX];
static int journal = -1;  // -1: nothing is watched
static uint64_t next_number = 1;
static uint64_t saved_links = 0;
static long sync_ms = 0;
static bool lie = false;

static void Die(const char* what) {
  dprintf(2, "drop_unsynced: %s: %s\n", what, strerror(errno));
  abort();
}

__attribute__((constructor)) static void Start(void) {
  const char* const root_env = getenv("DROP_UNSYNCED_ROOT");
  const char* const journal_env = getenv("DROP_UNSYNCED_JOURNAL");
  if (root_env == NULL || journal_env == NULL) return;
  if (getenv("DROP_UNSYNCED_SYNC_MS") != NULL) sync_ms = atol(getenv("DROP_UNSYNCED_SYNC_MS"));
  lie = getenv("DROP_UNSYNCED_LIE") != NULL;
  snprintf(root, sizeof root, "%s", root_env);
  snprintf(journal_dir, sizeof journal_dir, "%s", journal_env);
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/records", journal_dir);
  const long fd =
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) Die("the journal cannot be created");
  // Out of the way of programs that count on low numbers.
  const long high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
  if (high < 0) Die("the journal cannot be opened");
  syscall(SYS_close, fd);
  journal = (int)high;
}

// The journal. ---------------------------------------------------------------------------------

static void WriteAll(const void* data, size_t size) {
  const char* at = data;
  while (size > 0) {
    const long n = syscall(SYS_write, journal, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Die("the journal cannot be written");
    at += n;
    size -= (size_t)n;
  }
}

static void Append(struct Record record, const void* payload, size_t size) {
  record.magic = JOURNAL_MAGIC;
  record.number = next_number++;
  record.payload = size;
  WriteAll(&record, sizeof record);
  if (size > 0) WriteAll(payload, size);
}

// Up to three strings, one behind the other; errno stays.
static void AppendPaths(struct Record record, const char* a, const char* b, const char* c) {
  const int error = errno;
  char payload[3 * PATH_MAX];
  size_t size = 0;
  const char* const strings[] = {a, b, c};
  for (int i = 0; i < 3 && strings[i] != NULL; ++i) {
    const size_t length = strlen(strings[i]) + 1;
    memcpy(payload + size, strings[i], length);
    size += length;
  }
  Append(record, payload, size);
  errno = error;
}

// Paths. ---------------------------------------------------------------------------------------

// `path`, relative to folder `dirfd`, as an absolute one below the root; false when it lies
// elsewhere.
static bool BelowRoot(int dirfd, const char* path, char* absolute) {
  if (journal < 0 || path == NULL) return false;
  if (path[0] == '/') {
    snprintf(absolute, PATH_MAX, "%s", path);
  } else {
    char link[64];
    char base[PATH_MAX];
    if (dirfd == AT_FDCWD) {
      snprintf(link, sizeof link, "/proc/self/cwd");
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    }
    const ssize_t n = readlink(link, base, sizeof base - 1);
    if (n < 0) return false;
    base[n] = '\0';
    if ((size_t)snprintf(absolute, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return false;
  }
  const size_t length = strlen(root);
  return strncmp(absolute, root, length) == 0 &&
         (absolute[length] == '/' || absolute[length] == '\0');
}

static bool Stat(const char* path, struct stat* info) {
  return syscall(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW) == 0;
}

static uint64_t ParentIno(const char* path) {
  char parent[PATH_MAX];
  snprintf(parent, sizeof parent, "%s", path);
  char* const slash = strrchr(parent, '/');
  if (slash == NULL || slash == parent) return 0;
  *slash = '\0';
  struct stat info;
  return Stat(parent, &info) ? info.st_ino : 0;
}

// Keeps the file at `path` from going: a hard link in the journal, whose path is put in `saved`.
static void Save(const char* path, char* saved) {
  snprintf(saved, PATH_MAX, "%.*s/saved-%lu", PATH_MAX - 32, journal_dir,
           (unsigned long)saved_links++);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, saved, 0) != 0)
    Die("a file cannot be linked into the journal");
}

// Content. -------------------------------------------------------------------------------------

static const struct Watched* Find(int fd) {
  return journal >= 0 && fd >= 0 && fd < MAX_FDS && watched[fd].used ? &watched[fd] : NULL;
}

// Writes down the bytes [offset, end) of a file that is about to change there, and its size.
static void BeforeChange(int fd, ino_t ino, uint64_t offset, uint64_t end) {
  char proc[64];
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  struct stat info;
  if (syscall(SYS_fstat, fd, &info) != 0) Die("fstat");
  const uint64_t size = (uint64_t)info.st_size;
  if (end > size) end = size;
  const uint64_t length = offset < end ? end - offset : 0;
  char* bytes = NULL;
  if (length > 0) {
    bytes = malloc(length);
    const long reader =
        syscall(SYS_openat, AT_FDCWD, proc, O_RDONLY | O_CLOEXEC, 0);  // fd may be write-only
    if (bytes == NULL || reader < 0) Die("what is to be overwritten cannot be read");
    for (uint64_t done = 0; done < length;) {
      const long n = syscall(SYS_pread64, reader, bytes + done, length - done, offset + done);
      if (n <= 0) Die("what is to be overwritten cannot be read");
      done += (uint64_t)n;
    }
    syscall(SYS_close, reader);
  }
  Append((struct Record){.kind = kContent, .ino = ino, .offset = offset, .old_size = size}, bytes,
         length);
  free(bytes);
}

static uint64_t PositionOf(int fd, const struct Watched* file) {
  struct stat info;
  if (file->append && syscall(SYS_fstat, fd, &info) == 0) return (uint64_t)info.st_size;
  return (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static size_t TotalOf(const struct iovec* parts, int count) {
  size_t total = 0;
  for (int i = 0; i < count; ++i) total += parts[i].iov_len;
  return total;
}

ssize_t write(int fd, const void* data, size_t size) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return syscall(SYS_write, fd, data, size);
  pthread_mutex_lock(&lock);
  const uint64_t offset = PositionOf(fd, file);
  BeforeChange(fd, file->ino, offset, offset + size);
  const ssize_t result = syscall(SYS_write, fd, data, size);
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return syscall(SYS_pwrite64, fd, data, size, offset);
  pthread_mutex_lock(&lock);
  BeforeChange(fd, file->ino, (uint64_t)offset, (uint64_t)offset + size);
  const ssize_t result = syscall(SYS_pwrite64, fd, data, size, offset);
  pthread_mutex_unlock(&lock);
  return result;
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return pwrite(fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return syscall(SYS_writev, fd, parts, count);
  pthread_mutex_lock(&lock);
  const uint64_t offset = PositionOf(fd, file);
  BeforeChange(fd, file->ino, offset, offset + TotalOf(parts, count));
  const ssize_t result = syscall(SYS_writev, fd, parts, count);
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t offset, int flags) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return syscall(SYS_pwritev2, fd, parts, count, offset, 0, flags);
  pthread_mutex_lock(&lock);
  const uint64_t at = offset < 0 ? PositionOf(fd, file) : (uint64_t)offset;
  BeforeChange(fd, file->ino, at, at + TotalOf(parts, count));
  const ssize_t result = syscall(SYS_pwritev2, fd, parts, count, offset, 0, flags);
  pthread_mutex_unlock(&lock);
  return result;
}
ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off64_t offset, int flags) {
  return pwritev2(fd, parts, count, offset, flags);
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  return pwritev2(fd, parts, count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t offset) {
  return pwritev2(fd, parts, count, offset, 0);
}

int ftruncate(int fd, off_t size) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&lock);
  BeforeChange(fd, file->ino, (uint64_t)size, UINT64_MAX);
  const int result = (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int fallocate(int fd, int mode, off_t offset, off_t length) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
  pthread_mutex_lock(&lock);
  BeforeChange(fd, file->ino, (uint64_t)offset, (uint64_t)(offset + length));
  const int result = (int)syscall(SYS_fallocate, fd, mode, offset, length);
  pthread_mutex_unlock(&lock);
  return result;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return fallocate(fd, mode, offset, length);
}
int posix_fallocate(int fd, off_t offset, off_t length) {
  return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return posix_fallocate(fd, offset, length);
}

// Opening and syncing. -------------------------------------------------------------------------

static void BeforeTruncatingOpen(const char* path, ino_t ino) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;  // then it cannot be truncated either
  BeforeChange((int)fd, ino, 0, UINT64_MAX);
  syscall(SYS_close, fd);
}

static int Open(int dirfd, const char* path, int flags, mode_t mode) {
  char absolute[PATH_MAX];
  if (!BelowRoot(dirfd, path, absolute)) return (int)syscall(SYS_openat, dirfd, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat info;
  const bool existed = Stat(absolute, &info);
  if (existed && (flags & O_TRUNC) != 0 && S_ISREG(info.st_mode))
    BeforeTruncatingOpen(absolute, info.st_ino);
  const int fd = (int)syscall(SYS_openat, dirfd, path, flags, mode);
  if (fd >= 0 && fd < MAX_FDS && syscall(SYS_fstat, fd, &info) == 0) {
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
      watched[fd] =
          (struct Watched){.used = true, .append = (flags & O_APPEND) != 0, .ino = info.st_ino};
    }
    if (!existed) {
      AppendPaths((struct Record){.kind = kCreate, .ino = info.st_ino, .dir = ParentIno(absolute)},
                  absolute, NULL, NULL);
    }
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static mode_t ModeOf(int flags, va_list args) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(dirfd)                        \
  va_list args;                            \
  va_start(args, flags);                   \
  const mode_t mode = ModeOf(flags, args); \
  va_end(args);                            \
  return Open(dirfd, path, flags, mode)

int open(const char* path, int flags, ...) { OPEN(AT_FDCWD); }
int open64(const char* path, int flags, ...) { OPEN(AT_FDCWD); }
int openat(int dirfd, const char* path, int flags, ...) { OPEN(dirfd); }
int openat64(int dirfd, const char* path, int flags, ...) { OPEN(dirfd); }
// What a program compiled with _FORTIFY_SOURCE calls when it gives no mode.
int __open_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __openat_2(int dirfd, const char* path, int flags) { return Open(dirfd, path, flags, 0); }
int __openat64_2(int dirfd, const char* path, int flags) { return Open(dirfd, path, flags, 0); }
int creat(const char* path, mode_t mode) {
  return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char* path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
  if (Find(fd) == NULL) return (int)syscall(SYS_close, fd);
  pthread_mutex_lock(&lock);
  watched[fd].used = false;
  const int result = (int)syscall(SYS_close, fd);
  pthread_mutex_unlock(&lock);
  return result;
}

static int Sync(int fd, long call) {
  const struct Watched* const file = Find(fd);
  if (file == NULL) return (int)syscall(call, fd);
  pthread_mutex_lock(&lock);
  const struct Record record = {.kind = kSync, .ino = file->ino, .offset = next_number};
  pthread_mutex_unlock(&lock);
  const struct timespec longer = {.tv_sec = sync_ms / 1000, .tv_nsec = sync_ms % 1000 * 1000000};
  if (sync_ms > 0) nanosleep(&longer, NULL);
  const int result = (int)syscall(call, fd);
  if (result != 0 || lie) return result;
  pthread_mutex_lock(&lock);
  Append(record, NULL, 0);
  pthread_mutex_unlock(&lock);
  return 0;
}
int fsync(int fd) { return Sync(fd, SYS_fsync); }
int fdatasync(int fd) { return Sync(fd, SYS_fdatasync); }

int truncate(const char* path, off_t size) {
  const int fd = Open(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int result = ftruncate(fd, size);
  close(fd);
  return result;
}
int truncate64(const char* path, off64_t size) { return truncate(path, size); }

// Names. ---------------------------------------------------------------------------------------

static int Remove(int dirfd, const char* path, int flags) {
  char absolute[PATH_MAX];
  struct stat info;
  if (!BelowRoot(dirfd, path, absolute) || !Stat(absolute, &info)) {
    return (int)syscall(SYS_unlinkat, dirfd, path, flags);
  }
  pthread_mutex_lock(&lock);
  char saved[PATH_MAX] = "";
  if (!S_ISDIR(info.st_mode)) Save(absolute, saved);
  const int result = (int)syscall(SYS_unlinkat, dirfd, path, flags);
  if (result == 0) {
    AppendPaths((struct Record){.kind = kRemove, .ino = info.st_ino, .dir = ParentIno(absolute)},
                absolute, saved, NULL);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int unlink(const char* path) { return Remove(AT_FDCWD, path, 0); }
int unlinkat(int dirfd, const char* path, int flags) { return Remove(dirfd, path, flags); }
int rmdir(const char* path) { return Remove(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

static int MakeDirectory(int dirfd, const char* path, mode_t mode) {
  char absolute[PATH_MAX];
  if (!BelowRoot(dirfd, path, absolute)) return (int)syscall(SYS_mkdirat, dirfd, path, mode);
  pthread_mutex_lock(&lock);
  const int result = (int)syscall(SYS_mkdirat, dirfd, path, mode);
  struct stat info;
  if (result == 0 && Stat(absolute, &info)) {
    AppendPaths((struct Record){.kind = kCreate, .ino = info.st_ino, .dir = ParentIno(absolute)},
                absolute, NULL, NULL);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int mkdir(const char* path, mode_t mode) { return MakeDirectory(AT_FDCWD, path, mode); }
int mkdirat(int dirfd, const char* path, mode_t mode) { return MakeDirectory(dirfd, path, mode); }

static int Rename(int from_dirfd, const char* from, int to_dirfd, const char* to, unsigned flags) {
  char from_path[PATH_MAX];
  char to_path[PATH_MAX];
  struct stat moved;
  if (!BelowRoot(from_dirfd, from, from_path) || !BelowRoot(to_dirfd, to, to_path) ||
      !Stat(from_path, &moved)) {
    return (int)syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags);
  }
  pthread_mutex_lock(&lock);
  char saved[PATH_MAX] = "";
  struct stat replaced;
  if (Stat(to_path, &replaced) && !S_ISDIR(replaced.st_mode)) Save(to_path, saved);
  const int result = (int)syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags);
  if (result == 0) {
    AppendPaths((struct Record){.kind = kRename, .ino = moved.st_ino, .dir = ParentIno(to_path)},
                from_path, to_path, saved);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int rename(const char* from, const char* to) { return Rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_dirfd, const char* from, int to_dirfd, const char* to) {
  return Rename(from_dirfd, from, to_dirfd, to, 0);
}
int renameat2(int from_dirfd, const char* from, int to_dirfd, const char* to, unsigned flags) {
  return Rename(from_dirfd, from, to_dirfd, to, flags);
}
