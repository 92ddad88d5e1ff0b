// Counters of many runs, summed and carried to the lines of the source.
#include <algorithm>
#include <fstream>

#include "fuzz/cover.hpp"

namespace assay {

namespace {

template <class Sum, class Count>
void add_counts(std::vector<Sum>& sums, const std::vector<Count>& counts) {
  sums.resize(std::max(sums.size(), counts.size()));
  for (size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

void add_bits(std::vector<uint8_t>& all, const std::vector<uint8_t>& seen) {
  all.resize(std::max(all.size(), seen.size()));
  for (size_t i = 0; i < seen.size(); ++i) all[i] |= seen[i];
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_access(CoverCounts& counts, const ptx::CoverageMap::Access& access, uint8_t seen) {
  for (size_t i = 0; i < kLaneKinds.size(); ++i) {
    const bool possible = kLaneKinds[i].bit != kNoLane || access.guarded;
    if (possible) counts.lanes[i].add((seen & kLaneKinds[i].bit) != 0);
  }
  for (size_t i = 0; access.may_be_operand && i < kEndKinds.size(); ++i) {
    counts.ends[i].add((seen & kEndKinds[i].bit) != 0);
  }
}

void add_result(CoverCounts& counts, uint8_t seen) {
  for (size_t i = 0; i < kResultKinds.size(); ++i) {
    counts.results[i].add((seen & kResultKinds[i].bit) != 0);
  }
}

}  // namespace

void CoverTally::add(const CheckResult& result) {
  for (const assay::Program& program : *result.programs) {
    const std::string name = program.key + program.entry;
    if (known_.contains(name)) continue;
    auto module = std::make_shared<ptx::Module>(ptx::decode(program.ptx, program.source));
    known_[name] = module->digest;
    Program& counted = programs_[module->digest];
    counted.entries.insert(program.entry);
    counted.source = program.source;
    if (!counted.module) counted.module = std::move(module);
  }
  for (const Coverage& seen : result.run.coverage) {
    Program& counted = programs_[seen.program];
    add_counts(counted.blocks, seen.blocks);
    add_counts(counted.edges, seen.edges);
    add_bits(counted.accesses, seen.accesses);
    add_bits(counted.results, seen.results);
  }
}

void CoverTally::add(CoverTally&& other) {
  known_.merge(other.known_);
  for (auto& [digest, theirs] : other.programs_) {
    Program& ours = programs_[digest];
    if (!ours.module) ours.module = std::move(theirs.module);
    if (ours.source.empty()) ours.source = std::move(theirs.source);
    ours.entries.merge(theirs.entries);
    add_counts(ours.blocks, theirs.blocks);
    add_counts(ours.edges, theirs.edges);
    add_bits(ours.accesses, theirs.accesses);
    add_bits(ours.results, theirs.results);
  }
}

void CoverTally::report(const std::string& source, CoverReport& report) const {
  std::map<std::string, CoveredFile> files;
  for (const auto& [digest, program] : programs_) {
    // A launch that did not run: an empty grid, or one that another's fault came before.
    if (program.blocks.empty()) continue;
    const ptx::CoverageMap map = ptx::map_coverage(*program.module, program.entries);
    const auto line_of = [&](int place) -> CoveredLine& {
      const ptx::SourcePlace& at = map.places[static_cast<size_t>(place)];
      return files[at.file.empty() ? program.source : at.file].lines[at.line];
    };
    // Once for the kernel, once for the line.
    const auto both = [&](int place, auto add) {
      if (place == ptx::kUnreachable) return;
      add(report.totals);
      if (place >= 0) add(line_of(place).counts);
    };
    for (size_t i = 0; i < map.blocks.size(); ++i) {
      if (!map.blocks[i].reachable) continue;
      const uint64_t hits = program.blocks[i];
      report.totals.blocks.add(hits != 0);
      for (const int place : map.blocks[i].places) {
        line_of(place).hits += static_cast<int64_t>(hits);
        line_of(place).counts.blocks.add(hits != 0);
      }
    }
    for (size_t i = 0; i < map.edges.size(); ++i) {
      both(map.edges[i], [&](CoverCounts& c) { c.edges.add(program.edges[i] != 0); });
    }
    for (size_t i = 0; i < map.accesses.size(); ++i) {
      both(map.accesses[i].place,
           [&](CoverCounts& c) { add_access(c, map.accesses[i], program.accesses[i]); });
    }
    for (size_t i = 0; i < map.results.size(); ++i) {
      both(map.results[i], [&](CoverCounts& c) { add_result(c, program.results[i]); });
    }
  }
  for (auto& [path, file] : files) {
    file.path = path;
    file.text = read_lines(path);
    report.files.push_back(std::move(file));
  }
  std::stable_partition(report.files.begin(), report.files.end(),
                        [&](const CoveredFile& file) { return file.path == source; });
}

std::vector<MissedLines> missed_lines(const CoveredFile& file) {
  std::vector<MissedLines> missed;
  bool open = false;
  for (const auto& [number, line] : file.lines) {
    if (line.hits > 0) {
      open = false;
    } else if (open) {
      missed.back().last = number;
    } else {
      missed.push_back({number, number});
      open = true;
    }
  }
  return missed;
}

int64_t CoverReport::skipped_cases() const {
  int64_t count = 0;
  for (const auto& [reason, cases] : skipped) count += cases;
  return count;
}

Exit CoverReport::exit() const {
  if (!findings.empty()) return Exit::findings;
  if (interrupted) return Exit::interrupted;
  return skipped.empty() ? Exit::clean : Exit::skipped;
}

}  // namespace assay
