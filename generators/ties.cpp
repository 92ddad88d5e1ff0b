// Sizes that `require` ties together by an equality: one of them follows from the others. Drawn
// each by itself they would almost never agree, but for the smallest.
#include <algorithm>

#include "generators/case_numbers.hpp"
#include "generators/draft.hpp"

namespace assay {
namespace {

/// The equalities that make a relation true: those under `&&` and `||`.
void collect_equalities(const Expr& node, std::vector<Sides>& out) {
  if (node.kind != Expr::Kind::binary || node.operands.size() != 2) return;
  if (node.text == "==") {
    out.emplace_back(node.operands[0].get(), node.operands[1].get());
  } else if (node.text == "&&" || node.text == "||") {
    for (const ExprPtr& operand : node.operands) collect_equalities(*operand, out);
  }
}

struct Tie {
  const Expr* relation;
  std::vector<Sides> equalities;
};

std::vector<Tie> ties_of(const Contract& contract) {
  std::vector<Tie> out;
  for (const NamedExpr& relation : contract.require) {
    Tie tie{relation.expr.get(), {}};
    collect_equalities(*tie.relation, tie.equalities);
    if (!tie.equalities.empty()) out.push_back(std::move(tie));
  }
  return out;
}

bool is_admitted(const SizeSpec& size, int64_t value) {
  if (size.in.empty()) return value >= size.min && value <= size.max;
  return std::find(size.in.begin(), size.in.end(), value) != size.in.end();
}

bool is_name(const Expr& node, const std::string& name) {
  return node.kind == Expr::Kind::name && node.text == name;
}

/// What falls back to 0 again and again crosses nothing once.
bool has_remainder(const Expr& node) {
  if (node.text == "%" || node.text == "mod_floor" || node.text == "mod_trunc") return true;
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [](const ExprPtr& operand) { return has_remainder(*operand); });
}

/// Changes sizes of a case until its equalities hold.
class TieFitter {
 public:
  TieFitter(const Contract& contract, const std::string& kept, const Case& c)
      : contract_(contract), kept_(kept), numbers_(contract, c) {}

  void fit(const std::vector<Tie>& ties) {
    constexpr int kRounds = 4;  // one equality may undo another
    for (int round = 0; round < kRounds; ++round) {
      bool all = true;
      for (const Tie& tie : ties) all = (holds(tie) || repair(tie)) && all;
      if (all) return;
    }
  }
  int64_t size(const std::string& name) const { return numbers_.size(name); }

 private:
  /// What needs more than sizes and choices is not looked at.
  bool holds(const Tie& tie) const { return numbers_.value(*tie.relation).value_or(1) != 0; }

  /// Sizes that follow alone first, then any; what already follows from another tie comes last.
  bool repair(const Tie& tie) {
    for (const bool again : {false, true}) {
      for (const bool alone : {true, false}) {
        for (const Sides& sides : tie.equalities) {
          for (const SizeSpec& size : contract_.sizes) {
            const bool follows =
                std::find(followers_.begin(), followers_.end(), size.name) != followers_.end();
            if (size.name == kept_ || follows != again) continue;
            const int64_t before = numbers_.size(size.name);
            if ((alone ? assign(sides, size) : search(sides, size)) && holds(tie)) {
              if (!follows) followers_.push_back(size.name);
              return true;
            }
            numbers_.set(size.name, before);
          }
        }
      }
    }
    return false;
  }

  /// Gives a size that is one side the value of the other; of `size % n`, the nearest size below,
  /// or above, that leaves it.
  bool assign(const Sides& sides, const SizeSpec& size) {
    for (const auto& [side, other] : {sides, Sides{sides.second, sides.first}}) {
      if (follows_size(contract_, *other, size.name)) continue;
      const std::optional<int64_t> wanted = numbers_.value(*other);
      if (!wanted) continue;
      if (is_name(*side, size.name)) return set(size, *wanted);
      const bool remainder = side->kind == Expr::Kind::binary && side->text == "%" &&
                             is_name(*side->operands[0], size.name);
      const auto divisor = remainder ? numbers_.value(*side->operands[1]) : std::nullopt;
      if (!divisor || *divisor < 1) continue;
      const int64_t value = numbers_.size(size.name);
      const int64_t below = value - (value % *divisor - *wanted);
      return set(size, below) || set(size, below + *divisor) || set(size, below - *divisor);
    }
    return false;
  }

  bool set(const SizeSpec& size, int64_t value) {
    if (!is_admitted(size, value)) return false;
    numbers_.set(size.name, value);
    return true;
  }

  /// Looks for the value with which both sides are equal; they are taken to cross once.
  bool search(const Sides& sides, const SizeSpec& size) {
    if (has_remainder(*sides.first) || has_remainder(*sides.second)) return false;
    if (!size.in.empty()) {
      return std::any_of(size.in.begin(), size.in.end(),
                         [&](int64_t value) { return order_at(sides, size, value) == 0; });
    }
    const std::optional<int> first = order_at(sides, size, size.min);
    const std::optional<int> last = order_at(sides, size, size.max);
    if (!first || !last || *first == *last) return false;
    if (*first == 0) return order_at(sides, size, size.min) == 0;
    const int64_t below = largest_where(size.min, size.max, [&](int64_t value) {
      return order_at(sides, size, value) == first;
    });
    return below < size.max && order_at(sides, size, below + 1) == 0;
  }

  std::optional<int> order_at(const Sides& sides, const SizeSpec& size, int64_t value) {
    numbers_.set(size.name, value);
    return numbers_.order(sides);
  }

  const Contract& contract_;
  const std::string& kept_;
  CaseNumbers numbers_;
  std::vector<std::string> followers_;
};

}  // namespace

bool has_ties(const Contract& contract) { return !ties_of(contract).empty(); }

void fit_ties(const Contract& contract, const std::string& kept, Case& c) {
  if (contract.require.empty()) return;
  const std::vector<Tie> ties = ties_of(contract);
  if (ties.empty()) return;
  TieFitter fitter(contract, kept, c);
  fitter.fit(ties);
  for (const SizeSpec& size : contract.sizes) c.sizes[size.name] = fitter.size(size.name);
}

}  // namespace assay
