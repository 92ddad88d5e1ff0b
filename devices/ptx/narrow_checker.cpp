#include "devices/ptx/narrow_checker.hpp"

#include <algorithm>
#include <bit>

#include "kernels_under_test/formula_functions.hpp"

namespace assay::ptx {

namespace {

/// Additions that one place in memory gets before it counts, as for straight chains
/// (narrow_chains.cpp): the first one adds to a start.
constexpr int kLeastInMemory = 3;

bool sums(const Expr& expr) {
  static constexpr std::string_view kSums[] = {
      "sum",     "mean",       "var", "logsumexp", "cumsum", "cumsum_exclusive", "cumsum_reversed",
      "softmax", "log_softmax"};
  if (expr.kind == Expr::Kind::call &&
      std::count(std::begin(kSums), std::end(kSums), expr.text) != 0)
    return true;
  return std::any_of(expr.operands.begin(), expr.operands.end(),
                     [](const ExprPtr& operand) { return operand != nullptr && sums(*operand); });
}

/// A place of shared memory of a block, of local memory of a thread, or of global memory.
uint64_t place_of(const AccessEvent& event, int lane, uint64_t address) {
  const auto block = static_cast<uint64_t>(event.block) + 1;
  const auto thread = static_cast<uint64_t>(event.warp * kLanes + lane) + 1;
  if (event.space == Space::shared) return address ^ (block << 24);
  if (event.space == Space::local) return address ^ (block << 34) ^ (thread << 24) ^ (1ull << 63);
  return address;
}

int64_t thread_number(const AccessEvent& event, int lane) {
  return (event.block << 10) + event.warp * kLanes + lane;
}

std::string element_name(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2:
      return "f16";
    case Type::bf16:
    case Type::bf16x2:
      return "bf16";
    case Type::tf32:
      return "tf32";
    case Type::f32:
      return "f32";
    case Type::e4m3:
    case Type::e4m3x2:
      return "e4m3";
    default:
      return "e5m2";
  }
}

const char* how(NarrowFeed feed) {
  switch (feed) {
    case NarrowFeed::loop:
      return "on each turn of a loop";
    case NarrowFeed::shuffle:
      return "between shuffles";
    case NarrowFeed::unrolled:
      return "at each addition of an unrolled loop";
    case NarrowFeed::products:
      return "between matrix products";
    case NarrowFeed::memory:
      return "between additions in memory";
    case NarrowFeed::atomic:
      return "at each atomic addition";
  }
  return "";
}

const char* name_of_back(NarrowFeed feed) {
  switch (feed) {
    case NarrowFeed::loop:
      return "back around the loop";
    case NarrowFeed::shuffle:
      return "moved to another lane";
    case NarrowFeed::unrolled:
    case NarrowFeed::products:
      return "the addition before";
    case NarrowFeed::memory:
      return "stored";
    case NarrowFeed::atomic:
      return "swapped into memory";
  }
  return "";
}

}  // namespace

std::vector<FunctionChains> chains_of(const Module& module, const Function& entry, int precision) {
  std::vector<FunctionChains> result;
  for (const Function& function : module.functions) {
    if (&function != &entry && (function.is_entry || function.is_declaration)) continue;
    if (!may_narrow(function, precision)) continue;
    FunctionChains found{DataFlow(function), {}};
    found.chains = find_narrow_chains(found.flow, precision);
    if (!found.chains.empty()) result.push_back(std::move(found));
  }
  return result;
}

int summed_precision(const Contract& contract) {
  const bool any = std::any_of(
      contract.formula.begin(), contract.formula.end(),
      [](const FormulaLine& line) { return line.accumulates || (line.expr && sums(*line.expr)); });
  const DType accumulate = contract.accuracy.accumulate;
  return any && is_floating(accumulate) ? format_of(accumulate).precision : 0;
}

NarrowLaunch::NarrowLaunch(const Module& module, const std::vector<FunctionChains>& functions,
                           std::string accumulate, const std::vector<uint32_t>& hits_before)
    : module_(module),
      functions_(functions),
      accumulate_(std::move(accumulate)),
      hits_before_(hits_before) {
  for (const FunctionChains& f : functions_) {
    const Function& function = f.flow.function();
    for (const NarrowChain& chain : f.chains) {
      if (chain.feed != NarrowFeed::memory && chain.feed != NarrowFeed::atomic) continue;
      Watched watched;
      watched.function = &function;
      watched.chain = &chain;
      // A tree adds what it stored, at whichever of its lines; else one place of the source must.
      watched.place = chain.tree ? 0 : 1 + chain.add;
      for (int32_t i = 0; i < chain.add && !chain.tree; ++i) {
        if (same_place(function, i, chain.add) &&
            function.code[i].op == function.code[chain.add].op)
          watched.place = std::min<int64_t>(watched.place, 1 + i);
      }
      for (int32_t i :
           {chain.load, chain.back, chain.feed == NarrowFeed::atomic ? chain.add : -1}) {
        if (i >= 0) by_instruction_.emplace(&function.code[i], watched_.size());
      }
      watched_.push_back(std::move(watched));
    }
  }
}

