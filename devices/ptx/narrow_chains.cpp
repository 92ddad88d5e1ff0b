#include "devices/ptx/narrow_chains.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "devices/ptx/cfg.hpp"

namespace assay::ptx {

namespace {

/// Additions in a straight chain before it counts: the first rounding of x0 + x1 is one that no
/// order of a wider sum has, and sums of three (a residual, a bias) are no accumulation.
constexpr int kLeastAdditions = 3;
constexpr int kLeastProducts = 2;

/// How an operand's value goes into the result.
enum class Part : uint8_t {
  none,
  copy,      ///< as it is, or rounded, or the bits of it
  shuffled,  ///< as it is, of another lane
  term,      ///< added
  scaled,    ///< multiplied
};

bool is_bits(Type type) { return precision_of(type) == 0; }

/// A constant that is 1 or -1 in the type, in each half of a packed one.
bool is_unit(Type type, uint64_t bits) {
  switch (type) {
    case Type::f16:
      return (bits & 0x7fff) == 0x3c00;
    case Type::f16x2:
      return (bits & 0x7fff7fff) == 0x3c003c00;
    case Type::bf16:
      return (bits & 0x7fff) == 0x3f80;
    case Type::bf16x2:
      return (bits & 0x7fff7fff) == 0x3f803f80;
    case Type::f32:
      return (bits & 0x7fffffff) == 0x3f800000;
    case Type::f64:
      return (bits & ~(uint64_t{1} << 63)) == uint64_t{0x3ff} << 52;
    default:
      return false;
  }
}

bool is_narrow(Type type, int precision) {
  const int bits = precision_of(type);
  return bits > 0 && bits < precision;
}
bool is_product(const Instruction& ins) { return ins.op == Op::mma || ins.wmma == Wmma::mma; }

/// An addition of floating point.
bool is_addition(const Instruction& ins) {
  const bool adds = ins.op == Op::add || ins.op == Op::sub || ins.op == Op::fma;
  return !is_bits(ins.type) && (adds || is_product(ins));
}

/// Rounds to a format of less than `precision` bits.
bool narrows(const Instruction& ins, int precision) {
  if (!is_narrow(ins.type, precision)) return false;
  if (ins.op == Op::cvt) return precision_of(ins.source_type) > precision_of(ins.type);
  return is_addition(ins) || ins.op == Op::mul;
}

bool is_narrow_atomic(const Instruction& ins, int precision) {
  const bool adds = (ins.op == Op::atom || ins.op == Op::red) && ins.atom == Atom::add;
  return adds && is_narrow(ins.type, precision);
}

class Search {
 public:
  Search(const DataFlow& flow, int precision)
      : flow_(flow), code_(flow.function().code), precision_(precision) {}

  std::vector<NarrowChain> run() {
    find_constants();
    find_parts();
    find_loops();
    find_straight();
    find_memory();
    find_atomics();
    return std::move(chains_);
  }

 private:
  bool narrows(const Instruction& ins) const { return ptx::narrows(ins, precision_); }

  /// First operand of C of a matrix product.
  size_t first_of_c(const Instruction& ins) const {
    const Type c = ins.c_type == Type::none ? ins.type : ins.c_type;
    const int d_bytes = std::max(bytes_of(ins.type), 1), c_bytes = std::max(bytes_of(c), 1);
    const size_t count =
        ins.dst.size() * static_cast<size_t>(c_bytes) / static_cast<size_t>(d_bytes);
    return ins.src.size() - std::min(ins.src.size(), std::max<size_t>(count, 1));
  }

  /// The value of an operand that is an immediate, or moved from one.
  std::optional<uint64_t> immediate(int32_t i, size_t k) const {
    const Value& v = code_[i].src[k];
    if (v.kind == Value::Kind::immediate) return v.bits;
    const std::vector<int32_t>& makers = flow_.makers(i, k);
    if (makers.size() != 1) return std::nullopt;
    const Instruction& maker = code_[makers[0]];
    if (maker.op == Op::mov && maker.src.size() == 1 && maker.dst.size() == 1)
      return immediate(makers[0], 0);
    // {c, c} of a packed constant.
    if (maker.op == Op::mov && maker.src.size() == 2 && bytes_of(maker.type) == 4) {
      const auto low = immediate(makers[0], 0), high = immediate(makers[0], 1);
      if (low && high) return (*low & 0xffff) | (*high & 0xffff) << 16;
    }
    return std::nullopt;
  }

