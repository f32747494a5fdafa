// The undo journal that drop_unsynced.so writes and drop_unsynced_restore plays back: what the disk
// would still hold of a folder if power had failed now.
//
// A journal is a folder outside the one that is watched, on the same file system:
//   records        struct Record and its payload, again and again; the last may be cut short, and
//                  then what it tells of did not begin
//   saved-N        a hard link to a file that was removed or replaced
// It needs no fsync of its own: the process dies, the machine does not.
#ifndef HORNBEAM_TESTS_DROP_UNSYNCED_JOURNAL_H_
#define HORNBEAM_TESTS_DROP_UNSYNCED_JOURNAL_H_

#include <stdint.h>

#define JOURNAL_MAGIC 0x4a524e4cu

// Payloads are strings, each with its terminating zero, unless something else is said.
enum RecordKind {
  kContent = 1,  // bytes of `ino` from `offset` are about to change; payload: what is there now
  kSync = 2,     // `ino`, a file or folder, is on disk as it was before record `offset`
  kCreate = 3,   // `ino` was created in folder `dir`; payload: its path
  kRemove = 4,   // `ino` was removed from folder `dir`; payload: its path, the saved link ("" for a
                 // folder)
  kRename = 5,   // `ino` was moved to folder `dir`; payload: from, to, the saved link of the old
                 // `to` or ""
};

struct Record {
  uint32_t magic;
  uint32_t kind;
  uint64_t number;  // ascending, from 1
  uint64_t ino;
  uint64_t dir;
  uint64_t offset;
  uint64_t old_size;  // of the file, at a kContent
  uint64_t payload;   // its length
};

#endif  // HORNBEAM_TESTS_DROP_UNSYNCED_JOURNAL_H_
