// The Nexmark queries in Beam's terms. Windows are of 10 s of event time where the suite says nothing else.
//
//   q0  pass an event on                            q1  a bid's price in euros
//   q2  bids on every 123rd auction                 q3  sellers in three states with auctions of one category (state by seller)
//   q4  mean closing price by category, over sliding windows (10 s every 5 s), of auctions that closed
//   q5  the auction with most bids, over sliding windows (10 s every 2 s)
//   q6  mean closing price of a seller's last ten auctions
//   q7  the highest bid of each window              q8  persons who opened an auction in the window in which they came
//   q11 bids of a person by session (gap 10 s)      q12 bids of a person by 10 s of processing time: the global window with
//                                                       Repeatedly(AfterProcessingTime(10 s)), discarding
#ifndef HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_QUERIES_H_
#define HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_QUERIES_H_

#include <string>
#include <vector>

#include "benchmarks/nexmark/nexmark_events.h"
#include "hornbeam/pipeline.h"

namespace hornbeam::benchmarks {

// In the order of their numbers.
const std::vector<std::string>& NexmarkQueries();

// Builds the query's steps on the events; its results end in the step "Results". False where there is no such query.
bool BuildNexmarkQuery(const std::string& query, const PCollection<Event>& events);

}  // namespace hornbeam::benchmarks

#endif  // HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_QUERIES_H_
