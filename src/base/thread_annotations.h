// Clang's thread-safety attributes (`make clang` checks them); nothing elsewhere.
#ifndef HORNBEAM_BASE_THREAD_ANNOTATIONS_H_
#define HORNBEAM_BASE_THREAD_ANNOTATIONS_H_

#include "absl/base/thread_annotations.h"

#endif  // HORNBEAM_BASE_THREAD_ANNOTATIONS_H_
