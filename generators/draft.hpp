// Private to generators: the pieces from which generate, mutate and covering_cases make a case.
// Each draws one part; `settle` makes the whole valid.
#pragma once

#include <functional>
#include <optional>

#include "generators/facts.hpp"
#include "generators/generate.hpp"
#include "generators/hash.hpp"
#include "generators/launch_limits.hpp"

namespace assay {

// --- sizes (sizes.cpp)
// ----------------------------------------------------------------------------
/// Kinds of special sizes, for covering_cases; generate_case mixes them.
enum class SizeKind {
  zero,
  one,
  two,
  below_step,
  step,
  above_step,
  multiple,
  power,
  prime,
  odd,
  eight_mod_16,
  head,
  spread,
  most
};
inline constexpr int kSizeKinds = 14;
/// A size of this kind within the contract's limits and at most `cap` (but never below the
/// minimum).
int64_t draw_size(const Facts& facts, const SizeSpec& size, SizeKind kind, int64_t cap,
                  Random& random);
SizeKind draw_size_kind(Random& random);
/// The largest number whose power of `open` is at most `left` (both at least 1): what one of so
/// many sizes may take so that each has as much.
int64_t even_share(int64_t left, int open);
/// All sizes, the costly ones sharing `budget`: lists first, the others what those leave.
void draw_sizes(const Facts& facts, int64_t budget, Random& random, Case& c);

// --- sizes that follow from others (ties.cpp)
// ----------------------------------------------------------------------------
/// Whether `require` states an equality.
bool has_ties(const Contract& contract);
/// Changes sizes until the equalities of `require` hold, where that can be: an equality gives one
/// size from the others, never `kept` ("": any may change). The case has its sizes and choices.
void fit_ties(const Contract& contract, const std::string& kept, Case& c);

// --- sizes beside each other (joint_sizes.cpp)
// ----------------------------------------------------------------------------
/// One size ragged, of any order of magnitude up to the largest that `work_limit` affords; the
/// others least, few at their largest. False, sizes undefined, where none can be.
bool draw_one_long(const Facts& facts, int64_t work_limit, Random& random, Case& c);
/// Sizes of a few tiles each, together: ceil_div(size, tile) of launches and derived values become
/// 1, 2 and numbers around 8 and 16; all other sizes are least. False, sizes undefined, where there
/// are no tiles or none that `work_limit` affords.
bool draw_tiles(const Facts& facts, int64_t work_limit, Random& random, Case& c);
/// Such cases for each size and for a few combinations of tiles; `choose` gives a case the variant
/// of a number.
void add_joint_sizes(const Facts& facts, const std::function<void(int, Case&)>& choose,
                     std::vector<Case>& out);

// --- far places (far.cpp)
// -------------------------------------------------------------------------
/// What a drawn case of a far place may cost: offsets are far, not data large.
inline constexpr int64_t kMostDrawnFarWork = 1 << 14;
/// A huge stride whose multiple is exactly (or just above) 2^31 or 2^32 elements or bytes.
bool draw_far_stride(const Facts& facts, Random& random, Case& c);
/// Sizes whose product passes 2^31 or 2^32 elements or bytes, and the few blocks around that place:
/// those that own it, where they cost at most `work_limit`.
bool draw_far_count(const Facts& facts, int64_t work_limit, Random& random, Case& c);
/// A size around 65535 (times a tile): grid limits.
bool draw_many_blocks(const Facts& facts, Random& random, Case& c);
/// The largest sizes that the contract admits and scalars carry, one by one and together, where a
/// case of them can be afforded: a counter steps past 2^31 only there (reach.cpp).
/// `choose` gives a case the variant of a number.
void add_largest(const Facts& facts, const std::function<void(int, Case&)>& choose,
                 std::vector<Case>& out);
/// Makes the case affordable without giving up its sizes: as it is, or with its last block alone.
bool afford(const Facts& facts, Case& c);
/// Values that tell places apart, by the number of the case.
void fill_largest(const Facts& facts, int number, Case& c);
/// The largest value in [low, high] for which `holds`, which is true of `low` and once false stays
/// so.
template <typename Predicate>
int64_t largest_where(int64_t low, int64_t high, Predicate holds) {
  if (holds(high)) return high;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}
/// Cases at the limits of launches (launch_edges.cpp): those that break one, and those that just
/// do not where they can be afforded.
void add_breaking(const Facts& facts, const LaunchEdges& edges, std::vector<Case>& out);
void add_within_limits(const Facts& facts, const LaunchEdges& edges, std::vector<Case>& out);
/// All sizes of an operand at their largest, the outermost as large as the scalars then carry.
std::optional<Case> largest_together(const Contract& contract, const OperandSpec& operand, Case c);
/// For each output the smallest case that is found of which no block owns some element
/// (past_thresholds.cpp); `choose` gives a case the variant of a number.
void add_unowned(const Facts& facts, const std::function<void(int, Case&)>& choose,
                 std::vector<Case>& out);
/// Sizes just past those at which launches change (thresholds.hpp), all blocks of each grid where
/// `owns` does not let a few run.
void add_past_thresholds(const Facts& facts, const std::function<void(int, Case&)>& choose,
                         std::vector<Case>& out);
/// Lowers the first of `sizes` that is given by limits until the case resolves: to what the scalars
/// can carry. False when it never does.
bool lower_to_fit(const Contract& contract, const std::vector<const SizeSpec*>& sizes, Case& c);
/// The sizes that are an operand's dimensions; empty when one is no plain size or comes twice.
std::vector<const SizeSpec*> plain_sizes(const Contract& contract, const OperandSpec& operand);
/// The sizes from which an operand's extents come, through derived values too, outermost first.
std::vector<const SizeSpec*> extent_sizes(const Contract& contract, const OperandSpec& operand);
int64_t greatest(const SizeSpec& size);
/// A few blocks of a grid: first, last, corners, those around `fraction` of each axis.
std::vector<int64_t> notable_blocks(const std::array<int64_t, 3>& grid, double fraction, int count,
                                    Random& random);

// --- layouts (layouts.cpp)
// ------------------------------------------------------------------------
enum class LayoutKind { contiguous, padded, transposed, step_two, broadcast };
inline constexpr int kLayoutKinds = 5;
/// Layout of a kind for one tensor; false when the stride rules do not allow it.
bool make_layout(const Tensor& tensor, LayoutKind kind, Random& random, Layout& out);
void draw_base(const Instance& instance, const Tensor& tensor, Random& random, Layout& out);
/// Layouts of all operands; `instance` is the case with contiguous layouts.
void draw_layouts(const Instance& instance, Random& random, Case& c);

// --- operands in another's memory (aliases.cpp)
// ----------------------------------------------------------------------------------------------
/// Drops layouts, values and elements of operands that lie in another's memory: they have none.
void fit_aliases(Case& c);
/// Puts a written operand into an input's memory, which becomes contiguous where that is needed.
/// False, and `c` as it was, when the case cannot be called so.
bool put_in_place(const Contract& contract, const std::string& operand, const std::string& memory,
                  Case& c);
/// For each operand that may alias, with a chance of `share`: puts it in place, or back into memory
/// of its own. Draws nothing where none may.
void draw_aliases(const Contract& contract, double share, Random& random, Case& c);
/// Cases of `out` once more, with each operand in each memory that it may have.
void add_in_place(const Contract& contract, std::vector<Case>& out);

// --- values (recipes.cpp)
// -------------------------------------------------------------------------
/// A recipe for one operand with its own class.
ValueRecipe draw_recipe(const Facts& facts, const Variant& variant, const OperandSpec& operand,
                        DType type, Random& random);
/// Numbers next to ties of an output that is narrower than `type`, or of f32 in between.
ValueRecipe beside_ties_recipe(const Facts& facts, const Variant& variant, DType type,
                               Random& random);
/// The edges of a type that values of `type` are rounded to; their own where there is none.
ValueRecipe rounding_recipe(const Facts& facts, const Variant& variant, DType type, Random& random);
/// The edges of the type `to`.
ValueRecipe rounding_edges_recipe(DType to);
/// For each pair of an input's type and one that it is rounded to, a case of some hundreds of such
/// elements: the first of the `variants` that has it, which `choose` gives to a case by its number
/// (rounding_cases.cpp).
void add_rounding_edges(const Facts& facts, int variants,
                        const std::function<void(int, Case&)>& choose, std::vector<Case>& out);
/// A recipe of a class with parameters that suit the type.
ValueRecipe recipe_of(ValueClass kind, DType type, Random& random);
/// Exact data for a whole case: sums of the operands' products are exact.
ValueRecipe exact_recipe(const Facts& facts, const std::string& operand, DType type, bool first,
                         Random& random);
/// Exponents that are sums of products become alike, but for one key's, which is 0 and the largest:
/// what many small terms beside one large one sum to. Nothing where there are none.
void peak_exponents(const Facts& facts, Random& random, Case& c);
void draw_values(const Facts& facts, Random& random, Case& c);
void draw_overrides(const Instance& instance, Random& random, Case& c);
/// Values that tell places apart: two rows are never alike (covering.cpp).
void telling_values(const Facts& facts, Random& random, Case& c);

// --- properties (properties.cpp)
// -------------------------------------------------------------------------
/// Gives a valid case a property line, and changes what must change for it to show. False, and `c`
/// as it was, when no small change makes it so. Batches may cost
/// kMostPropertyCost limits.
bool draw_property(const Contract& contract, const Property& stated, int64_t work_limit,
                   Random& random, Case& c);
/// The same for any property of the contract.
bool draw_property(const Contract& contract, int64_t work_limit, Random& random, Case& c);
/// That for one case in eight: a comparison runs the kernel twice or three times.
void draw_comparison(const Contract& contract, int64_t work_limit, Random& random, Case& c);
/// Cases for each property of the contract, made from those of `out`.
void add_properties(const Facts& facts, std::vector<Case>& out);

// --- the whole (generate.cpp)
// ---------------------------------------------------------------------
/// The cheapest case of a contract: every choice first, every size least. Relations may forbid it.
Case least_case(const Contract& contract);
void draw_variant(const Contract& contract, Random& random, Case& c);
void draw_seeds(Random& random, Case& c);
/// The case resolved; nullopt where it is none of the contract's.
std::optional<Instance> if_valid(const Contract& contract, const Case& c);
/// Its work; nullopt also where its blocks' elements cannot be told.
std::optional<int64_t> work_if_valid(const Contract& contract, const Case& c);
/// What may become of the sizes that a contract lists (`in`) when a case is mended.
enum class Listed { may_change, kept };
/// Instantiates the case, mending what does not fit: sizes, then layouts, overrides, values,
/// blocks. nullopt when no small change makes it valid and affordable.
std::optional<Instance> settle(const Facts& facts, Case& c, int64_t work_limit, Random& random,
                               Listed listed = Listed::may_change);

}  // namespace assay