  /// Instructions whose result is the same for every element: of immediates, parameters and
  /// constant memory. A least fixpoint: what a loop changes is none.
  void find_constants() {
    constant_.assign(code_.size(), 0);
    const auto operand_is_constant = [&](int32_t i, size_t k) {
      const Value& v = code_[i].src[k];
      if (v.kind == Value::Kind::immediate || v.kind == Value::Kind::param) return true;
      if (v.kind != Value::Kind::reg) return false;
      const std::vector<int32_t>& makers = flow_.makers(i, k);
      return !makers.empty() && std::all_of(makers.begin(), makers.end(),
                                            [&](int32_t m) { return constant_[m] != 0; });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (int32_t i = 0; i < size(); ++i) {
        const Instruction& ins = code_[i];
        if (constant_[i] || ins.dst.empty()) continue;
        bool constant = false;
        if (ins.op == Op::ld) {
          constant = ins.space == Space::param || ins.space == Space::const_;
        } else if (ins.op != Op::atom && ins.op != Op::shfl && ins.op != Op::call) {
          constant = !ins.src.empty();
          for (size_t k = 0; k < ins.src.size() && constant; ++k)
            constant = operand_is_constant(i, k);
        }
        constant_[i] = constant;
        changed |= constant;
      }
    }
  }
  bool is_constant(int32_t i, size_t k) const {
    const Value& v = code_[i].src[k];
    if (v.kind != Value::Kind::reg) return true;
    const std::vector<int32_t>& makers = flow_.makers(i, k);
    return std::all_of(makers.begin(), makers.end(), [&](int32_t m) { return constant_[m] != 0; });
  }

  Part part_of(int32_t i, size_t k) const {
    const Instruction& ins = code_[i];
    if (is_product(ins)) return k >= first_of_c(ins) ? Part::term : Part::none;
    switch (ins.op) {
      case Op::mov:
      case Op::neg:
        return Part::copy;
      case Op::selp:
      case Op::slct:
      case Op::prmt:
      case Op::shf:
      case Op::bfi:
        return k < 2 ? Part::copy : Part::none;
      case Op::shl:
      case Op::shr:
      case Op::bfe:
        return k == 0 ? Part::copy : Part::none;
      case Op::and_:
      case Op::or_:
      case Op::xor_:
        return Part::copy;
      case Op::lop3:
        return k < 3 ? Part::copy : Part::none;
      case Op::cvt:
        return is_bits(ins.type) == is_bits(ins.source_type) ? Part::copy : Part::none;
      case Op::shfl:
        return k == 0 ? Part::shuffled : Part::none;
      case Op::add:
      case Op::sub:
        return is_bits(ins.type) ? Part::none : Part::term;
      case Op::mul:
        return is_bits(ins.type) ? Part::none : Part::scaled;
      case Op::fma: {
        if (k == 2) return Part::term;
        // a * 1 + c, as bf16 adds on sm_80.
        const auto factor = immediate(i, 1 - k);
        return factor && is_unit(ins.type, *factor) ? Part::term : Part::scaled;
      }
      default:
        return Part::none;
    }
  }
  void find_parts() {
    parts_.resize(code_.size());
    for (int32_t i = 0; i < size(); ++i) {
      for (size_t k = 0; k < code_[i].src.size(); ++k) parts_[i].push_back(part_of(i, k));
    }
  }

  /// Numbers of the components of the graph of value flow; -1 for a component of one.
  template <class Admits>
  std::vector<int32_t> components(Admits admits) const {
    Graph graph(code_.size());
    for (int32_t i = 0; i < size(); ++i) {
      for (const DataFlow::Use& use : flow_.users(i)) {
        if (admits(i, use)) graph[i].push_back(use.instruction);
      }
    }
    std::vector<int32_t> number(code_.size(), -1);
    int32_t count = 0;
    for (const std::vector<int32_t>& component : strongly_connected(graph)) {
      const int32_t first = component[0];
      const bool alone =
          component.size() == 1 &&
          std::find(graph[first].begin(), graph[first].end(), first) == graph[first].end();
      if (alone) continue;
      for (int32_t node : component) number[node] = count;
      ++count;
    }
    return number;
  }
  Part part(const DataFlow::Use& use) const { return parts_[use.instruction][use.operand]; }

