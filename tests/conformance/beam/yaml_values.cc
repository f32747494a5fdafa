#include "yaml_values.h"

#include <cstdlib>
#include <stdexcept>

#include "model/beam/schema.h"

namespace hornbeam::model::beam {
namespace {

EventTime Instant(const YAML::Node& ms) { return EventTime::FromMicros(ms.as<int64_t>() * 1000); }

Window WindowOf(const YAML::Node& node) {
  if (!node.IsMap()) return Window::Global();
  if (node["window"]) return WindowOf(node["window"]);
  const EventTime end = Instant(node["end"]);
  return {end - Millis(node["span"].as<int64_t>()), end};
}

std::vector<Window> WindowsOf(const YAML::Node& node) {
  std::vector<Window> windows;
  for (const YAML::Node& window : node) windows.push_back(WindowOf(window));
  return windows;
}

PaneInfo PaneOf(const YAML::Node& node) {
  const auto timing = node["timing"].as<std::string>();
  PaneInfo pane;
  pane.is_first = node["is_first"].as<bool>();
  pane.is_last = node["is_last"].as<bool>();
  pane.timing = timing == "EARLY"     ? PaneTiming::kEarly
                : timing == "ON_TIME" ? PaneTiming::kOnTime
                : timing == "LATE"    ? PaneTiming::kLate
                                      : PaneTiming::kUnknown;
  pane.index = node["index"].as<int64_t>();
  pane.on_time_index = node["on_time_index"].as<int64_t>();
  return pane;
}

Value WindowedOf(const CoderSpec& spec, const YAML::Node& node) {
  auto fields = std::make_shared<WindowedFields>();
  fields->value = ValueOf(spec.components[0], node["value"]);
  fields->timestamp = Instant(node["timestamp"]);
  fields->windows = WindowsOf(node["windows"]);
  fields->pane = PaneOf(node["pane"]);
  return {std::shared_ptr<const WindowedFields>(fields)};
}

Value TimerOf(const CoderSpec& spec, const YAML::Node& node) {
  auto timer = std::make_shared<TimerFields>();
  timer->key = ValueOf(spec.components[0], node["userKey"]);
  timer->tag = node["dynamicTimerTag"].as<std::string>();
  timer->windows = WindowsOf(node["windows"]);
  timer->clears = node["clearBit"].as<bool>();
  if (!timer->clears) {
    timer->fire_timestamp = Instant(node["fireTimestamp"]);
    timer->hold_timestamp = Instant(node["holdTimestamp"]);
    timer->pane = PaneOf(node["pane"]);
  }
  return {std::shared_ptr<const TimerFields>(timer)};
}

// "3.1415" is scale 4 and 31415, in the fewest bytes of two's complement.
Value DecimalOf(const std::string& text) {
  const size_t point = text.find('.');
  std::string digits = text;
  digits.erase(point, 1);
  int64_t unscaled = std::strtoll(digits.c_str(), nullptr, 10);
  std::string bytes;
  do {
    bytes.insert(bytes.begin(), static_cast<char>(unscaled));
    unscaled >>= 8;
  } while (unscaled != (static_cast<int8_t>(bytes[0]) >> 7));
  return {List{{static_cast<int64_t>(text.size() - point - 1)}, {bytes}}};
}

Value FieldOf(const FieldType& type, const YAML::Node& node);

Value AtomicOf(AtomicType type, const YAML::Node& node) {
  switch (type) {
    case AtomicType::kBoolean: return {node.as<bool>()};
    case AtomicType::kFloat: return {static_cast<double>(std::strtof(node.as<std::string>().c_str(), nullptr))};
    case AtomicType::kDouble: return {std::strtod(node.as<std::string>().c_str(), nullptr)};
    case AtomicType::kString: return {node.as<std::string>()};
    case AtomicType::kBytes: return {BytesOf(node.as<std::string>())};
    default: return {node.as<int64_t>()};
  }
}

Value RowOf(const FieldType& type, const YAML::Node& node) {
  List row;
  for (const SchemaField& field : type.fields) row.push_back(FieldOf(field.type, node[field.name]));
  return {std::move(row)};
}

Value FieldOf(const FieldType& type, const YAML::Node& node) {
  if (node.IsNull()) return {};
  List list;
  switch (type.kind) {
    case FieldType::Kind::kAtomic: return AtomicOf(type.atomic, node);
    case FieldType::Kind::kRow: return RowOf(type, node);
    case FieldType::Kind::kArray:
      for (const YAML::Node& element : node) list.push_back(FieldOf(type.components[0], element));
      return {std::move(list)};
    case FieldType::Kind::kMap:
      for (const auto& entry : node) {
        list.push_back({List{FieldOf(type.components[0], entry.first), FieldOf(type.components[1], entry.second)}});
      }
      return {std::move(list)};
    case FieldType::Kind::kLogical:
      if (type.logical_urn == "beam:logical_type:decimal:v1") return DecimalOf(node.as<std::string>());
      return FieldOf(type.components[0], node);
    case FieldType::Kind::kNone: break;
  }
  throw std::invalid_argument("a field without a type");
}

}  // namespace

std::string BytesOf(const std::string& utf8) {
  std::string bytes;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes.push_back(utf8[i]);
    } else {  // U+0080 to U+00FF take two
      if (lead > 0xc3 || i + 1 == utf8.size()) throw std::invalid_argument("a character that is not a byte");
      bytes.push_back(static_cast<char>((lead << 6) | (utf8[++i] & 0x3f)));
    }
  }
  return bytes;
}

CoderSpec SpecOf(const YAML::Node& coder) {
  CoderSpec spec{coder["urn"].as<std::string>(), "", {}};
  if (coder["payload"]) spec.payload = BytesOf(coder["payload"].as<std::string>());
  for (const YAML::Node& component : coder["components"]) spec.components.push_back(SpecOf(component));
  return spec;
}

Value ValueOf(const CoderSpec& spec, const YAML::Node& node) {
  const std::string name = spec.urn.substr(11, spec.urn.size() - 14);  // beam:coder:NAME:v1
  if (name == "bytes") return {BytesOf(node.as<std::string>())};
  if (name == "string_utf8") return {node.as<std::string>()};
  if (name == "bool") return {node.as<bool>()};
  if (name == "varint") return {node.as<int64_t>()};
  if (name == "double") return {std::strtod(node.as<std::string>().c_str(), nullptr)};
  if (name == "kv") return {List{ValueOf(spec.components[0], node["key"]), ValueOf(spec.components[1], node["value"])}};
  if (name == "sharded_key") return {List{{node["shardId"].as<std::string>()}, ValueOf(spec.components[0], node["key"])}};
  if (name == "nullable") return node.IsNull() ? Value() : ValueOf(spec.components[0], node);
  if (name == "iterable" || name == "state_backed_iterable") {
    List list;
    for (const YAML::Node& element : node) list.push_back(ValueOf(spec.components[0], element));
    return {std::move(list)};
  }
  if (name == "global_window" || name == "interval_window" || name == "custom_window") return {WindowOf(node)};
  if (name == "windowed_value" || name == "param_windowed_value") return WindowedOf(spec, node);
  if (name == "timer") return TimerOf(spec, node);
  if (name == "row") return RowOf(ParseSchema(spec.payload).value(), node);
  throw std::invalid_argument("no values of " + spec.urn + " are known");
}

}  // namespace hornbeam::model::beam
