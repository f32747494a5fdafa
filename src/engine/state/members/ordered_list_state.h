// OrderedListState: values of a key and window in the order of the event times they are given, and of adding within one.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_ORDERED_LIST_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_ORDERED_LIST_STATE_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/state/members/keyed_state.h"
#include "model/time.h"

namespace hornbeam::engine {

struct OrderedListKey {
  model::EventTime time;
  uint64_t number = 0;  // of those with this time, from 0
  friend auto operator<=>(const OrderedListKey&, const OrderedListKey&) = default;
};
HORNBEAM_CODER(OrderedListKey, time, number)

template <typename T>
class OrderedListState final : public KeyedState<OrderedListKey, T> {
 public:
  explicit OrderedListState(std::string name) : KeyedState<OrderedListKey, T>(std::move(name)) {}

  void Add(model::EventTime time, T value) {
    const auto& all = this->entries();
    uint64_t number = 0;
    if (auto next = all.upper_bound({time, UINT64_MAX}); next != all.begin()) {
      const OrderedListKey& last = (--next)->first;
      if (last.time == time) number = last.number + 1;
    }
    this->PutValue({time, number}, std::move(value));
  }
  // visit(time, value) for those with from <= time < to; it must not change the list.
  template <typename Visit>
  void ForEachInRange(model::EventTime from, model::EventTime to, Visit visit) const {
    const auto& all = this->entries();
    for (auto at = all.lower_bound({from, 0}); at != all.end() && at->first.time < to; ++at) {
      visit(at->first.time, at->second.value);
    }
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [key, entry] : this->entries()) visit(key.time, entry.value);
  }
  std::vector<T> ReadRange(model::EventTime from, model::EventTime to) const {
    std::vector<T> values;
    ForEachInRange(from, to, [&](model::EventTime, const T& value) { values.push_back(value); });
    return values;
  }
  std::vector<T> Read() const {
    std::vector<T> values;
    ForEach([&](model::EventTime, const T& value) { values.push_back(value); });
    return values;
  }
  // Those with from <= time < to.
  void ClearRange(model::EventTime from, model::EventTime to) {
    std::vector<OrderedListKey> keys;
    const auto& all = this->entries();
    for (auto at = all.lower_bound({from, 0}); at != all.end() && at->first.time < to; ++at) keys.push_back(at->first);
    for (const OrderedListKey& key : keys) this->RemoveKey(key);
  }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_ORDERED_LIST_STATE_H_