  /// Operands of `i` that `number` puts into its own component.
  int own_operands(int32_t i, const std::vector<int32_t>& number) const {
    int own = 0;
    for (size_t k = 0; k < code_[i].src.size(); ++k) own += is_own(i, k, number);
    return own;
  }
  bool is_own(int32_t i, size_t k, const std::vector<int32_t>& number) const {
    if (number[i] < 0) return false;
    const std::vector<int32_t>& makers = flow_.makers(i, k);
    return std::any_of(makers.begin(), makers.end(),
                       [&](int32_t m) { return number[m] == number[i]; });
  }

  /// Whether addition `i` adds to operand k something that is no constant: counters and the steps
  /// of a polynomial (p * x + c) accumulate nothing.
  bool adds_to(int32_t i, size_t k) const {
    const Instruction& ins = code_[i];
    if (is_product(ins)) return parts_[i][k] == Part::term;
    if (parts_[i][k] == Part::none) return false;
    if (ins.op == Op::fma) {
      if (k == 2) return !is_constant(i, 0) || !is_constant(i, 1);
      return !is_constant(i, 2);
    }
    return !is_constant(i, 1 - k);
  }

  void find_loops() {
    const auto flows = [&](int32_t, const DataFlow::Use& use) { return part(use) != Part::none; };
    const auto in_lane = [&](int32_t, const DataFlow::Use& use) {
      return part(use) != Part::none && part(use) != Part::shuffled;
    };
    // What is scaled by something that it makes itself is no sum (Newton's x * (2 - a * x)).
    const std::vector<int32_t> rough = components(in_lane);
    const auto scales_itself = [&](const DataFlow::Use& use) {
      return part(use) == Part::scaled && own_operands(use.instruction, rough) > 1;
    };
    const std::vector<int32_t> cycles = components([&](int32_t from, const DataFlow::Use& use) {
      return flows(from, use) && !scales_itself(use);
    });
    const std::vector<int32_t> in_lanes = components([&](int32_t from, const DataFlow::Use& use) {
      return in_lane(from, use) && !scales_itself(use);
    });
    std::map<int32_t, int32_t> rounding;  // by cycle: the first instruction that narrows
    std::map<int32_t, std::pair<int32_t, int32_t>> extent;  // by cycle: orders of its blocks
    for (int32_t i = 0; i < size(); ++i) {
      if (cycles[i] < 0) continue;
      if (narrows(code_[i])) rounding.try_emplace(cycles[i], i);
      auto& [low, high] = extent.try_emplace(cycles[i], order_of(i), order_of(i)).first->second;
      low = std::min(low, order_of(i));
      high = std::max(high, order_of(i));
    }
    for (int32_t i = 0; i < size(); ++i) {
      if (cycles[i] < 0 || !is_addition(code_[i]) || rounding.count(cycles[i]) == 0) continue;
      // Doubled, or corrected by what it makes.
      if (!is_product(code_[i]) && own_operands(i, in_lanes) > 1) continue;
      bool adds = false;
      for (size_t k = 0; k < code_[i].src.size(); ++k)
        adds |= is_own(i, k, cycles) && adds_to(i, k);
      if (!adds) continue;
      const int32_t at = narrows(code_[i]) ? i : rounding[cycles[i]];
      NarrowChain chain{NarrowFeed::loop, i, at == i ? -1 : at, code_[at].type};
      const auto [low, high] = extent.at(cycles[i]);
      chain.loops = {loop_around(order_of(i), order_of(i)), loop_around(low, high)};
      const int32_t latch = chain.loops[0].second;
      if (latch >= 0) chain.back = flow_.function().blocks[latch].last - 1;
      add(chain);
    }
  }

  int32_t order_of(int32_t i) const { return flow_.function().blocks[flow_.block_of(i)].order; }

  /// First and last block of the smallest loop around blocks whose orders are `low` to `high`.
  std::pair<int32_t, int32_t> loop_around(int32_t low, int32_t high) const {
    const std::vector<BasicBlock>& blocks = flow_.function().blocks;
    std::pair<int32_t, int32_t> best{-1, -1};
    int32_t length = 0;
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (!blocks[b].back_edge || blocks[b].order < high) continue;
      for (int32_t s : successors_of(flow_.function(), blocks[b])) {
        const int32_t span = blocks[b].order - blocks[s].order;
        if (blocks[s].order > low || (best.first >= 0 && span >= length)) continue;
        best = {s, static_cast<int32_t>(b)};
        length = span;
      }
    }
    return best;
  }

