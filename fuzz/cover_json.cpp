// The results of `assay cover` as JSON.
#include <nlohmann/json.hpp>

#include "fuzz/cover.hpp"
#include "fuzz/finding_json.hpp"

namespace assay {

namespace {

using Json = nlohmann::ordered_json;

Json reached_json(const Reached& reached) {
  return {{"reached", reached.reached}, {"of", reached.of}};
}

template <size_t kKinds>
Json kinds_json(const std::array<CoverKind, kKinds>& kinds,
                const std::array<Reached, kKinds>& reached) {
  Json row = Json::object();
  for (size_t i = 0; i < kKinds; ++i) {
    if (reached[i].of > 0) row[kinds[i].name] = reached_json(reached[i]);
  }
  return row;
}

Json counts_json(const CoverCounts& counts) {
  return {{"blocks", reached_json(counts.blocks)},
          {"edges", reached_json(counts.edges)},
          {"lanes", kinds_json(kLaneKinds, counts.lanes)},
          {"ends", kinds_json(kEndKinds, counts.ends)},
          {"results", kinds_json(kResultKinds, counts.results)}};
}

Json file_json(const CoveredFile& file) {
  Json row{{"file", file.path}, {"lines", Json::array()}};
  for (const auto& [number, line] : file.lines) {
    Json one{{"line", number}, {"hits", line.hits}};
    one.update(counts_json(line.counts));
    row["lines"].push_back(std::move(one));
  }
  return row;
}

}  // namespace

std::string cover_json(const CoverReport& report) {
  Json json{{"command", "cover"},
            {"kernel", report.kernel},
            {"contract", report.contract},
            {"seed", report.seed},
            {"cases", report.cases},
            {"seconds", report.seconds},
            {"variants", report.variants},
            {"variants_total", report.variants_total},
            {"findings", Json::array()},
            {"skipped", report.skipped_cases()},
            {"skipped_by_reason", report.skipped},
            {"totals", counts_json(report.totals)},
            {"files", Json::array()},
            {"interrupted", report.interrupted},
            {"exit", static_cast<int>(report.exit())}};
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(finding_json(finding, ""));
  }
  for (const CoveredFile& file : report.files) json["files"].push_back(file_json(file));
  // A path need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
