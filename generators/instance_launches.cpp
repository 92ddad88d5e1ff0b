// The launches of a case, and the blocks of them that it runs.
#include <limits>

#include "generators/instance_resolver.hpp"

namespace assay {
namespace {

constexpr __int128 kHighest = std::numeric_limits<int64_t>::max();

}  // namespace

void InstanceResolver::resolve_launches() {
  for (size_t i = 0; i < contract_.launches.size(); ++i) {
    const LaunchSpec& spec = contract_.launches[i];
    if (spec.when && evaluate_integer(*spec.when, scope_) == 0) continue;
    resolve_launch(spec, static_cast<int>(i));
  }
}

void InstanceResolver::resolve_launch(const LaunchSpec& spec, int position) {
  ResolvedLaunch launch;
  launch.spec = &spec;
  launch.position = position;
  for (int axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = spec.grid[axis] ? evaluate_integer(*spec.grid[axis], scope_) : 1;
    launch.block[axis] = spec.block[axis] ? evaluate_integer(*spec.block[axis], scope_) : 1;
    if (launch.grid[axis] < 0 || launch.block[axis] < 0) {
      throw InputError(spec.where, "the launch would have a negative grid or block");
    }
  }
  const __int128 blocks = static_cast<__int128>(launch.grid[0]) * launch.grid[1];
  if (blocks > kHighest || blocks * launch.grid[2] > kHighest) {
    throw InputError(spec.where, "the launch would have more than 2^63 blocks");
  }
  launch.shared_bytes = spec.shared ? evaluate_integer(*spec.shared, scope_) : 0;
  if (launch.shared_bytes < 0) throw InputError(spec.where, "negative shared memory");
  if (spec.args.empty()) {
    for (size_t i = 0; i < contract_.args.size(); ++i) {
      const Tensor& tensor = out_.tensors[i];
      if (tensor.present || tensor.spec->absent != Absent::none) {
        launch.args.push_back(static_cast<int>(i));
      }
    }
  }
  for (const std::string& arg : spec.args) {
    const Tensor* const tensor = out_.find(arg);
    if (tensor == nullptr) throw InputError(spec.where, "launch names no operand '" + arg + "'");
    launch.args.push_back(tensor->position);
  }
  out_.launches.push_back(std::move(launch));
}

void InstanceResolver::check_blocks() {
  if (the_case().blocks.empty()) return;
  if (out_.launches.size() != 1) {
    fail("blocks", "a subset of blocks needs exactly one launch; this case has " +
                       std::to_string(out_.launches.size()));
  }
  const auto& grid = out_.launches[0].grid;
  const int64_t blocks = grid[0] * grid[1] * grid[2];
  for (const int64_t block : the_case().blocks) {
    if (block >= 0 && block < blocks) continue;
    fail("blocks", "block " + std::to_string(block) + " is beyond the grid of " +
                       std::to_string(blocks) + " blocks");
  }
  for (const Tensor& tensor : out_.tensors) {
    if (tensor.present && tensor.is_judged() &&
        contract_.find_ownership(tensor.spec->name) == nullptr) {
      fail("blocks",
           "a subset of blocks can run only where the contract says in 'owns' what a "
           "block writes; it does not for '" +
               tensor.spec->name + "'");
    }
  }
}

}  // namespace assay
