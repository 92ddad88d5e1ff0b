#include <algorithm>
#include <cstdio>
#include <map>

#include "fuzz/conform_results.hpp"

namespace assay {

namespace {

/// "cvt" of "cvt.rn.f16.f32".
std::string mnemonic(const std::string& title) {
  return title.substr(0, std::min(title.find('.'), title.find(' ')));
}

void print_groups(std::ostream& out, const std::vector<ConformResult>& results) {
  struct Group {
    int64_t spellings = 0, tuples = 0, equal = 0, within = 0, documented = 0, different = 0;
  };
  std::map<std::string, Group> groups;
  for (const ConformResult& result : results) {
    if (!result.compared()) continue;
    const ConformTally& tally = result.tally;
    for (const std::string& name : {mnemonic(result.title), std::string("~all")}) {
      Group& g = groups[name];
      ++g.spellings;
      g.tuples += tally.tuples;
      g.equal += tally.equal;
      g.within += tally.within;
      g.documented += tally.documented_total();
      g.different += tally.different;
    }
  }
  out << "| instruction | spellings | tuples | same bits | within bound | documented | different "
         "|\n"
         "|---|---|---|---|---|---|---|\n";
  for (const auto& [name, g] : groups) {
    out << "| " << (name == "~all" ? "all" : name) << " | " << g.spellings << " | " << g.tuples
        << " | " << g.equal << " | " << g.within << " | " << g.documented << " | " << g.different
        << " |\n";
  }
}

void print_bounds(std::ostream& out, const std::vector<ConformResult>& results) {
  out << "\nLargest error as a share of the documented bound:\n\n"
         "| approximate instruction | emulator | GPU |\n|---|---|---|\n";
  for (const ConformResult& result : results) {
    const ptx::Instruction& i = result.instruction;
    if (!result.compared() || (!i.approx && !i.full)) continue;
    char line[160];
    std::snprintf(line, sizeof line, "| %s | %.3f | %.3f |\n", result.title.c_str(),
                  result.tally.emulator_share, result.tally.hardware_share);
    out << line;
  }
}

void print_documented(std::ostream& out, const std::vector<ConformResult>& results) {
  const auto& rows = conform_deviations();
  out << "\nDocumented differences:\n\n| what | spellings | tuples | first example | reason |\n"
         "|---|---|---|---|---|\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    int64_t spellings = 0, tuples = 0;
    std::string example;
    for (const ConformResult& result : results) {
      spellings += result.tally.documented[row] > 0;
      tuples += result.tally.documented[row];
      if (example.empty()) example = result.tally.documented_examples[row];
    }
    out << "| " << rows[row].name << " | " << spellings << " | " << tuples << " | " << example
        << " | " << rows[row].reason << " |\n";
  }
}

/// What the driver's compiler said, without names and numbers.
std::string reason_of(const std::string& rejected) {
  std::string text = rejected.substr(std::min(rejected.find("error"), rejected.size()));
  text = text.substr(0, text.find_first_of("\n]"));
  std::string kept;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      if (!quoted) kept += "'...'";
    } else if (!quoted) {
      kept += c;
    }
  }
  return kept.empty() ? rejected : kept;
}

void print_rejected(std::ostream& out, const std::vector<ConformResult>& results) {
  std::map<std::pair<std::string, std::string>, std::pair<int64_t, std::string>> reasons;
  int64_t count = 0;
  for (const ConformResult& result : results) {
    if (result.compared()) continue;
    ++count;
    auto& one = reasons[{mnemonic(result.title), reason_of(result.rejected)}];
    if (one.first++ == 0) one.second = result.title;
  }
  if (count == 0) return;
  out << "\nNot compared, since the driver does not take them for this card: " << count
      << "\n\n| instruction | spellings | first | reason |\n|---|---|---|---|\n";
  for (const auto& [key, value] : reasons) {
    out << "| " << key.first << " | " << value.first << " | " << value.second << " | " << key.second
        << " |\n";
  }
}

void print_uncompared(std::ostream& out) {
  out << "\nWithout a kernel of their own:\n\n| instruction | reason |\n|---|---|\n";
  for (const Uncompared& row : uncompared_instructions()) {
    out << "| " << row.mnemonic << " | " << row.reason << " |\n";
  }
}

