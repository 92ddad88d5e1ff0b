// The report of `assay score`: its totals, and the table as a person reads it.
#include <algorithm>
#include <filesystem>

#include "fuzz/report.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

template <typename Value>
double median(std::vector<Value> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const auto upper = static_cast<double>(values[half]);
  return values.size() % 2 ? upper : (static_cast<double>(values[half - 1]) + upper) / 2;
}

std::string number(int64_t value) { return std::to_string(value); }

std::string pair_table(const std::vector<PairReport>& pairs) {
  std::vector<std::vector<std::string>> rows{{"pair", "class", "witness", "twin passes it",
                                              "seconds", "cases", "twin cases", "alarms",
                                              "as expected", "found by"}};
  for (const PairReport& pair : pairs) {
    rows.push_back({pair.name, number(pair.fault.fault_class),
                    pair.witness_fails ? "fails" : "PASSES",
                    pair.witness_passes_on_twin ? "yes" : "NO", format_text("%.3f", pair.seconds),
                    number(pair.cases), number(pair.twin_cases), number(pair.false_alarms),
                    whether_expected(pair), how_found(pair)});
  }
  return text_table(rows);
}

std::string class_table(const std::vector<PairReport>& pairs) {
  std::vector<std::vector<std::string>> rows{{"class", "pairs", "found", "by the expected check",
                                              "at the line too", "median s", "worst s",
                                              "median cases", "worst cases", "alarms"}};
  for (const auto& [fault_class, totals] : score_by_class(pairs)) {
    rows.push_back({number(fault_class) + ": " + fault_class_name(fault_class),
                    number(totals.pairs), number(totals.found), number(totals.by_expected_check),
                    number(totals.as_expected), format_text("%.3f", totals.median_seconds),
                    format_text("%.2f", totals.worst_seconds),
                    format_text("%g", totals.median_cases), number(totals.worst_cases),
                    number(totals.false_alarms)});
  }
  return text_table(rows, false);
}

}  // namespace

std::string how_found(const PairReport& pair) {
  if (!pair.problem.empty()) return pair.problem;
  if (!pair.found) return "missed";
  const Finding& f = pair.finding;
  return f.kind + (f.rule == f.kind ? "" : " " + f.rule) + " " +
         std::filesystem::path(f.shown_file()).filename().string() + ":" +
         std::to_string(f.shown_line());
}

std::string whether_expected(const PairReport& pair) {
  if (!pair.found) return "-";
  if (pair.as_expected()) return "yes";
  std::string text = "NO:";
  for (const ExpectedFinding& one : pair.fault.expected) {
    text += " " + one.check + " :" + std::to_string(one.line);
  }
  return text;
}

ScoreTotals score_totals(const std::vector<PairReport>& pairs) {
  ScoreTotals totals;
  std::vector<double> seconds;
  std::vector<int64_t> cases;
  for (const PairReport& pair : pairs) {
    ++totals.pairs;
    totals.false_alarms += pair.false_alarms;
    totals.by_expected_check += pair.by_expected_check();
    totals.as_expected += pair.as_expected();
    if (!pair.found) continue;
    ++totals.found;
    seconds.push_back(pair.seconds);
    cases.push_back(pair.cases);
    totals.worst_seconds = std::max(totals.worst_seconds, pair.seconds);
    totals.worst_cases = std::max(totals.worst_cases, pair.cases);
  }
  totals.median_seconds = median(std::move(seconds));
  totals.median_cases = median(std::move(cases));
  return totals;
}

std::map<int, ScoreTotals> score_by_class(const std::vector<PairReport>& pairs) {
  std::map<int, std::vector<PairReport>> sorted;
  for (const PairReport& pair : pairs) sorted[pair.fault.fault_class].push_back(pair);
  std::map<int, ScoreTotals> totals;
  for (const auto& [fault_class, members] : sorted) totals[fault_class] = score_totals(members);
  return totals;
}

std::string score_text(const Report& report) {
  const ScoreTotals totals = score_totals(report.pairs);
  const auto share = [&](int64_t part) {
    return totals.found > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(totals.found)
                            : 0.0;
  };
  return pair_table(report.pairs) + "\n" + class_table(report.pairs) + "\n" +
         format_text(
             "%lld of %lld found: %lld by the expected check (%.1f %%), %lld at the "
             "expected line too (%.1f %%)",
             static_cast<long long>(totals.found), static_cast<long long>(totals.pairs),
             static_cast<long long>(totals.by_expected_check), share(totals.by_expected_check),
             static_cast<long long>(totals.as_expected), share(totals.as_expected)) +
         (totals.enough_as_expected() ? "" : ", FEWER THAN 95 %") + "\n" +
         counted(totals.false_alarms, "false alarm") +
         format_text(
             ", median %.3f s and %g cases, worst %.2f s and %lld cases; %lld cases in "
             "%.1f s, seed %llu\n",
             totals.median_seconds, totals.median_cases, totals.worst_seconds,
             static_cast<long long>(totals.worst_cases), static_cast<long long>(report.cases()),
             report.seconds, static_cast<unsigned long long>(report.seed)) +
         (report.interrupted
              ? "interrupted: " + counted(report.pairs_left_out, "pair") + " not scored\n"
              : "");
}

}  // namespace assay
