#include "devices/ptx/coverage_map.hpp"

#include <algorithm>
#include <map>

#include "devices/ptx/cfg.hpp"
#include "devices/ptx/code.hpp"
#include "devices/ptx/counters.hpp"

namespace assay::ptx {

namespace {

class Mapping {
 public:
  explicit Mapping(const Module& module) : module_(module) {
    map_.blocks.resize(static_cast<size_t>(module.block_count));
    map_.edges.assign(static_cast<size_t>(module.edge_count), kUnreachable);
    map_.accesses.resize(static_cast<size_t>(module.access_count));
    map_.results.assign(static_cast<size_t>(module.result_count), kUnreachable);
    for (const Function& function : module.functions) {
      for (const Instruction& ins : function.code) has_lines_ |= ins.line >= 0;
    }
  }

  void add(const Function& function) {
    if (function.blocks.empty() || !added_.insert(&function).second) return;
    add_blocks(function);
    size_t access = static_cast<size_t>(function.first_access_id);
    size_t result = static_cast<size_t>(function.first_result_id);
    for (const Instruction& ins : function.code) {
      if (accesses_memory(ins)) {
        const Space space = ins.op == Op::cp ? Space::global : ins.space;
        map_.accesses[access++] = {place_of(function, ins), ins.guard >= 0,
                                   space == Space::global || space == Space::generic};
      }
      if (result_format(ins) != ResultFormat::none)
        map_.results[result++] = place_of(function, ins);
      if (ins.op == Op::call && ins.target >= 0) {
        add(module_.functions[static_cast<size_t>(ins.target)]);
      }
    }
  }

  CoverageMap take() { return std::move(map_); }

 private:
  void add_blocks(const Function& function) {
    for (size_t b = 0; b < function.blocks.size(); ++b) {
      CoverageMap::Block& mapped = map_.blocks[static_cast<size_t>(function.first_block_id) + b];
      mapped.reachable = true;
      for (int32_t i = function.blocks[b].first; i < function.blocks[b].last; ++i) {
        const int place = place_of(function, function.code[static_cast<size_t>(i)]);
        const bool known = std::find(mapped.places.begin(), mapped.places.end(), place) !=
                           mapped.places.end();
        if (place >= 0 && !known) mapped.places.push_back(place);
      }
    }
    int* const edges = map_.edges.data() + function.first_edge_id;
    edges[0] = kNoPlace;
    for_edges(function, [&](int32_t edge, int32_t from, int32_t) {
      const int32_t last = function.blocks[static_cast<size_t>(from)].last - 1;
      edges[edge] = place_of(function, function.code[static_cast<size_t>(last)]);
    });
  }

  /// Without any line table the PTX itself is the source.
  int place_of(const Function& function, const Instruction& ins) {
    SourcePlace place{"", ins.ptx_line};
    if (has_lines_) {
      const SourceLine line = user_line(module_, function, ins);
      const auto file = module_.files.find(line.file);
      if (file == module_.files.end() || line.line <= 0) return kNoPlace;
      place = {file->second, line.line};
    }
    const auto [at, fresh] = numbers_.emplace(place, static_cast<int>(map_.places.size()));
    if (fresh) map_.places.push_back(place);
    return at->second;
  }

  const Module& module_;
  CoverageMap map_;
  std::map<SourcePlace, int> numbers_;
  std::set<const Function*> added_;
  bool has_lines_ = false;
};

}  // namespace

CoverageMap map_coverage(const Module& module, const std::set<std::string>& entries) {
  Mapping mapping(module);
  for (const std::string& entry : entries) {
    if (const Function* function = module.find(entry)) mapping.add(*function);
  }
  return mapping.take();
}

}  // namespace assay::ptx
