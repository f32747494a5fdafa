// A file that was written (Beam's WriteFilesResult).
#ifndef HORNBEAM_IO_FILE_RESULT_H_
#define HORNBEAM_IO_FILE_RESULT_H_

#include <cstdint>
#include <string>

#include "hornbeam/types.h"
#include "model/element_bytes.h"

namespace hornbeam::io {

struct FileResult {
  std::string path;
  Window window;
  PaneInfo pane;
  int64_t shard = 0;
  int64_t shards = 1;
  int64_t records = 0;
  int64_t size_bytes = 0;  // compressed

  friend bool operator==(const FileResult&, const FileResult&) = default;
};

}  // namespace hornbeam::io

template <>
struct hornbeam::model::Coder<hornbeam::io::FileResult> {
  static void Encode(const io::FileResult& v, std::string* out) {
    PutBytes(out, v.path);
    PutWindow(out, v.window);
    PutPane(out, v.pane);
    for (const int64_t n : {v.shard, v.shards, v.records, v.size_bytes}) PutSigned(out, n);
  }
  static bool Decode(ByteReader& in, io::FileResult* v) {
    v->path.assign(in.Bytes());
    v->window = ReadWindow(in);
    v->pane = ReadPane(in);
    for (int64_t* const n : {&v->shard, &v->shards, &v->records, &v->size_bytes}) *n = in.Signed();
    return in.ok();
  }
};

#endif  // HORNBEAM_IO_FILE_RESULT_H_