AccessObserver NarrowLaunch::observer() {
  if (watched_.empty()) return {};
  return [this](const AccessEvent& event) { see(event); };
}

void NarrowLaunch::see(const AccessEvent& event) {
  const auto [first, last] = by_instruction_.equal_range(event.instruction);
  for (auto at = first; at != last; ++at) {
    Watched& watched = watched_[at->second];
    for (uint32_t lanes = event.mask; lanes != 0 && !watched.seen; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (watched.chain->feed == NarrowFeed::atomic)
        see_atomic(watched, event, lane);
      else
        see_memory(watched, event, lane);
    }
  }
}

/// An atomic counts each time; a swap may fail, so of swaps the threads count.
void NarrowLaunch::see_atomic(Watched& watched, const AccessEvent& event, int lane) {
  const uint64_t place = place_of(event, lane, event.addresses[lane]);
  if (watched.chain->back < 0) {
    watched.seen = ++memory_[place].additions >= kLeastInMemory;
    return;
  }
  std::vector<int64_t>& threads = swappers_[place];
  const int64_t thread = thread_number(event, lane);
  if (std::find(threads.begin(), threads.end(), thread) == threads.end()) threads.push_back(thread);
  watched.seen = threads.size() >= kLeastInMemory;
}

void NarrowLaunch::see_memory(Watched& watched, const AccessEvent& event, int lane) {
  if (event.space == Space::global) return;
  Depth& own = watched.loaded[static_cast<uint64_t>(thread_number(event, lane))];
  const uint64_t first = event.addresses[lane] / 2;
  const uint64_t last = (event.addresses[lane] + static_cast<uint64_t>(event.bytes) - 1) / 2;
  if (event.is_write) {
    const Depth now{own.additions + 1, watched.place};
    for (uint64_t at = first; at <= last; ++at) {
      Depth& here = memory_[place_of(event, lane, at)];
      // The other operand of a tree's addition may hold the longer chain.
      const bool same_store = here.place == now.place && here.additions > now.additions;
      if (!same_store || !watched.chain->tree) here = now;
    }
    watched.seen = now.additions >= kLeastInMemory;
    return;
  }
  own = {0, watched.place};
  for (uint64_t at = first; at <= last; ++at) {
    const auto known = memory_.find(place_of(event, lane, at));
    if (known != memory_.end() && known->second.place == watched.place)
      own.additions = std::max(own.additions, known->second.additions);
  }
}

Diagnostic NarrowLaunch::describe(const FunctionChains& f, const NarrowChain& chain,
                                  int32_t store) const {
  const Function& function = f.flow.function();
  const auto step = [&](int32_t i, std::string what) {
    return step_of(module_, function, function.code[i], std::move(what));
  };
  const std::string type = element_name(chain.narrow);
  Diagnostic d;
  d.kind = DiagnosticKind::narrow_accumulation;
  d.steps.push_back(step(chain.add, "addition"));
  d.file = d.steps[0].file;
  d.line = d.steps[0].line;
  d.ptx_line = d.steps[0].ptx_line;
  d.block = d.thread = {-1, -1, -1};
  if (chain.rounding >= 0) d.steps.push_back(step(chain.rounding, "rounded to " + type));
  if (chain.back >= 0) d.steps.push_back(step(chain.back, name_of_back(chain.feed)));
  if (chain.load >= 0) d.steps.push_back(step(chain.load, "loaded again"));
  if (store != chain.add && store != chain.back) d.steps.push_back(step(store, "stored"));
  d.message = "a sum is rounded to " + type + " " + how(chain.feed) +
              ", where the contract accumulates in " + accumulate_;
  return d;
}

void NarrowLaunch::report(const std::vector<uint32_t>& hits,
                          std::vector<Diagnostic>& findings) const {
  for (const FunctionChains& f : functions_) {
    const Function& function = f.flow.function();
    const auto entries = [&](int32_t block) -> int64_t {
      const auto id = static_cast<size_t>(function.first_block_id + block);
      if (block < 0 || id >= hits.size()) return 0;
      return int64_t{hits[id]} - (id < hits_before_.size() ? hits_before_[id] : 0);
    };
    const auto ran = [&](int32_t i) { return entries(f.flow.block_of(i)) > 0; };
    for (const NarrowChain& chain : f.chains) {
      const bool unseen = std::any_of(watched_.begin(), watched_.end(), [&](const Watched& w) {
        return w.chain == &chain && !w.seen;
      });
      const bool loops = chain.feed == NarrowFeed::loop;
      const bool turned =
          loops && std::any_of(chain.loops.begin(), chain.loops.end(),
                               [&](auto loop) { return went_around(function, loop, entries); });
      if (!ran(chain.add) || unseen || (loops && !turned)) continue;
      const int32_t store = reached_store(f.flow, chain.add, ran);
      if (store < 0) continue;
      Diagnostic d = describe(f, chain, store);
      const auto same = [&](const Diagnostic& known) {
        return known.kind == d.kind && known.file == d.file &&
               (d.line > 0 ? known.line == d.line : known.ptx_line == d.ptx_line);
      };
      if (std::none_of(findings.begin(), findings.end(), same)) findings.push_back(std::move(d));
    }
  }
}

}  // namespace assay::ptx
