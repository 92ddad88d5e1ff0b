#include "generators/reach.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "generators/draft.hpp"

namespace assay {
namespace {

/// A case of the largest sizes may cost this much where blocks can be chosen: one block of a
/// grid-stride kernel owns a part of the whole. About 0.6 s.
constexpr int64_t kMostWork = int64_t{5} << 20;
/// The same where all blocks run, and these go as far as they get.
constexpr int64_t kMostWholeWork = int64_t{1} << 20;

enum class Fits { yes, no_scalar, no_other };

/// Whether the case resolves; `scalar`: what cannot carry its value.
Fits fits(const Contract& contract, const Case& c, const OperandSpec** scalar = nullptr) {
  try {
    instantiate(contract, c);
    return Fits::yes;
  } catch (const ScalarTooSmall& error) {
    if (scalar != nullptr) *scalar = error.scalar;
    return Fits::no_scalar;
  } catch (const InputError&) {
    return Fits::no_other;
  }
}

/// Lets only the last block run, and the first where the last is no block of its own.
bool choose_last_block(const Contract& contract, Case& c) {
  c.blocks.clear();
  const std::optional<Instance> instance = if_valid(contract, c);
  if (!instance || instance->launches.size() != 1) return false;
  const std::array<int64_t, 3>& grid = instance->launches[0].grid;
  __int128 count = 1;
  for (const int64_t extent : grid) count *= extent;
  if (count < 2 || count > INT64_MAX) return false;
  c.blocks = {static_cast<int64_t>(count) - 1};
  return true;
}

bool is_reduced(const Facts& facts, const std::string& size) {
  const std::vector<SizeSpec>& sizes = facts.contract.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].name == size) return facts.reduced_over[i];
  }
  return false;
}

/// What flags enable may meet large sizes, too: the same with every flag the other way round.
std::optional<Case> flags_turned(const Facts& facts, Case c) {
  if (c.flags.empty()) return std::nullopt;
  for (auto& [flag, value] : c.flags) value = 1 - value;
  if (!afford(facts, c)) return std::nullopt;
  return c;
}

/// Ends of domains may say that an element does not count (an ignored label): indices from anywhere
/// in them leave it judged. False where domains have no ends but their own.
bool spread_indices(const Facts& facts, Case& c) {
  bool several = false;
  for (const OperandSpec& operand : facts.contract.args) {
    if (operand.kind != OperandKind::index || operand.domain.size() < 2) continue;
    several = true;
    c.values[operand.name] = {"index_uniform", {}};
  }
  return several;
}

/// The same long row with its largest element last: an index kept in too few bits shows there.
void add_answer_at_end(const Facts& facts, Case c, std::vector<Case>& out) {
  for (auto& [operand, recipe] : c.values) {
    const OperandSpec& spec = *facts.contract.find_operand(operand);
    if (is_floating(resolve_dtype(spec, c.variant()))) recipe = {"peak", {{"from_end", 0}}};
  }
  if (work_if_valid(facts.contract, c)) out.push_back(std::move(c));
}

}  // namespace

bool afford(const Facts& facts, Case& c) {
  c.blocks.clear();
  const std::optional<int64_t> whole = work_if_valid(facts.contract, c);
  if (whole && *whole <= kMostWholeWork) return true;
  if (!facts.subset_allowed || !choose_last_block(facts.contract, c)) return false;
  const std::optional<int64_t> part = work_if_valid(facts.contract, c);
  return part && *part <= kMostWork;
}

void fill_largest(const Facts& facts, int number, Case& c) {
  Random random(static_cast<uint64_t>(4000 + number));
  telling_values(facts, random, c);
  c.value_seed = static_cast<uint64_t>(number) + 1;
}

bool lower_to_fit(const Contract& contract, const std::vector<const SizeSpec*>& sizes, Case& c) {
  if (fits(contract, c) == Fits::yes) return true;
  const auto bounded = std::find_if(sizes.begin(), sizes.end(),
                                    [](const SizeSpec* size) { return size->in.empty(); });
  if (bounded == sizes.end()) return false;
  int64_t& outermost = c.sizes[(*bounded)->name];
  const int64_t most = outermost;
  const int64_t least = std::max<int64_t>((*bounded)->min, std::min<int64_t>(1, most));
  const auto resolves = [&](int64_t value) {
    outermost = value;
    return fits(contract, c) == Fits::yes;
  };
  if (!resolves(least)) return false;
  outermost = largest_where(least, most, resolves);
  return true;
}

std::optional<Case> largest_together(const Contract& contract, const OperandSpec& operand, Case c) {
  const std::vector<const SizeSpec*> sizes = extent_sizes(contract, operand);
  if (sizes.empty()) return std::nullopt;
  for (const SizeSpec* size : sizes) c.sizes[size->name] = greatest(*size);
  if (!lower_to_fit(contract, sizes, c)) return std::nullopt;
  return c;
}

