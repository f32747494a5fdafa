// CoGroupByKey, and the joins that stand on it.
//
//   const PCollection<KV<std::string, Order>> orders = ...;
//   const PCollection<KV<std::string, Store>> stores = ...;
//   std::tuple(orders, stores) | "Group" >> CoGroupByKey();      // KV<std::string, std::tuple<std::vector<Order>, std::vector<Store>>>
//   std::tuple(orders, stores) | "Join" >> InnerJoin();          // KV<std::string, KV<Order, Store>>
//
// The collections have the same key type and the same windows; the trigger is the first one's. A join is of what one pane has of
// both sides, every value with every value, within its window.
#ifndef HORNBEAM_TRANSFORMS_CO_GROUP_BY_KEY_H_
#define HORNBEAM_TRANSFORMS_CO_GROUP_BY_KEY_H_

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/elementwise.h"
#include "hornbeam/transforms/group_by_key.h"
#include "model/container_coders.h"

namespace hornbeam {

// Applies a transform of several collections.
template <typename... Ts, typename Transform>
auto operator|(const std::tuple<PCollection<Ts>...>& inputs, const NamedTransform<Transform>& named) {
  return named.transform.Expand(inputs, named.name);
}

// For each key that any of the inputs has, the values of each, in the order in which they came.
class CoGroupByKey : public PTransform {
 public:
  template <typename K, typename... Vs>
  PCollection<KV<K, std::tuple<std::vector<Vs>...>>> Expand(const std::tuple<PCollection<KV<K, Vs>>...>& inputs,
                                                            const std::string& name) const {
    using Either = std::variant<Vs...>;
    CheckWindows(inputs, name);
    const auto tagged = Tagged<K, Either>(inputs, name, std::index_sequence_for<Vs...>());
    return Flatten(absl::StrCat(name, "/Flatten"), tagged) | NamedTransform{absl::StrCat(name, "/Group"), GroupByKey()} |
           NamedTransform{absl::StrCat(name, "/Split"), Map([](KV<K, std::vector<Either>>&& group) {
                            KV<K, std::tuple<std::vector<Vs>...>> split{std::move(group.key), {}};
                            for (Either& value : group.value) Put(std::move(value), &split.value, std::index_sequence_for<Vs...>());
                            return split;
                          })};
  }

 private:
  template <typename... Ts>
  static void CheckWindows(const std::tuple<PCollection<Ts>...>& inputs, const std::string& name) {
    std::apply(
        [&](const auto& first, const auto&... others) {
          const auto check = [&](const WindowFn& other) {
            if (other == first.windowing().window_fn) return;
            first.pipeline().NoteMistake(absl::InvalidArgumentError(
                absl::StrCat("'", name, "' joins collections in different windows, ", ToString(first.windowing().window_fn), " and ",
                             ToString(other), "; give them the same with WindowInto")));
          };
          (check(others.windowing().window_fn), ...);
        },
        inputs);
  }

  template <typename K, typename Either, typename Inputs, size_t... I>
  static std::vector<PCollection<KV<K, Either>>> Tagged(const Inputs& inputs, const std::string& name, std::index_sequence<I...>) {
    return {Tag<K, Either, I>(std::get<I>(inputs), absl::StrCat(name, "/Tag", I))...};
  }
  template <typename K, typename Either, size_t I, typename V>
  static PCollection<KV<K, Either>> Tag(const PCollection<KV<K, V>>& input, const std::string& name) {
    return input | NamedTransform{name, Map([](const KV<K, V>& kv) {
                                    return KV<K, Either>{kv.key, Either(std::in_place_index<I>, kv.value)};
                                  })};
  }

  template <typename Either, typename Lists, size_t... I>
  static void Put(Either&& value, Lists* lists, std::index_sequence<I...>) {
    ((value.index() == I ? std::get<I>(*lists).push_back(std::get<I>(std::move(value))) : void()), ...);
  }
};

namespace internal {

// Which sides of a join may be missing.
template <bool kKeepLeft, bool kKeepRight>
class Join : public PTransform {
 public:
  template <typename K, typename L, typename R>
  auto Expand(const std::tuple<PCollection<KV<K, L>>, PCollection<KV<K, R>>>& sides, const std::string& name) const {
    using Left = std::conditional_t<kKeepRight, std::optional<L>, L>;
    using Right = std::conditional_t<kKeepLeft, std::optional<R>, R>;
    using Groups = KV<K, std::tuple<std::vector<L>, std::vector<R>>>;
    using Joined = KV<K, KV<Left, Right>>;
    return sides | NamedTransform{absl::StrCat(name, "/Group"), CoGroupByKey()} |
           NamedTransform{absl::StrCat(name, "/Pair"), ParDo<Joined>([](const Groups& group, OutputReceiver<Joined>& out) {
                            const auto& [lefts, rights] = group.value;
                            for (const L& left : lefts) {
                              for (const R& right : rights) out.Output({group.key, {left, right}});
                            }
                            if constexpr (kKeepLeft) {
                              if (rights.empty()) {
                                for (const L& left : lefts) out.Output({group.key, {left, std::nullopt}});
                              }
                            }
                            if constexpr (kKeepRight) {
                              if (lefts.empty()) {
                                for (const R& right : rights) out.Output({group.key, {std::nullopt, right}});
                              }
                            }
                          })};
  }
};

}  // namespace internal

// KV<K, KV<L, R>>; a side that may be missing is a std::optional: KV<K, KV<L, std::optional<R>>> of a left join.
struct InnerJoin : internal::Join<false, false> {};
struct LeftOuterJoin : internal::Join<true, false> {};
struct RightOuterJoin : internal::Join<false, true> {};
struct FullOuterJoin : internal::Join<true, true> {};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_CO_GROUP_BY_KEY_H_
