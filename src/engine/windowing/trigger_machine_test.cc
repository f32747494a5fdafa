#include "engine/windowing/trigger_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::ProcessingTime;
using model::Seconds;
using model::Trigger;
using model::Window;

const Window kMinute{EventTime::FromSeconds(0), EventTime::FromSeconds(60)};

Trigger Count(int64_t n) { return Trigger::AfterCount(n); }
Trigger Delay(int64_t seconds) { return Trigger::AfterProcessingTime(Seconds(seconds)); }

// One key and window of a grouping, in a notation that fits on a line. Events: `e` an element,
// `w30` the watermark goes to 30 s (the window ends at 60), `t5` the clock goes to 5 s. Run says
// for each event whether the trigger fired after it: `.` not, `F` it did, `x` it did and has
// finished; an element in a finished window is `d`, dropped. Panes without elements fire only at
// the end of the window, once.
class Driver {
 public:
  explicit Driver(const Trigger& trigger) : machine_(trigger) {
    EXPECT_TRUE(trigger.Validate().ok()) << trigger.Validate();
  }

  std::string Run(const std::string& events) {
    std::string fired;
    for (size_t i = 0; i < events.size();) {
      const char kind = events[i++];
      if (kind == ' ') continue;
      size_t digits = 0;
      const int64_t n = kind == 'e' ? 0 : std::stoll(events.substr(i), &digits);
      i += digits;
      fired += Step(kind, n);
    }
    return fired;
  }

  const TriggerMachine& machine() const { return machine_; }
  const TriggerState& state() const { return state_; }
  const TriggerContext& context() const { return context_; }

 private:
  char Step(char kind, int64_t n) {
    if (kind == 'w') context_.watermark = EventTime::FromSeconds(n);
    if (kind == 't') context_.now = ProcessingTime{n * 1'000'000};
    if (machine_.IsFinished(state_)) return kind == 'e' ? 'd' : '.';
    if (kind == 'e') {
      machine_.OnElements(&state_, 1, context_);
      has_elements_ = true;
    }
    const bool may_be_empty = context_.EndOfWindowReached() && !on_time_fired_;
    if (!(has_elements_ || may_be_empty) || !machine_.ShouldFire(state_, context_)) return '.';
    machine_.OnFire(&state_, context_);
    has_elements_ = false;
    on_time_fired_ |= context_.EndOfWindowReached();
    return machine_.IsFinished(state_) ? 'x' : 'F';
  }

  TriggerMachine machine_;
  TriggerState state_;
  TriggerContext context_{kMinute, EventTime::Min(), ProcessingTime{0}};
  bool has_elements_ = false;
  bool on_time_fired_ = false;
};

std::string Fires(const Trigger& trigger, const std::string& events) {
  return Driver(trigger).Run(events);
}

TEST(TriggerMachineTest, DefaultFiresAtTheEndOfTheWindowAndForEveryLateElement) {
  EXPECT_EQ(Fires(Trigger::Default(), "e e w59 w60 e e w90"), "...FFF.");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Trigger::AfterWatermark()), "e e w59 w60 e e w90"),
            "...FFF.");
}

TEST(TriggerMachineTest, AfterWatermarkFiresOnceAndClosesTheWindow) {
  EXPECT_EQ(Fires(Trigger::AfterWatermark(), "e w59 e w60 e w90"), "...xd.");
}

TEST(TriggerMachineTest, EarlyFiringsRepeatUntilTheEndOfTheWindow) {
  EXPECT_EQ(Fires(Trigger::AfterWatermark().WithEarly(Count(2)), "e e e e e w60 e"), ".F.F.xd");
}

TEST(TriggerMachineTest, WhatTheEarlyTriggerHasCountedIsForgottenAtTheEndOfTheWindow) {
  EXPECT_EQ(Fires(Trigger::AfterWatermark().WithEarly(Count(2)).WithLate(Count(3)),
                  "e e e w60 e e e e e e"),
            ".F.F..F..F");
}

TEST(TriggerMachineTest, LateFiringsRepeatAfterTheEndOfTheWindow) {
  EXPECT_EQ(Fires(Trigger::AfterWatermark().WithLate(Count(1)), "e e w60 e e"), "..FFF");
  EXPECT_EQ(Fires(Trigger::AfterWatermark().WithLate(Trigger::Never()), "e w60 e e"), ".F..");
}

TEST(TriggerMachineTest, AWindowWhoseFirstElementIsLateFiresAtOnce) {
  EXPECT_EQ(Fires(Trigger::AfterWatermark().WithLate(Count(2)), "w61 e e e"), "F.F.");
}

