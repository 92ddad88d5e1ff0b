// The other runs of a case's property: the same experiment, but for what must not change the answer
// (docs/properties.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generators/instance.hpp"

namespace assay {

/// What padding and dead entries hold: `usual` is poison_bits' NaN, which a maximum may drop
/// unseen; the others it does not.
enum class Poison { usual, zero, one, largest, lowest, infinity, negative_infinity };
/// "zero", ..., "inf", "negative_inf"; `usual` has no name.
const std::vector<std::string>& poison_names();
std::optional<Poison> parse_poison(std::string_view name);
/// Of a type without infinities: its extremes.
uint64_t poison_bits(DType type, Poison poison);

/// Where the values of a property's other run come from.
struct Derivation {
  std::shared_ptr<const Instance> base;  ///< its values, not the instance's own; null: its own
  std::string dimension;                 ///< along which element i is the base's first + i
  int64_t first = 0;
  std::string operand;  ///< whose values are shifted, in f64 and exactly; "": none
  int64_t shift = 0;
  std::map<std::string, int> exponents;  ///< operands that are scaled by 2 to this power, exactly
  Poison poison = Poison::usual;
  /// Of the run that came before in one process, on the same device: variables of the programs
  /// begin as it left them. Null: as they are loaded. Must outlive the instance. The emulator's
  /// alone: a card's process keeps them in any case.
  const OutputReader* after = nullptr;
};

/// What the padding and the dead entries of an instance's operands hold.
inline uint64_t padding_bits(const Instance& instance, DType type) {
  return poison_bits(type, instance.derivation ? instance.derivation->poison : Poison::usual);
}

/// One other run.
struct Variation {
  Instance instance;
  std::string text;  ///< what it is: "row 17 alone"
  std::string own;   ///< what the case's own run is beside it: "as row 17 of 257 it"
  /// Element i along it is element first + i of the case's own run; "": elements correspond.
  std::string dimension;
  int64_t first = 0;
  std::map<std::string, int> exponents;  ///< outputs that come out times 2 to this power
  bool continues = false;  ///< the next run of one process: variables are as the own one left them
  /// The instance's case says it all: it can be judged, printed and repeated by itself.
  bool is_plain = false;
};

struct Variations {
  std::vector<Variation> runs;
  std::string why_none;  ///< why this case cannot be compared; "" when it can
};

/// The other runs of `base.the_case.property`. Throws nothing for a case that was instantiated.
Variations vary(const Instance& base);

/// What is wrong with the property of a case whose other parts have been resolved, and the key of
/// its place (CasePlaces); empty when nothing is.
std::pair<std::string, std::string> property_problem(const Contract& contract, const Case& c);

/// Elements first, first + step, ... of a derived instance, as fill_values.
void fill_derived(const Derivation& derivation, const Tensor& tensor, int64_t first, int64_t step,
                  int64_t count, uint8_t* out);

/// The logical index in the base of element `linear` of the variation, and how many elements from
/// there, `step` apart, are `step` apart in both. Shapes are alike but along `dimension`.
struct MappedRun {
  int64_t base = 0;
  int64_t count = 0;
};
MappedRun map_run(const Tensor& tensor, const Tensor& base, const std::string& dimension,
                  int64_t first, int64_t linear, int64_t step, int64_t count);

}  // namespace assay
