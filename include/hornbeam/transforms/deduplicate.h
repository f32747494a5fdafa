// Deduplicate: the first of equal elements within a time; those that follow are dropped (Beam's Deduplicate).
//
//   messages | "Once" >> Deduplicate::ByRepresentativeValue([](const Message& m) { return m.id; }).WithDuration(Minutes(10))
//
// The time counts from the first element, which passes at once: by the clock, or, with TimeDomain::kEventTime, from its timestamp
// until the watermark has passed the end. The next one after that passes again. State is by window: equal elements in two windows
// both pass. Where one window is all there is to it, DeduplicatePerWindow (group_by_key.h) needs less memory.
#ifndef HORNBEAM_TRANSFORMS_DEDUPLICATE_H_
#define HORNBEAM_TRANSFORMS_DEDUPLICATE_H_

#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hornbeam/state.h"

namespace hornbeam {

using engine::TimeDomain;

struct DeduplicateSettings {
  TimeDomain domain = TimeDomain::kProcessingTime;
  Duration duration = Minutes(10);  // Beam's defaults
};

namespace internal {

// A value that says nothing.
struct Nothing {
  friend bool operator==(Nothing, Nothing) = default;
};

template <typename K, typename V, typename Timer>
struct DeduplicateFn : StatefulDoFn {
  explicit DeduplicateFn(Duration d) : duration(d) {}

  Duration duration;
  ValueState<bool> seen{"seen"};
  Timer expiry{"expiry"};  // holds nothing: what was seen is no output to come

  void ProcessElement(const KV<K, V>& element, OutputReceiver<KV<K, V>>& out) {
    if (!seen.IsEmpty()) return;
    seen.Write(true);
    expiry.WithoutHold().SetRelative(duration);
    out.Output(element);
  }
  void OnTimer(const K&, const TimerContext&, OutputReceiver<KV<K, V>>&) { seen.Clear(); }
};

template <typename K, typename V>
PCollection<KV<K, V>> ApplyDeduplicate(const PCollection<KV<K, V>>& input, const std::string& name,
                                       const DeduplicateSettings& settings) {
  if (settings.duration <= Duration{}) {
    input.pipeline().NoteMistake(absl::InvalidArgumentError(absl::StrCat("'", name, "': the duration must be above zero")));
  }
  if (settings.domain == TimeDomain::kEventTime) {
    return input | NamedTransform{name, ParDo<KV<K, V>>(DeduplicateFn<K, V, EventTimer>(settings.duration))};
  }
  return input | NamedTransform{name, ParDo<KV<K, V>>(DeduplicateFn<K, V, ProcessingTimer>(settings.duration))};
}

// The settings that all forms of Deduplicate have.
template <typename Transform>
class DeduplicateForm : public PTransform {
 public:
  Transform WithDuration(Duration d) const {
    Transform changed = static_cast<const Transform&>(*this);
    changed.settings_.duration = d;
    return changed;
  }
  Transform WithTimeDomain(TimeDomain domain) const {
    Transform changed = static_cast<const Transform&>(*this);
    changed.settings_.domain = domain;
    return changed;
  }

 protected:
  DeduplicateSettings settings_;
};

}  // namespace internal

// Of a PCollection<KV<K, V>>, by key.
class DeduplicateKeyedValues : public internal::DeduplicateForm<DeduplicateKeyedValues> {
 public:
  template <typename K, typename V>
  PCollection<KV<K, V>> Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    return internal::ApplyDeduplicate(input, name, settings_);
  }
};

// By the element itself, which has a coder.
class DeduplicateValues : public internal::DeduplicateForm<DeduplicateValues> {
 public:
  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    using Keyed = KV<T, internal::Nothing>;
    const auto keyed = input | NamedTransform{absl::StrCat(name, "/Key"), Map([](const T& element) { return Keyed{element, {}}; })};
    return internal::ApplyDeduplicate(keyed, absl::StrCat(name, "/Once"), settings_) |
           NamedTransform{absl::StrCat(name, "/Value"), Map([](Keyed&& element) { return std::move(element.key); })};
  }
};

// By what `fn` makes of the element.
template <typename Fn>
class DeduplicateByRepresentativeValue : public internal::DeduplicateForm<DeduplicateByRepresentativeValue<Fn>> {
 public:
  explicit DeduplicateByRepresentativeValue(Fn fn) : fn_(std::move(fn)) {}

  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    using Id = std::decay_t<std::invoke_result_t<Fn&, const T&>>;
    const auto keyed = input | NamedTransform{absl::StrCat(name, "/Key"), Map([fn = fn_](const T& element) mutable {
                                                return KV<Id, T>{fn(element), element};
                                              })};
    return internal::ApplyDeduplicate(keyed, absl::StrCat(name, "/Once"), this->settings_) |
           NamedTransform{absl::StrCat(name, "/Value"), Map([](KV<Id, T>&& element) { return std::move(element.value); })};
  }

 private:
  Fn fn_;
};

struct Deduplicate {
  static DeduplicateKeyedValues KeyedValues() { return {}; }
  static DeduplicateValues Values() { return {}; }
  template <typename Fn>
  static DeduplicateByRepresentativeValue<Fn> ByRepresentativeValue(Fn fn) {
    return DeduplicateByRepresentativeValue<Fn>(std::move(fn));
  }
};

}  // namespace hornbeam

template <>
struct hornbeam::model::Coder<hornbeam::internal::Nothing> {
  static void Encode(hornbeam::internal::Nothing, std::string*) {}
  static bool Decode(ByteReader& in, hornbeam::internal::Nothing*) { return in.ok(); }
};

#endif  // HORNBEAM_TRANSFORMS_DEDUPLICATE_H_