  /// Where a chain comes from: what made an addition's operand, through copies.
  struct Before {
    int32_t addition = -1;
    int32_t rounding = -1;  ///< what narrowed on the way; -1: the addition itself, or nothing
    int32_t shuffle = -1;   ///< on the way; -1: none
  };
  /// Additions whose narrow result operand k of `i` holds.
  void walk_back(int32_t i, size_t k, Before here, std::vector<Before>& found,
                 std::set<std::pair<int32_t, int>>& seen) const {
    for (int32_t m : flow_.makers(i, k)) {
      const int state = (here.rounding >= 0 ? 1 : 0) | (here.shuffle >= 0 ? 2 : 0);
      if (!seen.insert({m, state}).second) continue;
      const Instruction& ins = code_[m];
      if (is_addition(ins)) {
        Before before = here;
        before.addition = m;
        if (narrows(ins)) before.rounding = -1;
        if (narrows(ins) || before.rounding >= 0) found.push_back(before);
        continue;
      }
      Before next = here;
      if (narrows(ins) && ins.op == Op::cvt) next.rounding = m;
      for (size_t s = 0; s < ins.src.size(); ++s) {
        if (parts_[m][s] == Part::shuffled) next.shuffle = m;
        if (parts_[m][s] == Part::copy || parts_[m][s] == Part::shuffled)
          walk_back(m, s, next, found, seen);
      }
    }
  }
  std::vector<Before> before(int32_t i) const {
    std::vector<Before> found;
    for (size_t k = 0; k < code_[i].src.size(); ++k) {
      std::set<std::pair<int32_t, int>> seen;
      if (parts_[i][k] == Part::term && adds_to(i, k)) walk_back(i, k, {}, found, seen);
    }
    return found;
  }

  /// Parameters and variables that what addition `i` adds comes from. Turns of an unrolled loop add
  /// from one array; x + a + b + c, whose additions have one place too, from several.
  const std::vector<int64_t>& roots(int32_t i) {
    const auto [known, added] = roots_.try_emplace(i);
    if (!added) return known->second;
    std::set<int64_t> found;
    std::set<int32_t> seen;
    std::vector<int32_t> open;
    const auto look = [&](int32_t at, size_t k) {
      const Value& v = code_[at].src[k];
      if (v.kind == Value::Kind::param) found.insert(v.index);
      if (v.kind == Value::Kind::symbol || v.kind == Value::Kind::symbol_address)
        found.insert(int64_t{1} << 32 | int64_t{v.local_symbol} << 31 | v.index);
      for (int32_t m : flow_.makers(at, k)) {
        if (seen.insert(m).second) open.push_back(m);
      }
    };
    for (size_t k = 0; k < code_[i].src.size(); ++k) {
      std::vector<Before> sums;
      std::set<std::pair<int32_t, int>> walked;
      if (parts_[i][k] == Part::term) walk_back(i, k, {}, sums, walked);
      if (sums.empty()) look(i, k);
    }
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      for (size_t k = 0; k < code_[at].src.size(); ++k) look(at, k);
    }
    return known->second = {found.begin(), found.end()};
  }

  /// Longest straight chains that end in an addition.
  struct Lengths {
    int place = 1, shuffles = 1, products = 1;
    int32_t before_place = -1, before_shuffles = -1, before_products = -1;
    int32_t rounding = -1;
  };
  void find_straight() {
    std::vector<Lengths> lengths(code_.size());
    // In the text's order: a chain that goes around a loop is the loop's.
    for (int32_t i = 0; i < size(); ++i) {
      if (!is_addition(code_[i])) continue;
      Lengths& here = lengths[i];
      const bool narrow_product = is_product(code_[i]) && narrows(code_[i]);
      for (const Before& b : before(i)) {
        if (b.addition >= i) continue;
        const Lengths& was = lengths[b.addition];
        here.rounding = std::max(here.rounding, b.rounding);
        if (b.shuffle >= 0 && was.shuffles >= here.shuffles) {
          here.shuffles = was.shuffles + 1;
          here.before_shuffles = b.shuffle;
        }
        if (was.place >= here.place && same_place(flow_.function(), i, b.addition) &&
            roots(i) == roots(b.addition)) {
          here.place = was.place + 1;
          here.before_place = b.addition;
        }
        if (narrow_product && is_product(code_[b.addition]) && was.products >= here.products) {
          here.products = was.products + 1;
          here.before_products = b.addition;
        }
      }
      const int32_t rounding = narrows(code_[i]) ? -1 : here.rounding;
      const Type type = rounding < 0 ? code_[i].type : code_[rounding].type;
      if (here.products >= kLeastProducts) {
        add({NarrowFeed::products, i, rounding, type, here.before_products});
      } else if (here.shuffles >= kLeastAdditions) {
        add({NarrowFeed::shuffle, i, rounding, type, here.before_shuffles});
      } else if (here.place >= kLeastAdditions) {
        add({NarrowFeed::unrolled, i, rounding, type, here.before_place});
      }
    }
  }