std::vector<SizeReach> size_reaches(const Contract& contract) {
  std::vector<SizeReach> out;
  const Case least = least_case(contract);
  const bool resolves = fits(contract, least) == Fits::yes;
  for (const SizeSpec& size : contract.sizes) {
    if (!size.in.empty()) continue;
    SizeReach reach{size.name, size.max, std::nullopt, nullptr};
    Case c = least;
    const auto fits_at = [&](int64_t value) {
      c.sizes[size.name] = value;
      return fits(contract, c, &reach.limited_by);
    };
    const Fits most = resolves ? fits_at(size.max) : Fits::no_other;
    if (most == Fits::yes) {
      reach.possible = size.max;
    } else if (most == Fits::no_scalar) {
      reach.possible = largest_where(least.sizes.at(size.name), size.max,
                               [&](int64_t value) { return fits_at(value) == Fits::yes; });
    }
    if (most != Fits::no_scalar) reach.limited_by = nullptr;
    out.push_back(std::move(reach));
  }
  return out;
}

/// Strides of free choice that no case chooses, since another one follows from them.
void note_idle_strides(const Contract& contract, std::vector<std::string>& notes) {
  for (const OperandSpec& operand : contract.args) {
    const bool any = std::any_of(operand.strides.begin(), operand.strides.end(),
                                 [](const StrideRule& rule) { return rule.any; });
    if (!any || !free_strides(operand).empty()) continue;
    notes.push_back(operand.where.text() + ": strides \"any\" of " + operand.name +
                    " are never varied: another of its strides follows from a stride; state it by "
                    "sizes, or as \"any\" with a `require`");
  }
}

std::string idle_ownership(const Contract& contract) {
  if (contract.owns.empty() || !always_several_launches(contract)) return "";
  return "`owns` does nothing: every case has several launches, and all blocks of each run; a "
         "contract of the first launch alone reaches far offsets (docs/contract.md, `owns`)";
}

std::vector<std::string> reach_notes(const Contract& contract) {
  std::vector<std::string> notes;
  if (const std::string idle = idle_ownership(contract); !idle.empty()) {
    notes.push_back(contract.owns.front().where.text() + ": " + idle);
  }
  note_idle_strides(contract, notes);
  for (const SizeReach& reach : size_reaches(contract)) {
    if (reach.limited_by == nullptr) continue;
    notes.push_back("sizes " + reach.size + " above " + std::to_string(*reach.possible) +
                    " can never run: scalar " + reach.limited_by->name + " is " +
                    reach.limited_by->dtype + " (" + reach.limited_by->where.text() + ")");
  }
  for (std::string& note : launch_edges(contract).undecided) notes.push_back(std::move(note));
  return notes;
}

int64_t most_elements(const Contract& contract, const OperandSpec& operand) {
  const std::optional<Case> c = largest_together(contract, operand, least_case(contract));
  if (!c) return 0;
  const Instance instance = instantiate(contract, *c);
  const Tensor& tensor = *instance.find(operand.name);
  return tensor.present ? tensor.elements() : 0;
}

void add_largest(const Facts& facts, const std::function<void(int, Case&)>& choose,
                 std::vector<Case>& out) {
  const Contract& contract = facts.contract;
  Case least = least_case(contract);
  int number = 0;
  const auto add_filled = [&](Case& c) {
    fill_largest(facts, number++, c);
    if (!work_if_valid(contract, c)) return;
    out.push_back(c);
    Case spread = c;
    if (spread_indices(facts, spread)) out.push_back(std::move(spread));
  };
  const auto add = [&](Case& c) {
    std::optional<Case> turned = flags_turned(facts, c);
    add_filled(c);
    if (turned) add_filled(*turned);
  };
  const auto start = [&] {
    Case c = least;
    choose(number, c);
    return c;
  };
  for (const SizeReach& reach : size_reaches(contract)) {
    if (!reach.possible) continue;
    Case c = start();
    const int64_t low = c.sizes.at(reach.size);
    const auto affordable = [&](int64_t value) {
      c.sizes[reach.size] = value;
      return afford(facts, c);
    };
    if (!affordable(low)) continue;
    const int64_t most = largest_where(low, *reach.possible, affordable);
    if (!affordable(most)) continue;
    add(c);
    if (facts.selecting && is_reduced(facts, reach.size)) add_answer_at_end(facts, c, out);
  }
  std::set<std::map<std::string, int64_t>> seen;
  for (const OperandSpec& operand : contract.args) {
    if (operand.kind == OperandKind::scalar || operand.shape.empty()) continue;
    std::optional<Case> c = largest_together(contract, operand, start());
    if (c && seen.insert(c->sizes).second && extent_sizes(contract, operand).size() > 1 &&
        afford(facts, *c)) {
      add(*c);
    }
  }
}

}  // namespace assay
