#include "engine/splittable/restriction_queue.h"

#include <algorithm>
#include <vector>

#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

Status Malformed() { return absl::DataLossError("the log holds malformed restrictions of a splittable DoFn"); }

}  // namespace

void RestrictionQueue::Add(uint32_t unit, model::EventTime hold, std::string payload) {
  const Number number = (++last_count_ << kUnitBits) | unit;
  Waiting& waiting = waiting_[number];
  waiting.unit = unit;
  waiting.hold = holds_.HoldAt(hold);
  waiting.payload = std::move(payload);
  Schedule(number, waiting, kAtOnce);
  units_[unit].insert(number);
  changed_[unit].insert(number);
}

void RestrictionQueue::Schedule(Number number, Waiting& waiting, model::ProcessingTime due) {
  waiting.due = due;
  waiting.turn = ++last_turn_;
  turns_[{due, waiting.turn}] = number;
}

std::optional<RestrictionQueue::Number> RestrictionQueue::PopDue(model::ProcessingTime now) {
  if (turns_.empty() || NextDue() > now) return std::nullopt;
  const Number number = turns_.begin()->second;
  turns_.erase(turns_.begin());
  return number;
}

void RestrictionQueue::Requeue(Number number, model::ProcessingTime due, model::EventTime hold, std::string payload) {
  Waiting& waiting = waiting_.at(number);
  waiting.payload = std::move(payload);
  waiting.hold.MoveTo(std::max(waiting.hold.time(), hold));
  changed_[waiting.unit].insert(number);
  Schedule(number, waiting, due);
}

void RestrictionQueue::Finish(Number number) {
  const auto at = waiting_.find(number);
  changed_[at->second.unit].insert(number);
  Erase(at);
}

void RestrictionQueue::Erase(std::map<Number, Waiting>::iterator at) {
  turns_.erase({at->second.due, at->second.turn});
  const auto unit = units_.find(at->second.unit);
  unit->second.erase(at->first);
  if (unit->second.empty()) units_.erase(unit);
  waiting_.erase(at);
}

void RestrictionQueue::MakeAllDue() {
  std::vector<Number> order;
  for (const auto& [turn, number] : turns_) order.push_back(number);
  turns_.clear();
  for (const Number number : order) Schedule(number, waiting_.at(number), kAtOnce);
}

void RestrictionQueue::LogChanges(OperatorId op, EpochRecords* records) {
  for (const auto& [unit, numbers] : changed_) {
    const bool ends = !units_.contains(unit);  // and all earlier records of it with it
    std::string* const out = records->Begin(op, unit, ends);
    for (const Number number : numbers) {
      if (ends) break;
      if (const auto at = waiting_.find(number); at != waiting_.end()) {
        LogPut(number, at->second, out);
      } else {
        out->push_back(static_cast<char>(Op::kRemove));
        PutVarint(out, number);
      }
    }
    records->End();
  }
  changed_.clear();
}

void RestrictionQueue::LogAll(OperatorId op, uint32_t unit, EpochRecords* records) const {
  std::string* const out = records->Begin(op, unit, true);
  if (const auto numbers = units_.find(unit); numbers != units_.end()) {
    for (const Number number : numbers->second) LogPut(number, waiting_.at(number), out);
  }
  records->End();
}

void RestrictionQueue::LogPut(Number number, const Waiting& waiting, std::string* out) const {
  out->push_back(static_cast<char>(Op::kPut));
  PutVarint(out, number);
  PutSigned(out, waiting.due.us);
  PutSigned(out, waiting.hold.time().us);
  PutBytes(out, waiting.payload);
}

Status RestrictionQueue::Restore(uint32_t unit, bool replaces, std::string_view record) {
  if (replaces) {
    while (units_.contains(unit)) Erase(waiting_.find(*units_[unit].begin()));
  }
  ByteReader in(record);
  while (in.ok() && !in.done()) {
    const auto op = static_cast<Op>(in.Byte());
    const Number number = in.Varint();
    if (const auto at = waiting_.find(number); at != waiting_.end()) Erase(at);
    if (op == Op::kRemove) continue;
    Waiting waiting;
    waiting.unit = unit;
    const model::ProcessingTime due{in.Signed()};
    const auto hold = model::EventTime::FromMicros(in.Signed());
    waiting.payload = std::string(in.Bytes());
    if (op != Op::kPut || !in.ok() || number % (1 << kUnitBits) != unit) return Malformed();
    waiting.hold = holds_.HoldAt(hold);
    Schedule(number, waiting, due);
    waiting_.emplace(number, std::move(waiting));
    units_[unit].insert(number);
    last_count_ = std::max(last_count_, number >> kUnitBits);
  }
  return in.ok() ? absl::OkStatus() : Malformed();
}

}  // namespace hornbeam::engine
