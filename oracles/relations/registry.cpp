#include <array>

#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

struct Entry {
  std::string_view name;
  RelationCheck check;
  bool compares_enclosures;
};

constexpr std::array kChecks = std::to_array<Entry>({
    {"topk", check_topk, true},
    {"sort", check_sort, true},
    {"permutation", check_permutation, false},
    {"grouped", check_grouped, false},
    {"bernoulli", check_bernoulli, false},
});

const Entry* find(std::string_view name) {
  for (const Entry& entry : kChecks)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace

RelationCheck find_relation(std::string_view name) {
  const Entry* entry = find(name);
  return entry == nullptr ? nullptr : entry->check;
}

bool compares_enclosures(std::string_view name) {
  const Entry* entry = find(name);
  return entry != nullptr && entry->compares_enclosures;
}

}  // namespace assay
