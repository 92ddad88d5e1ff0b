// A case resolved against its contract: shapes, strides, addresses' extents, launches, scalars.
// Devices and oracles both work from this; neither sees the other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generators/case.hpp"
#include "generators/values.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

/// Elements that a `live = "any(...)"` names, found when the first value is asked for.
struct NamedPlaces;
/// Null where the operand's `live` is of another form. Throws InputError for an `any` out of form.
std::shared_ptr<NamedPlaces> named_places(const OperandSpec& spec);

/// One dimension of a tensor.
struct TensorAxis {
  int64_t extent = 0;
  int64_t inner = 1;  ///< logical elements of one step along it
};

/// One operand of a case. Shapes, strides and offset count elements.
struct Tensor {
  const OperandSpec* spec = nullptr;
  int position = 0;  ///< in Contract::args
  bool present = true;
  int shares = -1;  ///< position of the input in whose memory it lies; -1: its own
  DType dtype = DType::f32;
  std::vector<std::string> dims;  ///< names; "" for unnamed
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  int64_t misalign = 0;  ///< bytes
  int64_t storage_elements =
      0;                       ///< from the buffer's start to its last reachable element, plus one
  uint64_t scalar_bits = 0;    ///< scalars only
  double scalar_value = 0;     ///< scalars only
  int64_t scalar_integer = 0;  ///< integer scalars only
  bool broadcast = false;      ///< some dimension has stride 0 and more than one element
  ValuePlan plan;              ///< operands that are read
  std::shared_ptr<NamedPlaces> named;  ///< of `live`; shared by copies of the instance

  int64_t elements() const;  ///< product of the shape
  int64_t storage_bytes() const { return storage_elements * byte_size(dtype); }
  bool is_scalar() const { return spec->kind == OperandKind::scalar; }
  bool is_read() const;     ///< input, inout or index
  bool is_written() const;  ///< output, inout or workspace
  bool is_judged() const;   ///< output or inout
  bool is_shared() const { return shares >= 0; }
  int buffer() const { return is_shared() ? shares : position; }  ///< whose memory, by position
  /// What it holds before a run is values, not poison: an inout operand, or one in an input's
  /// memory.
  bool held_values() const { return is_shared() || spec->kind == OperandKind::inout; }
  bool is_contiguous() const;
  std::optional<TensorAxis> axis(
      std::string_view dimension) const;  ///< nullopt: it has none of the name
  /// Storage position (in elements from the buffer's start) of logical row-major index `linear`.
  int64_t storage_of(int64_t linear) const;
  /// The logical index at a storage position; of stride-0 dimensions, coordinate 0. nullopt:
  /// padding.
  std::optional<int64_t> logical_of(int64_t storage) const;
  std::vector<int64_t> coordinates(int64_t linear) const;
  int64_t linear(const std::vector<int64_t>& coordinates) const;
};

struct ResolvedLaunch {
  const LaunchSpec* spec = nullptr;
  int position = 0;  ///< in Contract::launches
  std::array<int64_t, 3> grid{};
  std::array<int64_t, 3> block{};
  int64_t shared_bytes = 0;
  std::vector<int> args;  ///< positions in Contract::args, in the kernel's order
};

/// Half-open ranges, one a dimension.
struct Box {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t elements() const;
  bool holds(const std::vector<int64_t>& at) const;  ///< one coordinate a range
};

struct Derivation;  // generators/variation.hpp

struct Instance {
  const Contract* contract = nullptr;
  Case the_case;
  std::map<std::string, int64_t> names;  ///< sizes, derived values, knobs, flags
  std::vector<Tensor> tensors;           ///< one an argument
  std::vector<ResolvedLaunch> launches;  ///< those whose `when` holds
  /// Of a property's other run: what its values are made from. Null: the case says it all.
  std::shared_ptr<const Derivation> derivation;

  const Tensor* find(std::string_view operand) const;
  /// The operand that lies in this one's memory; itself where none does.
  const Tensor& writer_of(const Tensor& owner) const;
  /// Whether there is something to compute: an output with elements.
  bool has_output() const;
  int64_t evaluate(const Expr& expr) const;  ///< sizes, stride(x, d), size(dim), numel(x), scalars
};

/// A size that an integer scalar of the kernel cannot carry: no host could pass it.
struct ScalarTooSmall : InputError {
  ScalarTooSmall(SourceLocation where, const std::string& message, const OperandSpec* spec)
      : InputError(std::move(where), message), scalar(spec) {}
  const OperandSpec* scalar;  ///< of the contract
};

/// Resolves a case; `contract` must outlive the instance. Throws InputError for a case that does
/// not fit.
Instance instantiate(const Contract& contract, const Case& c, const std::string& file = "");

/// Elements of an output that the blocks of the case own: everything when all blocks run. Throws
/// InputError when only some run and the contract does not say what a block owns.
std::vector<Box> owned_elements(const Instance& instance, const Tensor& output);
/// Those that one block of the case's only launch owns, by its linear index; the contract's `owns`
/// speaks of the output. Throws InputError when that has no simple solution.
std::vector<Box> elements_of_block(const Instance& instance, const Tensor& output, int64_t block);

// --- values
// ---------------------------------------------------------------------------------------

/// Elements [first, first + count) of a present operand in logical row-major order, as bits packed
/// by element size, into `out`. Pure function of the case; the before-values of an inout operand.
/// Outputs and workspaces: their poison.
void logical_values(const Instance& instance, const Tensor& tensor, int64_t first, int64_t count,
                    uint8_t* out);

/// Bytes [first, first + count) of the operand's buffer, padding (poison) included. What a device
/// reads before anything is written. Equal, element by element, to logical_values.
void storage_bytes(const Instance& instance, const Tensor& tensor, int64_t first, int64_t count,
                   uint8_t* out);

/// Puts ranges [first, last) in ascending order; those that touch or overlap become one.
void join_ranges(std::vector<std::pair<int64_t, int64_t>>& ranges);

/// Outputs of a run, as the judge reads them.
class OutputReader {
 public:
  virtual ~OutputReader() = default;
  /// Elements [first, first + count) in logical row-major order: bits packed by element size into
  /// `bits`; `written[i]` is 1 when the kernel stored every byte of element i.
  virtual void read(const Tensor& tensor, int64_t first, int64_t count, uint8_t* bits,
                    uint8_t* written) const = 0;
  /// Ranges [first, last) of logical indices, ascending and disjoint, that hold every element of
  /// which a byte was stored, and may hold others.
  virtual std::vector<std::pair<int64_t, int64_t>> stored(const Tensor& tensor) const {
    return {{0, tensor.elements()}};
  }
};

}  // namespace assay
