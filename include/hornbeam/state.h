// State and timers in a DoFn (Beam's stateful processing).
//
//   struct CountAndFlush : StatefulDoFn {
//     ValueState<int64_t> count{"count"};
//     EventTimer flush{"flush"};
//
//     void ProcessElement(const KV<std::string, Order>& order, const ElementContext& context, OutputReceiver<Total>& out) {
//       if (count.IsEmpty()) flush.Set(context.window().MaxTimestamp());
//       count.Write(count.Read() + 1);
//     }
//     void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<Total>& out) {
//       out.Output({key, count.Read()});
//       count.Clear();
//     }
//   };
//   KV<std::string, Order> | "Count" >> ParDo<Total>(CountAndFlush());
//
// A DoFn that derives from StatefulDoFn takes the elements of a PCollection<KV<K, V>> by key: K and V have coders. What it declares
// as members, each with a name of its own, is kept by key and window:
//
//   ValueState<T>, BagState<T>, CombiningState<CombineFn>, MapState<K, V>, SetState<T>, MultimapState<K, V>,
//   OrderedListState<T>                                             (engine/state/members)
//   EventTimer, ProcessingTimer, EventTimerFamily, ProcessingTimerFamily         (engine/timers/timer_member.h)
//
// They are used in ProcessElement(const KV<K, V>&[, const ElementContext&], OutputReceiver<Out>&...),
// OnTimer(const K&, const TimerContext&, OutputReceiver<Out>&...), where TimerContext::Is tells which timer it is, and
// OnWindowExpiration(const K&, const ExpirationContext&, OutputReceiver<Out>&...), which is called once for every key of a window
// before its state goes: when the watermark passes the end of the window and the allowed lateness. (Of the global window, at the
// end of time, for keys that still have state.) Elements that come after it are dropped as late.
//
// What one call does to state, timers and outputs holds as a whole, or, when it throws, not at all; what then happens to the element
// or the timer OnFailure says, as for every ParDo. A parked one is input that is still to come: event time stands still in this
// transform until it has been dealt with.
//
// State is durable: it is there after a restart, also with another number of workers. A state whose name or type changes is refused
// then. State that must not grow for ever in the global window goes with WithStateTtl(Duration): a key's when it was not written for
// so long by the clock and has no timer set.
#ifndef HORNBEAM_STATE_H_
#define HORNBEAM_STATE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/operators/stateful_par_do.h"
#include "engine/state/members/bag_state.h"
#include "engine/state/members/combining_state.h"
#include "engine/state/members/map_state.h"
#include "engine/state/members/ordered_list_state.h"
#include "engine/state/members/value_state.h"
#include "engine/timers/timer_member.h"
#include "hornbeam/transforms/group_by_key.h"
#include "hornbeam/transforms/par_do.h"
#include "hornbeam/transforms/window.h"

namespace hornbeam {

using engine::BagState;
using engine::CombiningState;
using engine::EventTimer;
using engine::EventTimerFamily;
using engine::ExpirationContext;
using engine::MapState;
using engine::MultimapState;
using engine::OrderedListState;
using engine::ProcessingTimer;
using engine::ProcessingTimerFamily;
using engine::SetState;
using engine::TimerContext;
using engine::ValueState;

// What a DoFn with state or timers derives from.
struct StatefulDoFn {};

namespace internal {

template <typename In>
struct KeyedElement {
  static constexpr bool kIsKeyed = false;
};
template <typename K, typename V>
struct KeyedElement<KV<K, V>> {
  static constexpr bool kIsKeyed = true;
};

template <typename K, typename V, typename... Outs, typename Caller>
PCollectionTuple<Outs...> ApplyKeyedParDo(const PCollection<KV<K, V>>& unexploded, const std::string& name, const Caller& caller,
                                          const ParDoSettings& settings) {
  const PCollection<KV<K, V>> input = InEachWindow(unexploded, name);
  const WindowingStrategy strategy = input.windowing();
  if (strategy.merges()) {
    input.pipeline().NoteMistake(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' keeps state by window, and windows of ", ToString(strategy.window_fn),
                     " are not settled until they are grouped; give it windows that do not merge")));
  }
  const engine::StatefulSettings stateful{settings.policy, settings.state_ttl};
  auto factory = KeyedFactory<K, V>([strategy, caller, stateful] {
    return std::make_unique<engine::StatefulParDoOperator<K, V, Caller, Outs...>>(strategy, caller, stateful);
  });
  return AddParDo<Outs...>(input, name, std::move(factory), settings);
}

// ApplyParDo of a StatefulDoFn.
template <typename In, typename... Outs, typename Caller>
PCollectionTuple<Outs...> ApplyStatefulParDo(const PCollection<In>& input, const std::string& name, const Caller& caller,
                                             const ParDoSettings& settings) {
  static_assert(KeyedElement<In>::kIsKeyed, "a DoFn with state takes the elements of a PCollection<KV<K, V>>: see WithKeys");
  return ApplyKeyedParDo<typename In::KeyT, typename In::ValueT, Outs...>(input, name, caller, settings);
}

}  // namespace internal

}  // namespace hornbeam

#endif  // HORNBEAM_STATE_H_
