#include "fuzz/pointer_use.hpp"

#include <algorithm>
#include <set>

namespace assay {

namespace {

using Parameters = std::set<int32_t>;

/// Which parameters each register is made of, but by loads from memory: what is loaded is data.
class Addresses {
 public:
  explicit Addresses(const ptx::Function& entry) : made_of_(entry.registers.size()) {
    bool grows = true;
    while (grows) {
      grows = false;
      for (const ptx::Instruction& one : entry.code) grows |= pass_on(one);
    }
  }

  Parameters of(const ptx::Value& value) const {
    if (value.kind == ptx::Value::Kind::param) return {value.index};
    const bool is_register =
        value.kind == ptx::Value::Kind::reg || value.kind == ptx::Value::Kind::address;
    return is_register ? made_of_[static_cast<size_t>(value.index)] : Parameters{};
  }

 private:
  bool pass_on(const ptx::Instruction& one) {
    using ptx::Op;
    const bool from_memory = one.op == Op::ld && one.space != ptx::Space::param;
    if (from_memory || one.op == Op::ldu || one.op == Op::atom || one.op == Op::ldmatrix ||
        one.op == Op::wmma || one.op == Op::mma) {
      return false;
    }
    Parameters sources;
    for (const ptx::Value& value : one.src) sources.merge(of(value));
    bool grows = false;
    for (const ptx::Value& value : one.dst) {
      if (value.kind != ptx::Value::Kind::reg) continue;
      Parameters& known = made_of_[static_cast<size_t>(value.index)];
      const size_t before = known.size();
      known.insert(sources.begin(), sources.end());
      grows |= known.size() > before;
    }
    return grows;
  }

  std::vector<Parameters> made_of_;  ///< by register
};

bool in_global(const ptx::Instruction& one) {
  return one.space == ptx::Space::global || one.space == ptx::Space::generic;
}

}  // namespace

std::vector<PointerUse> pointer_uses(const ptx::Function& entry) {
  using ptx::Op;
  const bool calls = std::any_of(entry.code.begin(), entry.code.end(), [](const auto& one) {
    return one.op == Op::call && (one.indirect || one.target >= 0) &&
           !one.callee.starts_with("__") && one.callee != "vprintf";
  });
  if (calls) return {};
  const Addresses addresses(entry);
  std::vector<PointerUse> uses(entry.params.size());
  const auto mark = [&](const ptx::Value& address, bool PointerUse::*how) {
    for (const int32_t parameter : addresses.of(address))
      uses[static_cast<size_t>(parameter)].*how = true;
  };
  for (const ptx::Instruction& one : entry.code) {
    if (one.src.empty()) continue;
    if (one.op == Op::cp && one.src.size() > 1) {  // cp.async: shared memory, then what is copied
      mark(one.src[1], &PointerUse::read);
      continue;
    }
    if (!in_global(one)) continue;
    const bool atomic = one.op == Op::atom || one.op == Op::red;
    const bool of_matrix = one.op == Op::wmma;
    if (one.op == Op::ld || one.op == Op::ldu || atomic ||
        (of_matrix && one.wmma == ptx::Wmma::load)) {
      mark(one.src[0], &PointerUse::read);
    }
    if (one.op == Op::st || atomic || (of_matrix && one.wmma == ptx::Wmma::store))
      mark(one.src[0], &PointerUse::written);
  }
  return uses;
}

}  // namespace assay
