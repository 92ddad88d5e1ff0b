// The report as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/finding_json.hpp"
#include "fuzz/report.hpp"

namespace assay {

using Json = nlohmann::ordered_json;

namespace {

/// What is not known is left out.
Json step_json(const Step& step) {
  Json row{{"what", step.what}};
  if (!step.file.empty()) {
    row["file"] = step.file;
    row["line"] = step.line;
  }
  if (!step.instruction.empty()) row["instruction"] = step.instruction;
  if (step.block[0] >= 0) row["block"] = step.block;
  if (step.thread[0] >= 0) row["thread"] = step.thread;
  if (!step.value.empty()) row["value"] = step.value;
  return row;
}

}  // namespace

Json error_json(const InputError& error) {
  return {{"file", error.where().file}, {"line", error.where().line}, {"message", error.what()}};
}

Json finding_json(const Finding& finding, const std::string& case_file) {
  Json row{{"kernel", finding.kernel},
           {"kind", finding.kind},
           {"rule", finding.rule},
           {"file", finding.shown_file()},
           {"line", finding.shown_line()},
           {"message", finding.message},
           {"steps", Json::array()},
           {"case", case_file}};
  for (const Step& step : finding.steps) row["steps"].push_back(step_json(step));
  return row;
}

std::vector<Step> read_steps(const Json& finding) {
  std::vector<Step> steps;
  for (const Json& row : finding.at("steps")) {
    Step step;
    step.what = row.at("what");
    step.file = row.value("file", "");
    step.line = row.value("line", 0);
    step.instruction = row.value("instruction", "");
    step.block = row.value("block", step.block);
    step.thread = row.value("thread", step.thread);
    step.value = row.value("value", "");
    steps.push_back(std::move(step));
  }
  return steps;
}

namespace {

Json totals_json(const ScoreTotals& totals) {
  return {{"planted", totals.pairs},
          {"found", totals.found},
          {"by_expected_check", totals.by_expected_check},
          {"as_expected", totals.as_expected},
          {"false_alarms", totals.false_alarms},
          {"median_seconds", totals.median_seconds},
          {"worst_seconds", totals.worst_seconds},
          {"median_cases", totals.median_cases},
          {"worst_cases", totals.worst_cases}};
}

Json fault_json(const PlantedFault& fault) {
  Json row{{"class", fault.fault_class}, {"origin", fault.origin()}, {"fault", fault.text}};
  row["expected"] = Json::array();
  for (const ExpectedFinding& one : fault.expected) {
    row["expected"].push_back({{"check", one.check}, {"file", one.file}, {"line", one.line}});
  }
  return row;
}

Json pair_json(const PairReport& pair) {
  Json row{{"name", pair.name},
           {"planted", fault_json(pair.fault)},
           {"witness_fails", pair.witness_fails},
           {"witness_passes_on_twin", pair.witness_passes_on_twin},
           {"found", pair.found},
           {"by_expected_check", pair.by_expected_check()},
           {"as_expected", pair.as_expected()},
           {"seconds", pair.seconds},
           {"cases", pair.cases},
           {"twin_cases", pair.twin_cases},
           {"false_alarms", pair.false_alarms}};
  if (pair.found) row["by"] = finding_json(pair.finding, "");
  if (!pair.problem.empty()) row["problem"] = pair.problem;
  return row;
}

Json listed_json(const KernelReport& kernel) {
  const ListedKernel& listed = *kernel.listed;
  Json row{{"kernel", kernel.kernel},
           {"contract", kernel.contract},
           {"variants_total", kernel.variants_total},
           {"types", listed.types},
           {"knobs", listed.knobs},
           {"flags", listed.flags}};
  row["sizes"] = Json::object();
  for (const auto& [name, size] : listed.sizes) {
    if (size.in.empty()) {
      row["sizes"][name] = {{"min", size.min}, {"max", size.max}};
    } else {
      row["sizes"][name] = {{"in", size.in}};
    }
  }
  row["may_alias"] = listed.may_alias;
  row["policies_open"] = listed.policies_open;
  row["not_yet"] = listed.not_yet;
  row["notes"] = listed.notes;
  if (!listed.emulator) return row;
  row["looked_at"] = listed.emulator->variants;
  row["not_looked_at"] = listed.emulator->not_looked_at;
  row["unsupported"] = Json::array();
  for (const Unsupported& one : listed.emulator->lacking) {
    row["unsupported"].push_back({{"what", one.what},
                                  {"file", one.file},
                                  {"line", one.line},
                                  {"ptx_line", one.ptx_line},
                                  {"variants", one.variants}});
  }
  return row;
}

/// Null where it is infinite: JSON has no such number.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json kernel_json(const KernelReport& kernel) {
  if (kernel.listed) return listed_json(kernel);
  Json row{{"kernel", kernel.kernel},
           {"contract", kernel.contract},
           {"cases", kernel.cases},
           {"variants", kernel.variants.size()},
           {"variants_total", kernel.variants_total},
           {"weak_share", kernel.weak_share()},
           {"no_bound_share", kernel.no_bound_share()},
           {"seconds", kernel.seconds}};
  if (const auto& c = kernel.calibrated) {
    row["runs"] = c->runs;
    row["honest_share"] = {{"largest", c->honest.largest}, {"mean", c->honest.mean()}};
    row["adversarial_share"] = {{"largest", c->adversarial.largest},
                                {"mean", c->adversarial.mean()}};
    row["sensitivity"] = Json::array();
    for (const auto& [key, count] : c->sensitivity) {
      row["sensitivity"].push_back({{"reduced", name(std::get<0>(key))},
                                    {"data", name(std::get<1>(key))},
                                    {"defect", name(std::get<2>(key))},
                                    {"planted", count.planted},
                                    {"caught", count.caught},
                                    {"smallest_caught_ulps", number(count.smallest_caught)},
                                    {"largest_missed_ulps", number(count.largest_missed)}});
    }
  }
  row["skipped"] = Json::object();
  for (const auto& [reason, count] : kernel.skipped) row["skipped"][reason] = count;
  row["unjudged"] = Json::object();
  for (const auto& [reason, count] : kernel.unjudged) row["unjudged"][reason] = count;
  row["properties"] = Json::object();
  for (const auto& [property, count] : kernel.properties) row["properties"][property] = count;
  row["notes"] = kernel.notes;
  if (kernel.error) row["error"] = error_json(*kernel.error);
  return row;
}

}  // namespace

