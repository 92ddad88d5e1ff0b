// The limits of a launch: what a case breaks, and cases of a contract that break one, whatever
// sizes, choices and launch it takes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generators/instance.hpp"
#include "kernels_under_test/interval.hpp"

namespace assay {

/// A number of a launch that a device limits (kernels_under_test/limits.hpp).
enum class LaunchNumber { grid_x, grid_y, grid_z, block_x, block_y, block_z, threads, shared };
inline constexpr std::array<LaunchNumber, 8> kLaunchNumbers{
    LaunchNumber::grid_x,  LaunchNumber::grid_y,  LaunchNumber::grid_z,  LaunchNumber::block_x,
    LaunchNumber::block_y, LaunchNumber::block_z, LaunchNumber::threads, LaunchNumber::shared};
std::string_view name(LaunchNumber number);  ///< "grid.y", "threads", "shared"
/// Shared: dynamic, in bytes. Throws nothing; a product beyond 64 bits counts as the largest.
int64_t value_of(const ResolvedLaunch& launch, LaunchNumber number);
/// The greatest that the contract's target admits.
int64_t most_of(LaunchNumber number, const Contract& contract);

/// Where a launch states the number of that name(); the launch itself where it states none.
SourceLocation place_of(const LaunchSpec& launch, std::string_view number);

/// Names of sizes, choices, derived values and operands from which a number of a launch comes, and
/// of which `require` and its `when` speak, through derived values, scalars and shapes.
std::vector<std::string> launch_sources(const Contract& contract, int launch, LaunchNumber number);
/// The same of an operand's extents, outermost first.
std::vector<std::string> shape_sources(const Contract& contract, const OperandSpec& operand);
std::vector<std::string> condition_sources(const Contract& contract, int launch);

/// "rows = 70000 is admitted and launches grid.y = 70000": the sizes and choices on which the
/// number depends, and what they make of it.
std::string admitted_launch(const Instance& instance, const ResolvedLaunch& launch,
                            LaunchNumber number);

struct LaunchBreach {
  LaunchNumber number{};
  std::string message;  ///< names sizes, launch, value and limit
};
/// The first limit that a launch breaks by what its contract states, with `static_shared` bytes of
/// the program beside its dynamic shared memory. An empty grid breaks one where an output has
/// elements: nothing could write them; where none has, a host has nothing to launch.
std::optional<LaunchBreach> launch_breach(const Instance& instance, const ResolvedLaunch& launch,
                                          int64_t static_shared = 0);
/// True when the launch has an empty grid.
bool is_empty(const ResolvedLaunch& launch);
/// True when an operand of kind `output` has elements.
bool has_outputs(const Instance& instance);

/// What a search over all that a contract admits looks for.
struct LaunchGoal {
  int launch = 0;  ///< in Contract::launches
  LaunchNumber number{};
  Interval wanted;               ///< values of the number
  bool with_outputs = false;     ///< some output has elements
  std::optional<Variant> only;   ///< these choices; nullopt: any
};

struct LaunchSearch {
  /// Resolves, and its launch has a wanted number; its sizes are small where that is as good.
  std::optional<Case> found;
  bool is_decided = true;  ///< false: nothing found before the search ended, but not excluded
};

/// Branches over sizes, dtypes, knobs, flags and lists of scalars, bounded by interval arithmetic
/// over `require`, `when` and the launch; what is found has been instantiated.
LaunchSearch search_launch(const Contract& contract, const LaunchGoal& goal);

/// Cases at the limits of a contract's launches.
struct LaunchEdges {
  std::vector<Case> breaking;  ///< each breaks another limit of a launch, by as little as may be
  /// The largest that do not, beside those; and the largest blocks and shared memory, which the
  /// compiled kernel may limit further.
  std::vector<Case> within;
  std::vector<std::string> undecided;  ///< "launch of k.toml:6: grid.y", where the search gave up
};
LaunchEdges launch_edges(const Contract& contract);

}  // namespace assay
