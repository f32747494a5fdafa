// User code that throws, and what is said of it.
#ifndef HORNBEAM_ENGINE_OPERATORS_FAILED_CALL_H_
#define HORNBEAM_ENGINE_OPERATORS_FAILED_CALL_H_

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "model/coder.h"
#include "model/slice.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

// Calls `f`; what it threw, in words, or nothing.
template <typename F>
std::optional<std::string> ErrorOf(F f) {
  try {
    f();
    return std::nullopt;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// An element as FailedElement::element has it.
template <typename T>
std::string Describe(const T& element) {
  if constexpr (std::is_same_v<T, std::string>) {
    return element;
  } else if constexpr (std::is_same_v<T, model::Slice>) {
    return element.ToString();
  } else if constexpr (model::Codable<T>) {
    std::string bytes;
    model::Coder<T>::Encode(element, &bytes);
    return bytes;
  } else {
    return {};
  }
}

// Why a job ends whose DoFn failed on an element. `element` as Describe has it.
Status FailedOnElement(const std::string& transform, const model::Window& window,
                       std::string_view error, std::string_view element);

// How long what failed `attempts` times, tried so many times at once, waits for the next try: a second
// after the first, then twice as long each time, up to five minutes.
model::Duration Backoff(int64_t attempts, int at_once);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_FAILED_CALL_H_
