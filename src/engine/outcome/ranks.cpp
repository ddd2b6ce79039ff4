#include "ranks.hpp"

#include "../radix_sort.hpp"

namespace cqrf {

RankedOutcome rank_outcome(std::span<const double> time, std::span<const bool> event,
                           std::span<const bool> kept, bool mirrored) {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> rows;
  keys.reserve(time.size());
  rows.reserve(time.size());
  // The sort is stable: events that come first stay first.
  for (const bool seen : {true, false})
    for (std::size_t row = 0; row < time.size(); ++row) {
      if (event[row] != seen || !(kept.empty() || kept[row])) continue;
      // Adding zero turns -0.0 into 0.0, which would otherwise show up in answers.
      keys.push_back(to_key((mirrored ? -time[row] : time[row]) + 0.0));
      rows.push_back(static_cast<std::uint32_t>(row));
    }
  radix_sort_keys(keys, rows);

  RankedOutcome ranked;
  const std::size_t n = keys.size();
  ranked.time_index.resize(n);
  for (std::size_t rank = 0, k = 0; rank < n; ++rank) {
    if (rank > 0 && keys[rank] != keys[rank - 1]) ++k;
    ranked.time_index[rank] = static_cast<TimeIndex>(k);
  }
  ranked.times.reserve(n == 0 ? 0 : std::size_t{ranked.time_index.back()} + 1);
  for (std::size_t rank = 0; rank < n; ++rank)
    if (rank == 0 || keys[rank] != keys[rank - 1]) ranked.times.push_back(from_key(keys[rank]));
  keys = {};
  ranked.order.assign(rows.begin(), rows.end());
  ranked.event.resize(n);
  for (std::size_t rank = 0; rank < n; ++rank) ranked.event[rank] = event[rows[rank]];
  return ranked;
}

std::vector<double> kaplan_meier(std::span<const TimeIndex> time_index,
                                 std::span<const std::uint8_t> event,
                                 std::span<const double> weight, std::size_t n_times,
                                 bool of_censoring) {
  std::vector<double> curve(n_times, 1.0);
  // Summing from the right keeps the digits that subtracting from the total would lose. At one
  // time the censored rows are added first, since they are still at risk after its events.
  double at_risk = 0;
  for (std::size_t end = time_index.size(); end > 0;) {
    const TimeIndex k = time_index[end - 1];
    std::size_t begin = end;
    while (begin > 0 && time_index[begin - 1] == k) --begin;
    double events = 0, censored = 0;
    for (std::size_t rank = begin; rank < end; ++rank)
      (event[rank] ? events : censored) += weight.empty() ? 1.0 : weight[rank];
    at_risk += censored;
    if (of_censoring && at_risk > 0) curve[k] = 1 - censored / at_risk;
    at_risk += events;
    if (!of_censoring) curve[k] = 1 - events / at_risk;
    end = begin;
  }
  for (std::size_t k = 1; k < n_times; ++k) curve[k] *= curve[k - 1];
  return curve;
}

}  // namespace cqrf
