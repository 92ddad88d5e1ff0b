#include "oracles/tally.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr size_t kWrongListed = 4096;

}  // namespace

void Tally::ask(const char* line) {
  auto& lines = verdict.missing_policies;
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.emplace_back(line);
}

OutputCounts& Tally::of(const Tensor& output) {
  auto& all = verdict.outputs;
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const OutputCounts& counts) {
    return counts.output == output.spec->name;
  });
  if (found != all.rend()) return *found;
  all.push_back({.output = output.spec->name});
  return all.back();
}

void Tally::judged(const Tensor& output, int64_t count) {
  verdict.judged += count;
  of(output).judged += count;
}

void Tally::used(const Tensor& output, double share) {
  verdict.share = std::max(verdict.share, share);
  of(output).share = std::max(of(output).share, share);
}

void Tally::list(const Tensor& output, int64_t logical) {
  if (verdict.first_output == output.spec->name && verdict.wrong_elements.size() < kWrongListed)
    verdict.wrong_elements.push_back(logical);
}

void Tally::unwritten(const Tensor& output, int64_t logical) {
  ++verdict.unwritten;
  ++of(output).unwritten;
  if (verdict.rule.empty()) {
    verdict.rule = "R1";
    verdict.first_output = output.spec->name;
  }
  list(output, logical);
}

void Tally::undecided(const Tensor& output, int64_t logical) {
  if (++verdict.undecided > 1) return;
  verdict.undecided_output = output.spec->name;
  verdict.undecided_element = logical;
}

void Tally::without_bound(const Tensor& output, int64_t logical) {
  if (++verdict.no_bound > 1) return;
  verdict.no_bound_output = output.spec->name;
  verdict.no_bound_element = logical;
}

void Tally::wrong(const Tensor& output, int64_t logical, const char* rule, double times) {
  ++of(output).wrong;
  add_wrong(output, logical, rule, times);
}

void Tally::disturbed(const Tensor& output, int64_t logical, const char* rule) {
  ++of(output).disturbed;
  add_wrong(output, logical, rule, HUGE_VAL);
}

void Tally::add_wrong(const Tensor& output, int64_t logical, const char* rule, double times) {
  ++verdict.wrong;
  if (verdict.rule.empty() || verdict.rule == "R1") {
    // A wrong value goes before elements of another output that nothing was stored to.
    if (verdict.first_output != output.spec->name) verdict.wrong_elements.clear();
    verdict.first_output = output.spec->name;
    verdict.rule = rule;
  }
  list(output, logical);
  if (verdict.worst_element >= 0 && !(times > verdict.worst_times)) return;
  verdict.worst_times = times;
  verdict.worst_output = output.spec->name;
  verdict.worst_element = logical;
}

}  // namespace assay
