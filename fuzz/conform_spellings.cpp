#include "fuzz/conform_spellings.hpp"

#include <algorithm>
#include <sstream>

#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> dotted(const std::vector<std::string>& names) {
  std::vector<std::string> choices;
  for (const std::string& name : names) choices.push_back("." + name);
  return choices;
}

/// The modifiers in the order of a row's groups, one of a group; "" where it has not all of them.
std::string ordered(const ptx::Row& row, const std::vector<std::string>& modifiers) {
  const auto groups = spelling_groups(row);
  std::vector<std::string> chosen(groups.size());
  for (const std::string& modifier : modifiers) {
    size_t g = 0;
    while (g < groups.size() && (!chosen[g].empty() || std::find(groups[g].begin(), groups[g].end(),
                                                                 modifier) == groups[g].end()))
      ++g;
    if (g == groups.size()) return "";
    chosen[g] = modifier;
  }
  return std::string(row.mnemonic) + joined(chosen, "");
}

/// The types of d, a, b and c as one choice each: b's is a's, but 8-bit ones mix; c's is d's.
std::vector<std::string> four_types(const ptx::Row& row) {
  std::vector<std::string> choices;
  const auto sources = split(row.source_types, ' ');
  for (const std::string& d : split(row.types, ' ')) {
    for (const std::string& a : sources) {
      for (const std::string& b : sources) {
        if (a == b || ptx::bytes_of(ptx::type_named(a)) == 1) {
          choices.push_back("." + d + "." + a + "." + b + "." + d);
        }
      }
    }
  }
  return choices;
}

}  // namespace

std::vector<std::vector<std::string>> spelling_groups(const ptx::Row& row) {
  std::vector<std::vector<std::string>> groups;
  for (const std::string& group : split(row.modifiers, ' ')) {
    const bool bare = group[0] != '{' && group[0] != '(';
    auto choices = dotted(split(bare ? group : group.substr(1, group.size() - 2), '|'));
    if (group[0] == '{') choices.insert(choices.begin(), "");
    groups.push_back(std::move(choices));
  }
  if (row.four_types) {
    groups.push_back(four_types(row));
    return groups;
  }
  for (const std::string_view types : {row.types, row.source_types}) {
    if (!types.empty()) groups.push_back(dotted(split(types, ' ')));
  }
  return groups;
}

std::vector<std::string> spellings_of(const ptx::Row& row) {
  std::vector<std::string> spellings{std::string(row.mnemonic)};
  for (const auto& group : spelling_groups(row)) {
    std::vector<std::string> extended;
    for (const std::string& spelling : spellings) {
      for (const std::string& choice : group) extended.push_back(spelling + choice);
    }
    spellings = std::move(extended);
  }
  return spellings;
}

std::string in_table_order(const std::string& spelling) {
  for (const ptx::Row& row : ptx::table()) {
    const std::string mnemonic(row.mnemonic);
    if (!spelling.starts_with(mnemonic + ".") || row.four_types) continue;
    const std::string found =
        ordered(row, dotted(split(std::string_view(spelling).substr(mnemonic.size()), '.')));
    if (!found.empty() && found != spelling) return found;
  }
  return "";
}

}  // namespace assay
