// A piece of a file, and where it stood: for readers whose errors have to say so.
#ifndef HORNBEAM_IO_FILE_RECORD_H_
#define HORNBEAM_IO_FILE_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "model/coder.h"

namespace hornbeam::io {

struct FileRecord {
  std::shared_ptr<const std::string> file;  // its path; never null
  int64_t line =
      0;  // where it begins, from 1; 0 where the file is read from somewhere in the middle
  uint64_t offset = 0;  // where it begins, in decompressed bytes
  std::string bytes;

  // "'in/a.csv' line 7", "'in/a.csv' byte 1048576".
  std::string Place() const;
};

}  // namespace hornbeam::io

template <>
struct hornbeam::model::Coder<hornbeam::io::FileRecord> {
  static void Encode(const io::FileRecord& v, std::string* out) {
    PutBytes(out, *v.file);
    PutSigned(out, v.line);
    PutVarint(out, v.offset);
    PutBytes(out, v.bytes);
  }
  static bool Decode(ByteReader& in, io::FileRecord* v) {
    v->file = std::make_shared<const std::string>(in.Bytes());
    v->line = in.Signed();
    v->offset = in.Varint();
    v->bytes.assign(in.Bytes());
    return in.ok();
  }
};

#endif  // HORNBEAM_IO_FILE_RECORD_H_
