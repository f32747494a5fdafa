#include "benchmarks/nexmark/nexmark_queries.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "hornbeam/hornbeam.h"
#include "hornbeam/state.h"

namespace hornbeam::benchmarks {

// The parts of an auction, or a bid on it, that its closing needs.
struct Offer {
  bool is_auction = false;
  int64_t price = 0;  // a bid's
  EventTime time;     // of a bid; when the auction closes
  int64_t seller = 0, category = 0;
};
HORNBEAM_CODER(Offer, is_auction, price, time, seller, category)

struct Closed {
  int64_t seller = 0, category = 0, price = 0;
};
HORNBEAM_CODER(Closed, seller, category, price)

// A person, or an auction of theirs.
struct Party {
  bool is_person = false;
  int64_t auction = 0;
  std::string name, city, state;
};
HORNBEAM_CODER(Party, is_person, auction, name, city, state)

struct Match {
  std::string name, city, state;
  int64_t auction = 0;
};
HORNBEAM_CODER(Match, name, city, state, auction)

namespace {

using Counted = KV<int64_t, int64_t>;  // an auction, or a person, and a number

// Takes what a query puts out.
template <typename T>
void Results(const PCollection<T>& output) {
  output | "Results" >> ParDo<int64_t>([](const T&, OutputReceiver<int64_t>&) {});
}

PCollection<Bid> Bids(const PCollection<Event>& events) {
  return events | "Bids" >> ParDo<Bid>([](Event&& event, OutputReceiver<Bid>& out) {
           if (Bid* const bid = std::get_if<Bid>(&event)) out.Output(std::move(*bid));
         });
}

void Q0(const PCollection<Event>& events) {
  Results(events | "Pass" >> Map([](Event&& event) { return std::move(event); }));
}

void Q1(const PCollection<Event>& events) {
  Results(Bids(events) | "Euros" >> Map([](Bid&& bid) {
            bid.price = bid.price * 908 / 1000;
            return std::move(bid);
          }));
}

void Q2(const PCollection<Event>& events) {
  Results(events | "Every123rd" >> ParDo<Counted>([](const Event& event, OutputReceiver<Counted>& out) {
            const Bid* const bid = std::get_if<Bid>(&event);
            if (bid != nullptr && bid->auction % 123 == 0) out.Output({bid->auction, bid->price});
          }));
}

// Whoever comes first waits for the other, for ever.
struct JoinSellers : StatefulDoFn {
  ValueState<Party> person{"person"};
  BagState<int64_t> auctions{"auctions"};

  void ProcessElement(const KV<int64_t, Party>& element, OutputReceiver<Match>& out) {
    if (element.value.is_person) {
      person.Write(element.value);
      for (const int64_t auction : auctions.Read()) {
        out.Output({element.value.name, element.value.city, element.value.state, auction});
      }
      auctions.Clear();
    } else if (person.IsEmpty()) {
      auctions.Add(element.value.auction);
    } else {
      const Party& seller = person.Read();
      out.Output({seller.name, seller.city, seller.state, element.value.auction});
    }
  }
};

void Q3(const PCollection<Event>& events) {
  Results(events | "Parties" >> ParDo<KV<int64_t, Party>>([](const Event& event, OutputReceiver<KV<int64_t, Party>>& out) {
            if (const Person* const p = std::get_if<Person>(&event)) {
              if (p->state == "OR" || p->state == "ID" || p->state == "CA") out.Output({p->id, {true, 0, p->name, p->city, p->state}});
            } else if (const Auction* const a = std::get_if<Auction>(&event)) {
              if (a->category == 10) out.Output({a->seller, {false, a->id, {}, {}, {}}});
            }
          })
          | "Join" >> ParDo<Match>(JoinSellers()));
}

// When an auction closes: the highest bid that came in time, if any.
struct CloseAuctions : StatefulDoFn {
  ValueState<Offer> auction{"auction"};
  BagState<Offer> early{"early"};  // bids that are seen before their auction
  ValueState<int64_t> highest{"highest"};
  EventTimer closes{"closes"};

  void ProcessElement(const KV<int64_t, Offer>& element, OutputReceiver<Closed>&) {
    const Offer& offer = element.value;
    if (offer.is_auction) {
      auction.Write(offer);
      closes.Set(offer.time);
      for (const Offer& bid : early.Read()) Consider(bid, offer);
      early.Clear();
    } else if (auction.IsEmpty()) {
      early.Add(offer);
    } else {
      Consider(offer, auction.Read());
    }
  }
  void Consider(const Offer& bid, const Offer& of) {
    if (bid.time < of.time && (highest.IsEmpty() || bid.price > highest.Read())) highest.Write(bid.price);
  }
  void OnTimer(const int64_t&, const TimerContext&, OutputReceiver<Closed>& out) {
    if (!highest.IsEmpty()) out.Output({auction.Read().seller, auction.Read().category, highest.Read()});
    auction.Clear();
    highest.Clear();
  }
};

PCollection<Closed> ClosedAuctions(const PCollection<Event>& events) {
  return events | "Offers" >> ParDo<KV<int64_t, Offer>>([](const Event& event, OutputReceiver<KV<int64_t, Offer>>& out) {
           if (const Bid* const bid = std::get_if<Bid>(&event)) {
             out.Output({bid->auction, {false, bid->price, bid->date_time, 0, 0}});
           } else if (const Auction* const auction = std::get_if<Auction>(&event)) {
             out.Output({auction->id, {true, 0, auction->expires, auction->seller, auction->category}});
           }
         })
         | "Close" >> ParDo<Closed>(CloseAuctions());
}

void Q4(const PCollection<Event>& events) {
  Results(ClosedAuctions(events) | "ByCategory" >> Map([](const Closed& closed) { return Counted{closed.category, closed.price}; })
          | "Window" >> WindowInto(SlidingWindows(Seconds(10), Seconds(5))) | "Mean" >> CombinePerKey(Mean<int64_t>()));
}

// The greatest of the second halves, with its first.
struct MostCounted {
  using InputT = Counted;
  using AccumulatorT = Counted;
  using OutputT = Counted;
  Counted CreateAccumulator() const { return {-1, -1}; }
  void AddInput(Counted& most, const Counted& other) const {
    if (std::pair(other.value, other.key) > std::pair(most.value, most.key)) most = other;
  }
  void MergeAccumulators(Counted& most, const Counted& other) const { AddInput(most, other); }
  Counted ExtractOutput(const Counted& most) const { return most; }
};

PCollection<KV<int64_t, Counted>> MostOfWindow(const PCollection<Counted>& counts) {
  return counts | "OneKey" >> Map([](const Counted& count) { return KV<int64_t, Counted>{0, count}; })
         | "Most" >> CombinePerKey(MostCounted());
}

void Q5(const PCollection<Event>& events) {
  Results(MostOfWindow(events | "Auctions" >> ParDo<Counted>([](const Event& event, OutputReceiver<Counted>& out) {
                         if (const Bid* const bid = std::get_if<Bid>(&event)) out.Output({bid->auction, 1});
                       })
                       | "Window" >> WindowInto(SlidingWindows(Seconds(10), Seconds(2))) | "Count" >> CombinePerKey(Sum<int64_t>())));
}

struct MeanOfLastTen : StatefulDoFn {
  ValueState<std::vector<int64_t>> prices{"prices"};