int64_t print_differences(std::ostream& out, const std::vector<ConformResult>& results) {
  int64_t spellings = 0;
  for (const ConformResult& result : results) {
    const ConformTally& tally = result.tally;
    if (tally.different == 0) continue;
    ++spellings;
    out << "\ndifferent: " << result.title << ": " << tally.different << " of " << tally.tuples
        << " tuples\n";
    for (const std::string& example : tally.examples) out << "  " << example << "\n";
  }
  return spellings;
}

std::string text_of(const AdderModel& model, int last_bits) {
  std::string text = std::to_string(model.step) + " products" + (model.pairs ? " in pairs" : "") +
                     ", e = " + std::to_string(model.extra_bits);
  if (last_bits != model.extra_bits) text += " to " + std::to_string(last_bits);
  return text;
}

/// "16 products, e = 2": models by their steps, with the range of e that fits.
std::string text_of(const std::vector<AdderModel>& models) {
  std::map<std::pair<int, bool>, std::pair<AdderModel, int>> steps;
  for (const AdderModel& model : models) {
    const auto [found, added] =
        steps.try_emplace({model.step, model.pairs}, model, model.extra_bits);
    if (!added) found->second.second = std::max(found->second.second, model.extra_bits);
  }
  std::string text;
  for (const auto& [step, range] : steps) {
    text += (text.empty() ? "" : " or ") + text_of(range.first, range.second);
  }
  return text;
}

std::string described(const MatrixTally& matrix) {
  const auto bits = [](const std::optional<int>& e) { return e ? std::to_string(*e) : "none"; };
  const auto yes = [](std::optional<bool> kept) { return !kept ? "-" : *kept ? "kept" : "lost"; };
  const ProbeAnswers& p = matrix.probes;
  const std::string text = bits(p.extra_bits) + " | " + bits(p.extra_bits_c) + " | " +
                           std::to_string(p.step) + " | " + p.rounding + " | " +
                           yes(p.subnormal_inputs) + ", " + yes(p.subnormal_accumulator) + ", " +
                           yes(p.subnormal_results) + " | ";
  if (!matrix.models.empty()) return text + text_of(matrix.models);
  return text + "none; " + text_of(matrix.best, matrix.best.extra_bits) + " misses " +
         std::to_string(matrix.best_misses) + " of " + std::to_string(matrix.fitted);
}

/// "mma m16n8k16 f32.f16.f16.f32".
std::string kind_of(const ConformResult& result) {
  const ptx::Instruction& i = result.instruction;
  const auto name = [](ptx::Type type) { return std::string(ptx::name_of(type)); };
  return mnemonic(result.title) + " m" + std::to_string(i.shape.m) + "n" +
         std::to_string(i.shape.n) + "k" + std::to_string(i.shape.k) + " " + name(i.type) + "." +
         name(i.source_type) + "." + name(i.b_type) + "." + name(i.c_type);
}

/// Spellings of one kind that measured the same share a line.
void print_matrices(std::ostream& out, const std::vector<ConformResult>& results) {
  std::map<std::string, std::map<std::string, int>> kinds;
  for (const ConformResult& result : results) {
    const bool multiplies =
        result.instruction.op == ptx::Op::mma || result.instruction.wmma == ptx::Wmma::mma;
    if (!result.matrix || !result.compared() || !multiplies) continue;
    if (result.instruction.type == ptx::Type::s32) continue;
    ++kinds[kind_of(result)][described(*result.matrix)];
  }
  if (kinds.empty()) return;
  out << "\nTensor cores:\n\n| instruction | spellings | e | e beside c | products a step | "
         "rounding "
         "| subnormals: a, c, d | models that give every result "
         "|\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& [kind, lines] : kinds) {
    for (const auto& [line, count] : lines) {
      out << "| " << kind << " | " << count << " | " << line << " |\n";
    }
  }
}

}  // namespace

int64_t print_conform(std::ostream& out, const std::vector<ConformResult>& results) {
  print_groups(out, results);
  print_bounds(out, results);
  print_matrices(out, results);
  print_documented(out, results);
  print_rejected(out, results);
  print_uncompared(out);
  return print_differences(out, results);
}

}  // namespace assay
