#include "reference_buffer.h"

#include <algorithm>
#include <set>

namespace hornbeam::oracle {

using model::EventTime;

void ReferenceBuffer::AddElement(const Element& element) {
  for (const model::Window& window : element.windows) {
    if (ExpiryOf(window, allowed_lateness_) < watermark_) continue;
    const Id id{window, element.key};
    Cell& cell = cells_[id];
    cell.values.push_back(element.value);
    cell.first = std::min(cell.first, element.timestamp);
    if (window.MaxTimestamp() >= watermark_) continue;
    Fire(id, cells_.extract(id).mapped());
  }
}

void ReferenceBuffer::Fire(const Id& id, Cell cell) {
  std::sort(cell.values.begin(), cell.values.end());
  emit_(id.second, id.first, std::move(cell.values), cell.first);
}

EventTime ReferenceBuffer::AdvanceWatermark(EventTime watermark) {
  watermark_ = std::max(watermark_, watermark);
  std::set<std::pair<EventTime, Id>> due;
  for (const auto& [id, cell] : cells_) due.insert({id.first.MaxTimestamp(), id});
  for (const auto& [at, id] : due) {
    if (at >= watermark_) break;
    Fire(id, cells_.extract(id).mapped());
  }
  EventTime output = watermark_;
  for (const auto& [id, cell] : cells_) output = std::min(output, cell.first);
  output_watermark_ = std::max(output_watermark_, output);
  return output_watermark_;
}

}  // namespace hornbeam::oracle
