// Makes, mutates and crosses cases of a contract. Deterministic in the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generators/case.hpp"
#include "generators/instance.hpp"

namespace assay {

struct Facts;

/// A seed is a type: printed before a run, independent of the order of threads.
struct Seed {
  uint64_t value = 0;
};

/// The first cases of any run: small ones that together touch every pair of a dtype, knob value or
/// flag with another one at least once (and value classes and sizes in turn), and compare each
/// property of the contract. Deterministic, without a seed.
std::vector<Case> covering_cases(const Contract& contract);

/// A case that compares batches of rows may cost so many limits of an ordinary one: 1,025 blocks of
/// 256 threads are four.
inline constexpr int64_t kMostPropertyCost = 5;
/// One case; equal (contract, seed) give equal cases. `work_limit` bounds the estimate of the work
/// (elements read, computed and judged), kMostPropertyCost times it of a case with a property.
Case generate_case(const Contract& contract, Seed seed, int64_t work_limit = 1 << 16);
/// The same for a caller that makes many (generators/facts.hpp).
Case generate_case(const Facts& facts, Seed seed, int64_t work_limit = 1 << 16);

/// What a mutation may go by.
struct MutationHints {
  /// Sizes at which the kernel may change its way, besides those that its contract names.
  std::vector<int64_t> sizes;
  /// The mutant is compared by the property of the case, where that can be.
  bool keep_property = false;
};
/// One domain-wise change of a valid case; the result is valid.
Case mutate_case(const Contract& contract, const Case& c, Seed seed,
                 const MutationHints& hints = {}, int64_t work_limit = 1 << 16);
/// Takes each part from one of two cases; the result is valid.
Case cross_cases(const Contract& contract, const Case& a, const Case& b, Seed seed,
                 int64_t work_limit = 1 << 16);

/// Elements that a case reads, computes and judges: the measure of its cost.
int64_t work_estimate(const Instance& instance);
/// The same where reduced_dimensions() of the contract is known.
int64_t work_estimate(const Instance& instance, const std::vector<std::string>& reduced);

/// Simpler variations of a case, most drastic first, each valid: the shrinker tries them in order.
std::vector<Case> simpler_cases(const Contract& contract, const Case& c);

}  // namespace assay