  void ProcessElement(const Counted& element, OutputReceiver<KV<int64_t, double>>& out) {
    std::vector<int64_t> last = prices.Read();
    last.push_back(element.value);
    if (last.size() > 10) last.erase(last.begin());
    double sum = 0;
    for (const int64_t price : last) sum += static_cast<double>(price);
    out.Output({element.key, sum / static_cast<double>(last.size())});
    prices.Write(std::move(last));
  }
};

void Q6(const PCollection<Event>& events) {
  Results(ClosedAuctions(events) | "BySeller" >> Map([](const Closed& closed) { return Counted{closed.seller, closed.price}; })
          | "MeanOfLastTen" >> ParDo<KV<int64_t, double>>(MeanOfLastTen()));
}

void Q7(const PCollection<Event>& events) {
  Results(MostOfWindow(events | "Prices" >> ParDo<Counted>([](const Event& event, OutputReceiver<Counted>& out) {
                         if (const Bid* const bid = std::get_if<Bid>(&event)) out.Output({bid->auction, bid->price});
                       })
                       | "Window" >> WindowInto(FixedWindows(Seconds(10)))));
}

void Q8(const PCollection<Event>& events) {
  Results(events | "Parties" >> ParDo<KV<int64_t, Party>>([](const Event& event, OutputReceiver<KV<int64_t, Party>>& out) {
            if (const Person* const p = std::get_if<Person>(&event)) {
              out.Output({p->id, {true, 0, p->name, {}, {}}});
            } else if (const Auction* const a = std::get_if<Auction>(&event)) {
              out.Output({a->seller, {false, a->id, {}, {}, {}}});
            }
          })
          | "Window" >> WindowInto(FixedWindows(Seconds(10))) | "Group" >> GroupByKey()
          | "Both" >> ParDo<Match>([](const KV<int64_t, std::vector<Party>>& group, OutputReceiver<Match>& out) {
              const auto person = std::find_if(group.value.begin(), group.value.end(), [](const Party& p) { return p.is_person; });
              if (person == group.value.end() || group.value.size() < 2) return;
              for (const Party& party : group.value) {
                if (!party.is_person) out.Output({person->name, {}, {}, party.auction});
              }
            }));
}

PCollection<Counted> Bidders(const PCollection<Event>& events) {
  return events | "Bidders" >> ParDo<Counted>([](const Event& event, OutputReceiver<Counted>& out) {
           if (const Bid* const bid = std::get_if<Bid>(&event)) out.Output({bid->bidder, 1});
         });
}

void Q11(const PCollection<Event>& events) {
  Results(Bidders(events) | "Window" >> WindowInto(Sessions(Seconds(10))) | "Count" >> CombinePerKey(Sum<int64_t>()));
}

void Q12(const PCollection<Event>& events) {
  Results(Bidders(events) | "Window" >> WindowInto(GlobalWindows())
                                            .Triggering(Trigger::Repeatedly(Trigger::AfterProcessingTime(Seconds(10))))
                                            .DiscardingFiredPanes()
          | "Count" >> CombinePerKey(Sum<int64_t>()));
}

struct Query {
  std::string name;
  void (*build)(const PCollection<Event>&);
};
const std::vector<Query>& Queries() {
  static const std::vector<Query>* const queries = new std::vector<Query>{
      {"q0", Q0}, {"q1", Q1}, {"q2", Q2}, {"q3", Q3}, {"q4", Q4},   {"q5", Q5},
      {"q6", Q6}, {"q7", Q7}, {"q8", Q8}, {"q11", Q11}, {"q12", Q12}};
  return *queries;
}

}  // namespace

const std::vector<std::string>& NexmarkQueries() {
  static const std::vector<std::string>* const names = [] {
    auto* const all = new std::vector<std::string>;
    for (const Query& query : Queries()) all->push_back(query.name);
    return all;
  }();
  return *names;
}

bool BuildNexmarkQuery(const std::string& query, const PCollection<Event>& events) {
  for (const Query& known : Queries()) {
    if (known.name != query) continue;
    known.build(events);
    return true;
  }
  return false;
}

}  // namespace hornbeam::benchmarks