  /// What a stored value was made from, back to loads from the same kind of memory.
  struct Stored {
    int32_t addition = -1;
    int32_t rounding = -1;
  };
  static bool is_near(const Instruction& ins) {
    return ins.space == Space::shared || ins.space == Space::local || ins.space == Space::generic;
  }
  void trace_store(int32_t store, int32_t i, size_t k, Stored here,
                   std::set<std::pair<int32_t, int>>& seen) {
    for (int32_t m : flow_.makers(i, k)) {
      const int state = (here.rounding >= 0 ? 1 : 0) | (here.addition >= 0 ? 2 : 0);
      if (!seen.insert({m, state}).second) continue;
      const Instruction& ins = code_[m];
      const bool swapped = m == store && ins.op == Op::atom;
      if (swapped || (code_[store].op == Op::st && ins.op == Op::ld && is_near(ins))) {
        if (here.addition < 0 || here.rounding < 0) continue;
        const int32_t rounding = here.rounding == here.addition ? -1 : here.rounding;
        add({swapped ? NarrowFeed::atomic : NarrowFeed::memory, here.addition, rounding,
             code_[here.rounding].type, store, swapped ? -1 : m});
        continue;
      }
      Stored next = here;
      const bool adds = is_addition(ins);
      if (adds && next.addition < 0) next.addition = m;
      if (narrows(ins) && next.rounding < 0 && (adds || ins.op == Op::cvt)) next.rounding = m;
      for (size_t s = 0; s < ins.src.size(); ++s) {
        if (parts_[m][s] == Part::none || (adds && !adds_to(m, s))) continue;
        trace_store(store, m, s, next, seen);
      }
    }
  }
  void find_memory() {
    for (int32_t i = 0; i < size(); ++i) {
      const Instruction& ins = code_[i];
      if (ins.op != Op::st || !is_near(ins)) continue;
      const size_t first = chains_.size();
      for (size_t k = 1; k < ins.src.size(); ++k) {
        std::set<std::pair<int32_t, int>> seen;
        trace_store(i, i, k, {}, seen);
      }
      // Two loads that meet in one addition, as halves of a tree.
      for (size_t c = first; c < chains_.size(); ++c) {
        for (size_t d = first; d < chains_.size(); ++d)
          chains_[c].tree |=
              c != d && chains_[c].add == chains_[d].add && chains_[c].load != chains_[d].load;
      }
    }
  }

  void find_atomics() {
    for (int32_t i = 0; i < size(); ++i) {
      if (is_narrow_atomic(code_[i], precision_)) add({NarrowFeed::atomic, i, -1, code_[i].type});
      if (code_[i].op != Op::atom || code_[i].atom != Atom::cas) continue;
      std::set<std::pair<int32_t, int>> seen;
      trace_store(i, i, 2, {}, seen);  // what the cas stores, from what an earlier turn found
    }
  }

  void add(const NarrowChain& chain) {
    for (const NarrowChain& known : chains_) {
      if (known.feed == chain.feed && known.add == chain.add && known.back == chain.back &&
          known.load == chain.load)
        return;
    }
    chains_.push_back(chain);
  }
  int32_t size() const { return static_cast<int32_t>(code_.size()); }

  const DataFlow& flow_;
  const std::vector<Instruction>& code_;
  int precision_;
  std::vector<uint8_t> constant_;
  std::vector<std::vector<Part>> parts_;
  std::map<int32_t, std::vector<int64_t>> roots_;
  std::vector<NarrowChain> chains_;
};

}  // namespace

bool may_narrow(const Function& function, int precision) {
  return std::any_of(function.code.begin(), function.code.end(), [&](const Instruction& ins) {
    return narrows(ins, precision) || is_narrow_atomic(ins, precision);
  });
}

std::vector<NarrowChain> find_narrow_chains(const DataFlow& flow, int precision) {
  return Search(flow, precision).run();
}

}  // namespace assay::ptx
