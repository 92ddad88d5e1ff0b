#include <array>

#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

struct Entry {
  std::string_view name;
  RelationCheck check;
};

constexpr std::array kChecks = std::to_array<Entry>({
    {"topk", check_topk},
    {"sort", check_sort},
    {"permutation", check_permutation},
    {"grouped", check_grouped},
    {"bernoulli", check_bernoulli},
});

}  // namespace

RelationCheck find_relation(std::string_view name) {
  for (const Entry& entry : kChecks)
    if (entry.name == name) return entry.check;
  return nullptr;
}

}  // namespace assay