std::string json_report(const Report& report) {
  Json out{{"cases", report.cases()},
           {"seconds", report.seconds},
           {"seed", report.seed},
           {"variants", report.variants_reached()},
           {"variants_total", report.variants_total()},
           {"findings", Json::array()},
           {"skipped", report.skipped_cases()},
           {"interrupted", report.interrupted},
           {"exit", static_cast<int>(report.exit())}};
  if (report.not_written) out["not_written"] = error_json(*report.not_written);
  for (const FiledFinding& filed : report.findings) {
    Json row = finding_json(filed.finding, filed.case_file);
    row["seen"] = filed.seen;
    row["known"] = filed.known;
    row["shrunk"] = filed.shrunk;
    row["with_above"] = !filed.with_above.empty();
    row["command"] = repro_command(filed);
    out["findings"].push_back(std::move(row));
  }
  if (report.command == Command::score) {
    out.update(totals_json(score_totals(report.pairs)));
    out["classes"] = Json::array();
    for (const auto& [fault_class, totals] : score_by_class(report.pairs)) {
      Json row{{"class", fault_class}, {"name", fault_class_name(fault_class)}};
      row.update(totals_json(totals));
      out["classes"].push_back(std::move(row));
    }
    out["pairs"] = Json::array();
    for (const PairReport& pair : report.pairs) out["pairs"].push_back(pair_json(pair));
  } else {
    out["kernels"] = Json::array();
    for (const KernelReport& kernel : report.kernels) out["kernels"].push_back(kernel_json(kernel));
  }
  // A source path or a message may hold any byte; a reader of JSON wants valid UTF-8.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
