#include "model/beam/times.h"

#include "model/coder.h"

namespace hornbeam::model::beam {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
enum class Indices : uint8_t { kNone = 0, kOne = 1, kTwo = 2 };

Indices IndicesOf(const PaneInfo& pane) {
  if ((pane.index == 0 && pane.on_time_index == 0) || pane.timing == PaneTiming::kUnknown) return Indices::kNone;
  if (pane.index == pane.on_time_index || pane.timing == PaneTiming::kEarly) return Indices::kOne;
  return Indices::kTwo;
}

}  // namespace

void PutInstant(EventTime t, std::string* out) {
  model::internal::PutBigEndian64(out, static_cast<uint64_t>(t.us / 1000) ^ kSignBit);
}

EventTime ReadInstant(ByteReader& in) {
  const auto ms = static_cast<int64_t>(model::internal::BigEndian64(in) ^ kSignBit);
  return EventTime::FromMicros(model::internal::SaturatedMultiply(ms, 1000));
}

void PutInterval(const Window& window, std::string* out) {
  PutInstant(window.end, out);
  PutVarint(out, static_cast<uint64_t>(window.end.us / 1000 - window.start.us / 1000));
}

Window ReadInterval(ByteReader& in) {
  Window window;
  window.end = ReadInstant(in);
  window.start = window.end - Millis(static_cast<int64_t>(in.Varint()));
  return window;
}

void PutPaneInfo(const PaneInfo& pane, std::string* out) {
  const Indices indices = IndicesOf(pane);
  out->push_back(static_cast<char>((pane.is_first ? 1 : 0) | (pane.is_last ? 2 : 0) | (static_cast<int>(pane.timing) << 2) |
                                   (static_cast<int>(indices) << 4)));
  if (indices == Indices::kNone) return;
  PutVarint(out, static_cast<uint64_t>(pane.index));
  if (indices == Indices::kTwo) PutVarint(out, static_cast<uint64_t>(pane.on_time_index));
}

bool ReadPaneInfo(ByteReader& in, PaneInfo* pane) {
  const uint8_t head = in.Byte();
  pane->is_first = (head & 1) != 0;
  pane->is_last = (head & 2) != 0;
  pane->timing = static_cast<PaneTiming>((head >> 2) & 3);
  const bool early = pane->timing == PaneTiming::kEarly;
  switch (static_cast<Indices>(head >> 4)) {
    case Indices::kNone:
      pane->index = 0;
      pane->on_time_index = early ? -1 : 0;
      return in.ok();
    case Indices::kOne:
      pane->index = static_cast<int64_t>(in.Varint());
      pane->on_time_index = early ? -1 : pane->index;
      return in.ok();
    case Indices::kTwo:
      pane->index = static_cast<int64_t>(in.Varint());
      pane->on_time_index = static_cast<int64_t>(in.Varint());
      return in.ok();
  }
  return false;
}

}  // namespace hornbeam::model::beam
