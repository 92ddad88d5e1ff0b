// The results of `assay exhaust` as JSON: for other programs, and as lines of the journal.
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/exhaust.hpp"
#include "fuzz/finding_json.hpp"

namespace assay {

namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN or infinity.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_of(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json;
  return text == "nan" ? std::nan("") : text == "inf" ? HUGE_VAL : -HUGE_VAL;
}

Json point_json(const InputPoint& point) {
  return {{"inputs", point.inputs}, {"got", point.got_bits}, {"exact", number(point.exact)}};
}

InputPoint point_of(const Json& json) {
  return {json.at("inputs").get<std::vector<uint64_t>>(), json.at("got").get<uint64_t>(),
          number_of(json.at("exact"))};
}

Json points_json(const std::vector<OrderedPoint>& points) {
  Json json = Json::array();
  for (const OrderedPoint& point : points)
    json.push_back(point_json({{point.input}, point.got_bits, point.exact}));
  return json;
}

std::vector<OrderedPoint> points_of(const Json& json) {
  std::vector<OrderedPoint> points;
  for (const Json& one : json) {
    const InputPoint point = point_of(one);
    points.push_back({point.inputs.at(0), point.got_bits, point.exact});
  }
  return points;
}

Json stats_json(const ErrorStats& stats) {
  Json breaks = Json::array();
  for (const MonotonicityBreak& one : stats.first_breaks) {
    breaks.push_back({{"lower", point_json(one.lower)}, {"upper", point_json(one.upper)}});
  }
  Json json{{"output", stats.output}, {"type", std::string(name(stats.type))}};
  for (const auto& [key, count] : kErrorCounts) json[key] = stats.*count;
  json["histogram"] = stats.classes;
  json["max_ulps"] = stats.max_ulps;
  json["max_unbounded_ulps"] = stats.max_unbounded_ulps;
  json["ordered"] = stats.ordered;
  json["breaks"] = stats.breaks;
  json["first_breaks"] = breaks;
  if (!stats.lowest.empty()) {
    json["lowest"] = points_json(stats.lowest);
    json["highest"] = points_json(stats.highest);
  }
  if (stats.max_ulps >= 0) json["max_at"] = point_json(stats.max_at);
  if (stats.max_unbounded_ulps >= 0) json["max_unbounded_at"] = point_json(stats.max_unbounded_at);
  return json;
}

ErrorStats stats_of(const Json& json) {
  ErrorStats stats;
  stats.output = json.at("output");
  stats.type = parse_dtype(json.at("type").get<std::string>()).value();
  for (const auto& [key, count] : kErrorCounts) stats.*count = json.at(key);
  stats.classes = json.at("histogram").get<std::array<int64_t, kErrorClasses>>();
  stats.max_ulps = json.at("max_ulps");
  stats.max_unbounded_ulps = json.at("max_unbounded_ulps");
  stats.ordered = json.at("ordered");
  stats.breaks = json.at("breaks");
  for (const Json& one : json.at("first_breaks")) {
    stats.first_breaks.push_back({point_of(one.at("lower")), point_of(one.at("upper"))});
  }
  if (json.contains("lowest")) {
    stats.lowest = points_of(json.at("lowest"));
    stats.highest = points_of(json.at("highest"));
  }
  if (json.contains("max_at")) stats.max_at = point_of(json.at("max_at"));
  if (json.contains("max_unbounded_at")) {
    stats.max_unbounded_at = point_of(json.at("max_unbounded_at"));
  }
  return stats;
}

/// A finding's own place beside the one where the wrong value was stored.
Json kept_finding_json(const Finding& finding, const std::string& case_file) {
  Json json = finding_json(finding, case_file);
  json["file"] = finding.file;
  json["line"] = finding.line;
  json["stored_file"] = finding.stored_file;
  json["stored_line"] = finding.stored_line;
  return json;
}

Finding finding_of(const Json& json) {
  Finding finding;
  finding.kernel = json.at("kernel");
  finding.kind = json.at("kind");
  finding.rule = json.at("rule");
  finding.file = json.at("file");
  finding.line = json.at("line");
  finding.message = json.at("message");
  finding.steps = read_steps(json);
  finding.stored_file = json.at("stored_file");
  finding.stored_line = json.at("stored_line");
  return finding;
}

Json variant_json(const VariantResult& result) {
  Json row{{"variant", result.space.variant.text()},
           {"cases", result.cases},
           {"inputs_total", result.space.size},
           {"inputs_done", result.done()},
           {"inputs_judged", result.judged()},
           {"inputs_outside", result.outside()},
           {"inputs_lost", result.lost()},
           {"sampled", result.space.sampled()},
           {"finding_count", result.finding_count()},
           {"seconds", result.seconds},
           {"outputs", Json::array()}};
  if (!result.skipped.empty()) row["skipped"] = result.skipped;
  row["operands"] = Json::array();
  for (const OperandSpace& operand : result.space.operands) {
    Json one{{"name", operand.name}, {"type", std::string(name(operand.type))}};
    if (operand.sampled) one["mantissas_of_each_exponent_and_sign"] = operand.mantissas;
    row["operands"].push_back(std::move(one));
  }
  for (const ErrorStats& stats : result.outputs) row["outputs"].push_back(stats_json(stats));
  return row;
}

Json kernel_json(const ExhaustReport& report) {
  Json row{{"kernel", report.kernel},
           {"contract", report.contract},
           {"cases", report.cases()},
           {"variants", report.variants_ran()},
           {"variants_total", report.variants_total},
           {"inputs_total", report.inputs_total()},
           {"inputs_done", report.inputs_done()},
           {"inputs_judged", report.inputs_judged()},
           {"inputs_outside", report.inputs_outside()},
           {"inputs_lost", report.inputs_lost()},
           {"interrupted", report.interrupted},
           {"finding_count", report.finding_count()},
           {"seconds", report.seconds},
           {"skipped", Json::object()},
           {"notes", report.notes},
           {"results", Json::array()}};
  for (const VariantResult& result : report.variants) {
    if (!result.skipped.empty()) row["skipped"][result.space.variant.text()] = result.skipped;
    row["results"].push_back(variant_json(result));
  }
  return row;
}

/// Each with the variant that showed it.
void add_findings(const ExhaustReport& report, Json& list) {
  for (const VariantResult& result : report.variants) {
    for (const UnitResult& unit : result.with_findings) {
      for (size_t i = 0; i < unit.findings.size(); ++i) {
        Json finding = finding_json(unit.findings[i], unit.case_files[i]);
        finding["variant"] = unit.variant;
        finding["command"] = repro_command(report.filed(unit, i));
        list.push_back(std::move(finding));
      }
    }
  }
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string exhaust_json(const std::vector<ExhaustReport>& reports, double seconds) {
  int64_t cases = 0, ran = 0, total = 0, skipped = 0;
  Json findings = Json::array();
  Json kernels = Json::array();
  for (const ExhaustReport& report : reports) {
    cases += report.cases();
    ran += report.variants_ran();
    total += report.variants_total;
    skipped += report.variants_skipped();
    add_findings(report, findings);
    kernels.push_back(kernel_json(report));
  }
  Json out{{"cases", cases},
           {"seconds", seconds},
           {"variants", ran},
           {"variants_total", total},
           {"findings", findings},
           {"skipped", skipped},
           {"exit", static_cast<int>(exit_of(reports))},
           {"histogram_up_to_ulps", Json::array()},
           {"kernels", kernels}};
  for (size_t i = 0; i < kErrorClasses; ++i) {
    out["histogram_up_to_ulps"].push_back(error_class_name(i));
  }
  return dumped(out, 2) + "\n";
}

std::string unit_line(const UnitResult& result) {
  Json json{{"variant", result.variant},  {"space", result.space},     {"first", result.unit.first},
            {"count", result.unit.count}, {"program", result.program}, {"cases", result.cases},
            {"skipped", result.skipped},  {"seconds", result.seconds}, {"outputs", Json::array()},
            {"findings", Json::array()}};
  for (const ErrorStats& stats : result.outputs) json["outputs"].push_back(stats_json(stats));
  for (size_t i = 0; i < result.findings.size(); ++i) {
    json["findings"].push_back(kept_finding_json(result.findings[i], result.case_files[i]));
  }
  return dumped(json, -1);
}

std::optional<UnitResult> parse_unit_line(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    UnitResult result;
    result.variant = json.at("variant");
    result.space = json.at("space");
    result.cases = json.at("cases");
    result.unit = {0, json.at("first"), json.at("count")};
    result.program = json.at("program");
    result.skipped = json.at("skipped");
    result.seconds = json.at("seconds");
    for (const Json& stats : json.at("outputs")) {
      result.outputs.push_back(stats_of(stats));
      if (!result.outputs.back().adds_up()) return std::nullopt;
    }
    for (const Json& one : json.at("findings")) {
      result.findings.push_back(finding_of(one));
      result.case_files.push_back(one.at("case"));
    }
    return result;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const std::bad_optional_access&) {
    return std::nullopt;
  }
}

}  // namespace assay
