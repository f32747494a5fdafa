// Bytes that live as long as the batch they are in: what a source puts out when it hands on pieces of a buffer it read.
//
// A Slice has no coder, so it cannot be a key, be grouped or wait in state: make a std::string of it first.
#ifndef HORNBEAM_MODEL_SLICE_H_
#define HORNBEAM_MODEL_SLICE_H_

#include <string>
#include <string_view>

namespace hornbeam::model {

struct Slice {
  const char* data = nullptr;
  size_t size = 0;
  // Bytes after the end that may be read, though they mean nothing (parsers that read ahead need some).
  size_t padding = 0;

  std::string_view view() const { return {data, size}; }
  std::string ToString() const { return std::string(data, size); }
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_SLICE_H_
