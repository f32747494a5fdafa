// The events of an online auction, as the Nexmark suite has them: persons open auctions, and bid on those of others.
#ifndef HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_EVENTS_H_
#define HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_EVENTS_H_

#include <cstdint>
#include <string>
#include <variant>

#include "hornbeam/types.h"
#include "model/coder.h"

namespace hornbeam::benchmarks {

struct Person {
  int64_t id = 0;
  std::string name, email, credit_card, city, state;
  EventTime date_time;
  std::string extra;
};
HORNBEAM_CODER(Person, id, name, email, credit_card, city, state, date_time, extra)

struct Auction {
  int64_t id = 0;
  std::string item_name, description;
  int64_t initial_bid = 0, reserve = 0;
  EventTime date_time, expires;
  int64_t seller = 0, category = 0;
  std::string extra;
};
HORNBEAM_CODER(Auction, id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra)

struct Bid {
  int64_t auction = 0, bidder = 0, price = 0;
  std::string channel, url;
  EventTime date_time;
  std::string extra;
};
HORNBEAM_CODER(Bid, auction, bidder, price, channel, url, date_time, extra)

using Event = std::variant<Bid, Auction, Person>;

}  // namespace hornbeam::benchmarks

#endif  // HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_EVENTS_H_