TEST(TriggerMachineTest, EarlyFiringsByTheClockCountFromThePanesFirstElement) {
  const Trigger trigger = Trigger::AfterWatermark().WithEarly(Delay(10));
  EXPECT_EQ(Fires(trigger, "t5 e t9 e t14 t15 t20 e t29 t30 w60"), ".....F...Fx");
}

TEST(TriggerMachineTest, EarlyFiringsByCountOrClockStartAnewTogether) {
  const Trigger trigger =
      Trigger::AfterWatermark().WithEarly(Trigger::AfterAny({Count(3), Delay(10)}));
  // The third element fires at 5 s; the clock then starts with the next element, at 8 s.
  EXPECT_EQ(Fires(trigger, "e e t5 e t8 e t10 t17 t18"), "...F....F");
}

TEST(TriggerMachineTest, AfterCountFiresOnceWithAtLeastSoMany) {
  EXPECT_EQ(Fires(Count(3), "e e e e"), "..xd");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Count(3)), "e e e e e w60 e"), "..F...F");
}

TEST(TriggerMachineTest, AfterProcessingTimeFiresAtItsDeadline) {
  EXPECT_EQ(Fires(Delay(10), "t3 e t12 e t13 e"), "....xd");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Delay(10)), "e t10 t25 e t34 t35"), ".F...F");
}

TEST(TriggerMachineTest, AfterAllWaitsForTheLastOfItsParts) {
  EXPECT_EQ(Fires(Trigger::AfterAll({Count(2), Delay(10)}), "e e t9 t10 e"), "...xd");
  EXPECT_EQ(Fires(Trigger::AfterAll({Count(2), Delay(10)}), "e t10 t11 e e"), "...xd");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Trigger::AfterAll({Count(2), Count(3)})), "e e e e e e"),
            "..F..F");
}

TEST(TriggerMachineTest, AfterAnyFiresWithTheFirstOfItsParts) {
  EXPECT_EQ(Fires(Trigger::AfterAny({Count(3), Delay(10)}), "e t10 e"), ".xd");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Trigger::AfterAny({Count(3), Count(2)})), "e e e e e"),
            ".F.F.");
  EXPECT_EQ(
      Fires(Trigger::AfterAny({Trigger::Repeatedly(Count(1)), Trigger::AfterWatermark()}), "e e"),
      "xd");
}

TEST(TriggerMachineTest, AfterEachGoesOnWhenAPartHasFinished) {
  EXPECT_EQ(Fires(Trigger::AfterEach({Count(1), Count(2), Count(3)}), "e e e e e e e"), "F.F..xd");
  EXPECT_EQ(Fires(Trigger::Repeatedly(Trigger::AfterEach({Count(1), Count(2)})), "e e e e e e"),
            "F.FF.F");
  EXPECT_EQ(Fires(Trigger::AfterEach({Trigger::Repeatedly(Count(2)), Count(1)}), "e e e e"),
            ".F.F");
}

TEST(TriggerMachineTest, OrFinallyEndsWithItsSecondTrigger) {
  EXPECT_EQ(
      Fires(Trigger::Repeatedly(Count(2)).OrFinally(Trigger::AfterWatermark()), "e e e w60 e"),
      ".F.xd");
  // The second trigger counts across the firings of the first.
  EXPECT_EQ(Fires(Trigger::Repeatedly(Count(2)).OrFinally(Count(5)), "e e e e e e"), ".F.Fxd");
  EXPECT_EQ(Fires(Count(2).OrFinally(Count(5)), "e e e"), ".xd");
}

TEST(TriggerMachineTest, AlwaysAndNever) {
  EXPECT_EQ(Fires(Trigger::Always(), "e e w60 e"), "FFFF");
  EXPECT_EQ(Fires(Trigger::Never(), "e e w60 e"), "....");
}

TEST(TriggerMachineTest, TheGlobalWindowEndsWithTheWatermarkAtInfinity) {
  const TriggerMachine machine{Trigger::Default()};
  EXPECT_FALSE(machine.ShouldFire({}, {Window::Global(), EventTime::EndOfGlobalWindow(), {}}));
  EXPECT_TRUE(machine.ShouldFire({}, {Window::Global(), EventTime::Max(), {}}));
}

