#include "model/beam/window_coders.h"

#include <string>
#include <utility>
#include <vector>

#include "model/beam/times.h"
#include "model/coder.h"

namespace hornbeam::model::beam {
namespace {

class GlobalWindowCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string*) const override {
    const auto* window = value.As<Window>();
    return window != nullptr && window->is_global();
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    value->is = Window::Global();
    return in.ok();
  }
};

class IntervalWindowCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* window = value.As<Window>();
    if (window == nullptr || window->start > window->end) return false;
    PutInterval(*window, out);
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    value->is = ReadInterval(in);
    return in.ok();
  }
};

class CustomWindowCoder final : public Coder {
 public:
  explicit CustomWindowCoder(CoderPtr window) : window_(std::move(window)) {}

  bool Encode(const Value& value, Context context, std::string* out) const override {
    const auto* window = value.As<Window>();
    if (window == nullptr) return false;
    PutInstant(window->end - Millis(1), out);
    return window_->Encode(value, context, out);
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    ReadInstant(in);
    return in.ok() && window_->Decode(in, context, value);
  }

 private:
  const CoderPtr window_;
};

// A count, then the windows: an iterable.
bool PutWindows(const std::vector<Window>& windows, const Coder& coder, std::string* out) {
  model::internal::PutBigEndian32(out, static_cast<uint32_t>(windows.size()));
  for (const Window& window : windows) {
    if (!coder.Encode(Value{window}, Context::kNested, out)) return false;
  }
  return true;
}
bool ReadWindows(ByteReader& in, const CoderPtr& coder, std::vector<Window>* windows) {
  Value list;
  if (!MakeIterableCoder(coder, {})->Decode(in, Context::kNested, &list)) return false;
  for (const Value& window : *list.As<List>()) {
    if (window.As<Window>() == nullptr) return false;
    windows->push_back(*window.As<Window>());
  }
  return true;
}

class WindowedValueCoder final : public Coder {
 public:
  WindowedValueCoder(CoderPtr value, CoderPtr window) : value_(std::move(value)), window_(std::move(window)) {}

  bool Encode(const Value& value, Context context, std::string* out) const override {
    const auto* fields = value.As<std::shared_ptr<const WindowedFields>>();
    if (fields == nullptr) return false;
    PutInstant((*fields)->timestamp, out);
    if (!PutWindows((*fields)->windows, *window_, out)) return false;
    PutPaneInfo((*fields)->pane, out);
    return value_->Encode((*fields)->value, context, out);
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    auto fields = std::make_shared<WindowedFields>();
    if (!ReadHead(in, window_, fields.get()) || !value_->Decode(in, context, &fields->value)) return false;
    value->is = std::shared_ptr<const WindowedFields>(std::move(fields));
    return true;
  }

  // All but the value.
  static bool ReadHead(ByteReader& in, const CoderPtr& window, WindowedFields* fields) {
    fields->timestamp = ReadInstant(in);
    return ReadWindows(in, window, &fields->windows) && ReadPaneInfo(in, &fields->pane);
  }

 private:
  const CoderPtr value_;
  const CoderPtr window_;
};

class ParamWindowedValueCoder final : public Coder {
 public:
  ParamWindowedValueCoder(CoderPtr value, WindowedFields head) : value_(std::move(value)), head_(std::move(head)) {}

  bool Encode(const Value& value, Context context, std::string* out) const override {
    const auto* fields = value.As<std::shared_ptr<const WindowedFields>>();
    return fields != nullptr && value_->Encode((*fields)->value, context, out);
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    auto fields = std::make_shared<WindowedFields>(head_);
    if (!value_->Decode(in, context, &fields->value)) return false;
    value->is = std::shared_ptr<const WindowedFields>(std::move(fields));
    return true;
  }

 private:
  const CoderPtr value_;
  const WindowedFields head_;
};

class TimerCoder final : public Coder {
 public:
  TimerCoder(CoderPtr key, CoderPtr window) : key_(std::move(key)), window_(std::move(window)) {}

  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* shared = value.As<std::shared_ptr<const TimerFields>>();
    if (shared == nullptr) return false;
    const TimerFields& timer = **shared;
    if (!key_->Encode(timer.key, Context::kNested, out)) return false;
    PutBytes(out, timer.tag);
    if (!PutWindows(timer.windows, *window_, out)) return false;
    out->push_back(timer.clears ? 1 : 0);
    if (timer.clears) return true;
    PutInstant(timer.fire_timestamp, out);
    PutInstant(timer.hold_timestamp, out);
    PutPaneInfo(timer.pane, out);
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    auto timer = std::make_shared<TimerFields>();
    if (!key_->Decode(in, Context::kNested, &timer->key)) return false;
    timer->tag = std::string(in.Bytes());
    if (!ReadWindows(in, window_, &timer->windows) || !model::Coder<bool>::Decode(in, &timer->clears)) return false;
    if (!timer->clears) {
      timer->fire_timestamp = ReadInstant(in);
      timer->hold_timestamp = ReadInstant(in);
      if (!ReadPaneInfo(in, &timer->pane)) return false;
    }
    value->is = std::shared_ptr<const TimerFields>(std::move(timer));
    return true;
  }

 private:
  const CoderPtr key_;
  const CoderPtr window_;
};

}  // namespace

CoderPtr MakeGlobalWindowCoder() { return std::make_shared<GlobalWindowCoder>(); }
CoderPtr MakeIntervalWindowCoder() { return std::make_shared<IntervalWindowCoder>(); }
CoderPtr MakeCustomWindowCoder(CoderPtr window) { return std::make_shared<CustomWindowCoder>(std::move(window)); }
CoderPtr MakeWindowedValueCoder(CoderPtr value, CoderPtr window) {
  return std::make_shared<WindowedValueCoder>(std::move(value), std::move(window));
}
CoderPtr MakeTimerCoder(CoderPtr key, CoderPtr window) { return std::make_shared<TimerCoder>(std::move(key), std::move(window)); }

StatusOr<CoderPtr> MakeParamWindowedValueCoder(CoderPtr value, CoderPtr window, std::string_view payload) {
  ByteReader in(payload);
  WindowedFields head;
  if (!WindowedValueCoder::ReadHead(in, window, &head)) {
    return absl::InvalidArgumentError("the payload of a param_windowed_value coder is not a time, windows and a pane");
  }
  return std::make_shared<ParamWindowedValueCoder>(std::move(value), std::move(head));
}

}  // namespace hornbeam::model::beam
