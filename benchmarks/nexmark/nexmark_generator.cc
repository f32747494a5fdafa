#include "benchmarks/nexmark/nexmark_generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace hornbeam::benchmarks {
namespace {

constexpr int64_t kPersons = 1, kAuctions = 3, kCycle = 50;  // the other 46 are bids
constexpr int64_t kFirstPerson = 1000, kFirstAuction = 1000, kFirstCategory = 10;
constexpr int64_t kCategories = 5;
constexpr int64_t kActivePeople = 1000, kAuctionsInFlight = 100, kHot = 100;
constexpr std::array kStates = {"AZ", "CA", "ID", "OR", "WA", "WY"};
constexpr std::array kCities = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
                                "Bend",    "Redmond",     "Seattle",       "Kent",  "Cheyenne"};
constexpr std::array kFirstNames = {"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"};
constexpr std::array kLastNames = {"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"};
constexpr std::array kChannels = {"Google", "Facebook", "Baidu", "Apple"};

// How many persons and auctions there are up to and with event `n`, less one.
int64_t LastPerson(int64_t n) { return n / kCycle; }
int64_t LastAuction(int64_t n) {
  const int64_t in_cycle = n % kCycle;
  if (in_cycle < kPersons) return n / kCycle * kAuctions - 1;
  return n / kCycle * kAuctions + std::min(in_cycle - kPersons, kAuctions - 1);
}

}  // namespace

// splitmix64: its state is a counter, so that every event starts one of its own for nothing.
class NexmarkGenerator::Random {
 public:
  Random(uint64_t seed, int64_t n) : state_(seed * 0x9E3779B97F4A7C15 + static_cast<uint64_t>(n) * 0xD1342543DE82EF95) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>((static_cast<unsigned __int128>(Next()) * static_cast<uint64_t>(n)) >> 64); }
  // 10 to the power of something in [0, 6), in cents.
  int64_t Price() { return static_cast<int64_t>(std::exp(static_cast<double>(Next() >> 11) * 0x1p-53 * 13.815510557964274) * 100); }
  std::string Letters(size_t size) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; i += 12) {
      uint64_t bits = Next();
      for (size_t j = i; j < std::min(size, i + 12); ++j, bits >>= 5) text[j] = static_cast<char>('a' + (bits & 15));
    }
    return text;
  }
  // Around what brings an event that has `so_far` bytes to `mean`.
  std::string Extra(int64_t so_far, int64_t mean) {
    const int64_t missing = std::max<int64_t>(0, mean - so_far);
    const int64_t spread = missing / 5;
    return Letters(static_cast<size_t>(missing - spread + Below(2 * spread + 1)));
  }

 private:
  uint64_t state_;
};

Person NexmarkGenerator::MakePerson(int64_t n, Random& random) const {
  Person person;
  person.id = kFirstPerson + LastPerson(n);
  person.name = absl::StrCat(kFirstNames[static_cast<size_t>(random.Below(kFirstNames.size()))], " ",
                             kLastNames[static_cast<size_t>(random.Below(kLastNames.size()))]);
  person.email = absl::StrCat(random.Letters(7), "@", random.Letters(5), ".com");
  person.credit_card = absl::StrCat(1'000'000'000'000'000 + random.Below(8'999'999'999'999'999));
  person.city = kCities[static_cast<size_t>(random.Below(kCities.size()))];
  person.state = kStates[static_cast<size_t>(random.Below(kStates.size()))];
  person.date_time = TimeOf(n);
  person.extra = random.Extra(80, 200);
  return person;
}

Auction NexmarkGenerator::MakeAuction(int64_t n, Random& random) const {
  Auction auction;
  auction.id = kFirstAuction + LastAuction(n);
  const int64_t newest = LastPerson(n);
  const bool from_hot = random.Below(4) != 0;
  auction.seller = kFirstPerson + (from_hot ? newest / kHot * kHot : std::max<int64_t>(0, newest - random.Below(kActivePeople)));
  auction.category = kFirstCategory + random.Below(kCategories);
  auction.item_name = random.Letters(20);
  auction.description = random.Letters(100);
  auction.initial_bid = random.Price();
  auction.reserve = auction.initial_bid + random.Price();
  auction.date_time = TimeOf(n);
  // Open for about as long as it takes until so many others have been opened.
  const int64_t horizon_us = kAuctionsInFlight * kCycle / kAuctions * 1'000'000 / config_.events_per_second;
  auction.expires = auction.date_time + Micros(1 + random.Below(std::max<int64_t>(2 * horizon_us, 1)));
  auction.extra = random.Extra(190, 500);
  return auction;
}

Bid NexmarkGenerator::MakeBid(int64_t n, Random& random) const {
  Bid bid;
  const int64_t newest_auction = LastAuction(n), newest_person = LastPerson(n);
  const bool on_hot = random.Below(2) != 0;
  bid.auction = kFirstAuction + (on_hot ? newest_auction / kHot * kHot
                                        : std::max<int64_t>(0, newest_auction - random.Below(kAuctionsInFlight)));
  const bool by_hot = random.Below(4) != 0;
  bid.bidder = kFirstPerson + (by_hot ? newest_person / kHot * kHot + 1
                                      : std::max<int64_t>(0, newest_person - random.Below(kActivePeople)));
  bid.price = random.Price();
  bid.channel = kChannels[static_cast<size_t>(random.Below(kChannels.size()))];
  bid.url = absl::StrCat("https://example.com/item/", bid.auction);
  bid.date_time = TimeOf(n);
  bid.extra = random.Extra(70, 100);
  return bid;
}

Event NexmarkGenerator::Make(int64_t n) const {
  Random random(config_.seed, n);
  const int64_t in_cycle = n % kCycle;
  if (in_cycle < kPersons) return MakePerson(n, random);
  if (in_cycle < kPersons + kAuctions) return MakeAuction(n, random);
  return MakeBid(n, random);
}

}  // namespace hornbeam::benchmarks