TEST(TriggerMachineTest, DeadlinesAreThoseStillToCome) {
  Driver d(Trigger::Repeatedly(Trigger::AfterAll({Delay(10), Delay(20), Count(3)})));
  const auto next = [&] {
    return d.machine().NextProcessingTimeDeadline(d.state(), d.context().now).us / 1'000'000;
  };
  const int64_t never = ProcessingTime::Never().us / 1'000'000;
  EXPECT_EQ(next(), never);
  d.Run("t1 e");
  EXPECT_EQ(next(), 11);
  d.Run("t11");
  EXPECT_EQ(next(), 21);
  d.Run("t30");
  EXPECT_EQ(next(), never);
  EXPECT_EQ(d.Run("e e"), ".F");
  EXPECT_EQ(next(), never);
  d.Run("e");
  EXPECT_EQ(next(), 40);
}

TEST(TriggerMachineTest, SaysWhatItDependsOn) {
  struct Case {
    Trigger trigger;
    bool needs_state, needs_state_before_end, counts, counts_before_end, watermark, clock;
  };
  const Trigger watermark = Trigger::AfterWatermark();
  for (const Case& c : std::vector<Case>{
           {Trigger::Default(), false, false, false, false, true, false},
           {Trigger::Always(), false, false, true, true, true, false},
           {Trigger::Never(), false, false, false, false, false, false},
           {watermark, true, false, false, false, true, false},
           {Trigger::Repeatedly(watermark), false, false, false, false, true, false},
           {watermark.WithLate(Count(1)), false, false, true, false, true, false},
           {watermark.WithLate(Trigger::Always()), false, false, true, false, true, false},
           {watermark.WithLate(Delay(0)), false, false, false, false, true, true},
           {watermark.WithLate(Count(2)), true, false, true, false, true, false},
           {watermark.WithLate(Delay(1)), true, false, false, false, true, true},
           {watermark.WithEarly(Delay(1)), true, true, false, false, true, true},
           {watermark.WithEarly(Count(9)), true, true, true, true, true, false},
           {Trigger::Repeatedly(Count(9)), true, true, true, true, false, false},
           {Trigger::Repeatedly(Trigger::AfterAny({watermark, Delay(1)})), true, true, false, false,
            true, true},
       }) {
    const TriggerMachine machine(c.trigger);
    SCOPED_TRACE(ToString(c.trigger));
    EXPECT_EQ(machine.NeedsState(), c.needs_state);
    EXPECT_EQ(machine.NeedsStateBeforeEnd(), c.needs_state_before_end);
    EXPECT_EQ(machine.CountsElements(), c.counts);
    EXPECT_EQ(machine.CountsElementsBeforeEnd(), c.counts_before_end);
    EXPECT_EQ(machine.WatchesWatermark(), c.watermark);
    EXPECT_EQ(machine.UsesProcessingTime(), c.clock);
  }
}

TEST(TriggerMachineTest, AFreshPaneNeedsNotBeStored) {
  Driver d(Trigger::Repeatedly(Count(2)));
  EXPECT_TRUE(d.machine().IsInitial(d.state()));
  d.Run("e");
  EXPECT_FALSE(d.machine().IsInitial(d.state()));
  d.Run("e");
  EXPECT_TRUE(d.machine().IsInitial(d.state()));
}

TEST(TriggerMachineTest, StatesAreSmallOnDisk) {
  Driver d(Trigger::AfterWatermark().WithEarly(Count(100)).WithLate(Count(1)));
  d.Run("e e e");
  std::string bytes;
  d.machine().Encode(d.state(), &bytes);
  EXPECT_EQ(bytes.size(), 3u);
}

TEST(TriggerMachineTest, BytesOfAnotherTriggerAreRefused) {
  const auto decodes = [](const Trigger& trigger, std::string bytes) {
    ByteReader in(bytes);
    TriggerState state;
    return TriggerMachine(trigger).Decode(&in, &state);
  };
  EXPECT_TRUE(decodes(Count(2), std::string("\x00\x01", 2)));
  EXPECT_FALSE(decodes(Count(2), ""));
  EXPECT_FALSE(decodes(Count(2), std::string("\x00", 1)));
  EXPECT_FALSE(decodes(Count(2), std::string("\x02\x00", 2)));  // a bit of no node
  EXPECT_FALSE(
      decodes(Count(2), "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));  // a negative count
  EXPECT_FALSE(decodes(Trigger::AfterEach({Trigger::Never()}), "\x02"));   // over, yet not finished
}

TEST(TriggerMachineTest, TheLargestTriggerFitsItsBits) {
  Driver d(Trigger::AfterEach(std::vector<Trigger>(63, Count(1))));
  std::string expected;
  for (int i = 0; i < 62; ++i) expected += 'F';
  EXPECT_EQ(d.Run(std::string(64, 'e')), expected + "xd");
}

// An independent reference: the definitions, each kind by itself, on a tree of objects that know
// nothing of each other's storage. Slow and plain.
class Reference {
 public:
  explicit Reference(const Trigger& trigger) : spec_(trigger) {
    for (const Trigger& child : trigger.children)
      children_.push_back(std::make_unique<Reference>(child));
  }

  bool finished() const { return finished_; }

  void OnElement(const TriggerContext& c) {
    switch (spec_.kind) {
      case Trigger::Kind::kAfterCount: ++count_; break;
      case Trigger::Kind::kAfterProcessingTime:
        if (!deadline_) deadline_ = c.now + spec_.delay;
        break;
      case Trigger::Kind::kAfterEach: Current()->OnElement(c); break;
      case Trigger::Kind::kAfterWatermark:
        if (Reference* phase = Phase()) phase->OnElement(c);
        break;
      default:
        for (auto& child : children_) child->OnElement(c);
    }
  }

  bool ShouldFire(const TriggerContext& c) const {
    const auto ready = [&](const auto& child) { return child->ShouldFire(c); };
    switch (spec_.kind) {
      case Trigger::Kind::kNever: return false;
      case Trigger::Kind::kAlways: return true;
      case Trigger::Kind::kDefault: return c.watermark > c.window.MaxTimestamp();
      case Trigger::Kind::kAfterCount: return count_ >= spec_.count;
      case Trigger::Kind::kAfterProcessingTime: return deadline_ && *deadline_ <= c.now;
      case Trigger::Kind::kRepeatedly: return children_[0]->ShouldFire(c);
      case Trigger::Kind::kAfterAll: return std::all_of(children_.begin(), children_.end(), ready);
      case Trigger::Kind::kAfterAny:
      case Trigger::Kind::kOrFinally: return std::any_of(children_.begin(), children_.end(), ready);
      case Trigger::Kind::kAfterEach: return Current()->ShouldFire(c);
      case Trigger::Kind::kAfterWatermark:
        if (!on_time_fired_ && c.watermark > c.window.MaxTimestamp()) return true;
        return Phase() != nullptr && Phase()->ShouldFire(c);
    }
    return false;
  }

  void OnFire(const TriggerContext& c) {
    switch (spec_.kind) {
      case Trigger::Kind::kNever:
      case Trigger::Kind::kAlways:
      case Trigger::Kind::kDefault: break;
      case Trigger::Kind::kAfterCount:
      case Trigger::Kind::kAfterProcessingTime: finished_ = true; break;
      case Trigger::Kind::kRepeatedly: children_[0]->FireAndRepeat(c); break;
      case Trigger::Kind::kAfterAll:
        for (auto& child : children_) child->OnFire(c);
        finished_ = true;
        break;
      case Trigger::Kind::kAfterAny:
        for (auto& child : children_) {
          if (child->ShouldFire(c)) child->OnFire(c);
        }
        finished_ = true;
        break;
      case Trigger::Kind::kOrFinally:
        if (children_[1]->ShouldFire(c)) {
          finished_ = true;
        } else {
          children_[0]->OnFire(c);
          finished_ = children_[0]->finished();
        }
        break;
      case Trigger::Kind::kAfterEach:
        Current()->OnFire(c);
        finished_ = Current() == nullptr;
        break;
      case Trigger::Kind::kAfterWatermark:
        if (!on_time_fired_ && c.watermark > c.window.MaxTimestamp()) {
          on_time_fired_ = true;
          finished_ = !spec_.has_late;
        } else {
          Phase()->FireAndRepeat(c);
        }
        break;
    }
  }

  // The deadlines of all parts that can still have a say.
  void Deadlines(std::vector<ProcessingTime>* out) const {
    if (finished_) return;
    if (deadline_) out->push_back(*deadline_);
    if (spec_.kind == Trigger::Kind::kAfterWatermark) {
      if (Phase() != nullptr) Phase()->Deadlines(out);
      return;
    }
    for (const auto& child : children_) child->Deadlines(out);
  }

 private:
  void FireAndRepeat(const TriggerContext& c) {
    OnFire(c);
    if (finished_) *this = Reference(spec_);
  }
  Reference* Current() const {
    for (const auto& child : children_) {
      if (!child->finished()) return child.get();
    }
    return nullptr;
  }
  // AfterWatermark: the trigger whose turn it is, early or late, if there is such a one.
  Reference* Phase() const {
    if (on_time_fired_) return spec_.has_late ? children_.back().get() : nullptr;
    return spec_.has_early ? children_.front().get() : nullptr;
  }

  Trigger spec_;
  std::vector<std::unique_ptr<Reference>> children_;
  bool finished_ = false;
  bool on_time_fired_ = false;
  int64_t count_ = 0;
  std::optional<ProcessingTime> deadline_;
};

Trigger RandomTrigger(Rng* rng, int depth) {
  const auto child = [&] { return RandomTrigger(rng, depth - 1); };
  const auto children = [&] {
    std::vector<Trigger> result;
    for (uint64_t n = 1 + rng->Below(3); n > 0; --n) result.push_back(child());
    return result;
  };
  switch (rng->Below(depth > 0 ? 12 : 6)) {
    case 0: return Trigger::Default();
    case 1: return rng->OneIn(2) ? Trigger::Always() : Trigger::Never();
    case 2: return Trigger::AfterWatermark();
    case 3: return Delay(static_cast<int64_t>(rng->Below(20)));
    case 4:
    case 5: return Count(static_cast<int64_t>(1 + rng->Below(4)));
    case 6: return Trigger::Repeatedly(child());
    case 7: return Trigger::AfterAll(children());
    case 8: return Trigger::AfterAny(children());
    case 9: return Trigger::AfterEach(children());
    case 10: return child().OrFinally(child());
    default: {
      Trigger t = Trigger::AfterWatermark();
      if (rng->OneIn(2)) t = t.WithEarly(child());
      if (rng->OneIn(2)) t = t.WithLate(child());
      return t;
    }
  }
}

void ExpectEqualToReference(uint64_t seed) {
  Rng rng(seed);
  Trigger trigger = RandomTrigger(&rng, 3);
  while (!trigger.Validate().ok()) trigger = RandomTrigger(&rng, 3);
  SCOPED_TRACE(ToString(trigger) + ", seed " + std::to_string(seed));
  const TriggerMachine machine(trigger);
  TriggerState state;
  Reference reference(trigger);
  TriggerContext context{kMinute, EventTime::FromSeconds(0), ProcessingTime{0}};
  bool pane_has_elements = false;
  for (int step = 0; step < 60; ++step) {
    if (reference.finished()) return;
    switch (rng.Below(4)) {
      case 0:
        context.watermark = context.watermark + Seconds(static_cast<int64_t>(rng.Below(8)));
        break;
      case 1: context.now = context.now + Seconds(static_cast<int64_t>(rng.Below(8))); break;
      default: machine.OnElements(&state, 1, context); reference.OnElement(context);
    }
    if (rng.OneIn(4)) {
      std::string bytes;
      machine.Encode(state, &bytes);
      ByteReader in(bytes);
      ASSERT_TRUE(machine.Decode(&in, &state));
      ASSERT_TRUE(in.done());
    }
    ASSERT_EQ(machine.ShouldFire(state, context), reference.ShouldFire(context)) << "step " << step;
    if (!machine.NeedsState() && pane_has_elements) {
      ASSERT_EQ(machine.ShouldFire({}, context), reference.ShouldFire(context)) << "step " << step;
    }
    if (reference.ShouldFire(context)) {
      machine.OnFire(&state, context);
      reference.OnFire(context);
      pane_has_elements = false;
    }
    ASSERT_EQ(machine.IsFinished(state), reference.finished()) << "step " << step;
    std::vector<ProcessingTime> deadlines;
    reference.Deadlines(&deadlines);
    ProcessingTime next = ProcessingTime::Never();
    for (ProcessingTime d : deadlines) {
      if (d > context.now) next = std::min(next, d);
    }
    ASSERT_EQ(machine.NextProcessingTimeDeadline(state, context.now), next) << "step " << step;
  }
}

TEST(TriggerMachineTest, RandomTriggersAgreeWithTheReference) {
  for (uint64_t seed = 1; seed <= 20'000 && !::testing::Test::HasFatalFailure(); ++seed) {
    ExpectEqualToReference(seed);
  }
}

// What the states of windows that become one make together.
class TriggerMergeTest : public testing::Test {
 protected:
  using States = std::vector<TriggerState>;

  static TriggerState Fed(const TriggerMachine& machine, int64_t elements, int64_t now_us = 0) {
    TriggerState state;
    for (int64_t i = 0; i < elements; ++i) machine.OnElements(&state, 1, {kWindow, model::EventTime::Min(), {now_us}});
    return state;
  }
  static TriggerState Merged(const TriggerMachine& machine, const States& states, bool end_reached = false) {
    std::vector<const TriggerState*> from;
    for (const TriggerState& state : states) from.push_back(&state);
    TriggerState into;
    machine.Merge(from, Context(end_reached), &into);
    return into;
  }
  static TriggerContext Context(bool end_reached, int64_t now_us = 0) {
    return {kWindow, end_reached ? kWindow.end : kWindow.start, {now_us}};
  }
  static constexpr model::Window kWindow{{0}, {10'000'000}};
};

TEST_F(TriggerMergeTest, CountsAdd) {
  const TriggerMachine machine(Trigger::Repeatedly(Trigger::AfterCount(5)), true);
  EXPECT_FALSE(machine.ShouldFire(Merged(machine, {Fed(machine, 2), Fed(machine, 2)}), Context(false)));
  EXPECT_TRUE(machine.ShouldFire(Merged(machine, {Fed(machine, 2), Fed(machine, 3)}), Context(false)));
}

TEST_F(TriggerMergeTest, TheFirstDeadlineCounts) {
  const TriggerMachine machine(Trigger::AfterProcessingTime(model::Micros(10)), true);
  const TriggerState merged = Merged(machine, {Fed(machine, 1, 7), Fed(machine, 1, 3), TriggerState{}});
  EXPECT_FALSE(machine.ShouldFire(merged, Context(false, 12)));
  EXPECT_TRUE(machine.ShouldFire(merged, Context(false, 13)));
}

TEST_F(TriggerMergeTest, ACountThatIsDoneInOneIsDoneInAll) {
  const TriggerMachine machine(Trigger::AfterEach({Trigger::AfterCount(1), Trigger::AfterCount(3)}), true);
  TriggerState fired = Fed(machine, 1);
  machine.OnFire(&fired, Context(false));
  TriggerState merged = Merged(machine, {fired, Fed(machine, 2)});
  // It is the turn of the second count, which has what the parts have counted for it.
  EXPECT_FALSE(machine.ShouldFire(merged, Context(false)));
  machine.OnElements(&merged, 1, Context(false));
  EXPECT_TRUE(machine.ShouldFire(merged, Context(false)));
}

TEST_F(TriggerMergeTest, AWindowThatHasEndedIsBeforeItsEndAgainWithOneThatHasNot) {
  const TriggerMachine machine(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(2)), true);
  TriggerState ended;
  machine.OnFire(&ended, Context(true));
  EXPECT_FALSE(machine.ShouldFire(ended, Context(true)));
  // The merged window ends later, or a part had not come to its end.
  EXPECT_TRUE(machine.ShouldFire(Merged(machine, {ended, ended}, /*end_reached=*/false), Context(true)));
  EXPECT_TRUE(machine.ShouldFire(Merged(machine, {ended, TriggerState{}}, /*end_reached=*/true), Context(true)));
  // All had, and so has it: late elements are counted together.
  TriggerState late = ended;
  machine.OnElements(&late, 1, Context(true));
  EXPECT_FALSE(machine.ShouldFire(Merged(machine, {ended, late}, true), Context(true)));
  EXPECT_TRUE(machine.ShouldFire(Merged(machine, {late, late}, true), Context(true)));
}

TEST_F(TriggerMergeTest, WhatIsMergedIsEncodedAsAnyState) {
  for (const Trigger& trigger : {Trigger::AfterAny({Trigger::AfterCount(2), Trigger::AfterWatermark()}),
                                 Trigger::AfterAll({Trigger::AfterCount(2), Trigger::AfterProcessingTime(model::Micros(5))}),
                                 Trigger::Repeatedly(Trigger::AfterCount(3)).OrFinally(Trigger::AfterCount(7)),
                                 Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(2)).WithLate(Trigger::Always())}) {
    const TriggerMachine machine(trigger, true);
    const TriggerState merged = Merged(machine, {Fed(machine, 1, 4), Fed(machine, 3, 2), TriggerState{}});
    std::string bytes;
    machine.Encode(merged, &bytes);
    ByteReader in(bytes);
    TriggerState decoded;
    ASSERT_TRUE(machine.Decode(&in, &decoded)) << ToString(trigger);
    EXPECT_EQ(machine.ShouldFire(decoded, Context(false)), machine.ShouldFire(merged, Context(false)));
  }
}

}  // namespace
}  // namespace hornbeam::engine
