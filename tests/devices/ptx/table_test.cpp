#include "devices/ptx/table.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "decoding.hpp"

namespace assay::ptx {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// The spellings of tests/data/ptx_opcodes.txt: lines "mnemonic[count]: suffixes ...".
std::vector<std::string> listed_spellings() {
  std::vector<std::string> spellings;
  for (const std::string& line : split(read_file(data_folder() / "ptx_opcodes.txt"), '\n')) {
    const size_t bracket = line.find('['), colon = line.find("]: ");
    if (bracket == line.npos || colon == line.npos) continue;
    const std::string mnemonic = line.substr(0, bracket), suffixes = line.substr(colon + 3);
    if (suffixes.empty() || suffixes[0] == ' ') spellings.push_back(mnemonic);
    for (const std::string& suffix : split(suffixes, ' ')) {
      if (!suffix.empty()) spellings.push_back(mnemonic + "." + suffix);
    }
  }
  return spellings;
}

/// What is not for sm_80 (nor sm_89), told from the spelling's text alone.
std::string later(const std::string& spelling) {
  const auto starts = [&](const char* text) { return spelling.starts_with(text); };
  if (starts("wgmma.") || starts("tensormap.") || starts("cp.async.bulk.") || starts("elect.") ||
      starts("fence.proxy.")) {
    return "sm_90";
  }
  return starts("mbarrier.arrive.expect_tx") ? "sm_90" : "";
}

TEST(Table, EverySpellingInUseIsSupportedOrSaysWhyNot) {
  const auto spellings = listed_spellings();
  std::set<std::string> distinct(spellings.begin(), spellings.end());
  EXPECT_EQ(distinct.size(), 513u);  // the list's own count
  std::map<std::string, int> counts;
  for (const std::string& spelling : distinct) {
    const SpellingCheck check = check_spelling(spelling);
    const std::string reason = later(spelling);
    EXPECT_EQ(check.supported, reason.empty()) << spelling << ": " << check.reason;
    EXPECT_EQ(check.reason, reason) << spelling;
    ++counts[check.supported ? "supported" : check.reason];
  }
  for (const auto& [reason, count] : counts) std::cout << count << " " << reason << "\n";
  EXPECT_GT(counts["supported"], 400);
}

/// The type suffixes of a row, the first of each.
std::string first_types(const Row& row) {
  std::string types;
  if (!row.types.empty()) types += "." + split(std::string(row.types), ' ')[0];
  if (row.source_types.empty()) return types;
  const std::string source = "." + split(std::string(row.source_types), ' ')[0];
  return row.four_types ? types + source + source + types : types + source;
}

TEST(Table, RowsAreWellFormed) {
  for (size_t i = 0; i < table().size(); ++i) {
    const Row& row = table()[i];
    SCOPED_TRACE(std::string(row.mnemonic) + " " + std::string(row.modifiers));
    for (const auto& types : {row.types, row.source_types}) {
      for (const std::string& type : split(std::string(types), ' ')) {
        EXPECT_NE(type_named(type), Type::none) << type;
      }
    }
    bool destination = false;
    for (const OperandSpec& spec : operand_specs(static_cast<int>(i))) {
      destination |= spec.is_destination;
      if (spec.typing == OperandSpec::Typing::fixed) {
        EXPECT_NE(spec.fixed, Type::none);
      }
      if (spec.typing == OperandSpec::Typing::source) {
        EXPECT_FALSE(row.source_types.empty());
      }
      const bool own =
          spec.typing == OperandSpec::Typing::own && !spec.address && !spec.label && !spec.policy;
      if (own) {
        EXPECT_FALSE(row.types.empty()) << row.operands;
      }
    }
    // A result in a register has a rule for its definedness, and the other way round.
    const bool has_rule = row.definedness != DefinednessRule::none &&
                          row.definedness != DefinednessRule::store &&
                          row.definedness != DefinednessRule::atomic;
    if (row.op != Op::red) {
      EXPECT_EQ(destination, has_rule || row.op == Op::atom) << row.operands;
    }
  }
}

TEST(Table, EveryRowIsReachedByItsOwnFirstSpelling) {
  for (size_t i = 0; i < table().size(); ++i) {
    const Row& row = table()[i];
    std::string spelling(row.mnemonic);
    for (std::string group : split(std::string(row.modifiers), ' ')) {
      if (group[0] == '{') continue;
      if (group[0] == '(') group = split(group.substr(1, group.size() - 2), '|')[0];
      spelling += "." + group;
    }
    spelling += first_types(row);
    EXPECT_EQ(match_spelling(spelling).prototype.row, static_cast<int>(i)) << spelling;
  }
}

/// Each modifier of each row changes the decoded instruction, except those that are listed here.
TEST(Table, EveryModifierIsDecoded) {
  const std::set<std::string> silent = {
      "aligned", "red", "r",  "clamp", "weak", "sync", "cta",        "ca",  "cg", "cs",
      "lu",      "cv",  "wb", "wt",    "L1",   "L2",   "fractional", "cvt", "idx"};
  for (size_t i = 0; i < table().size(); ++i) {
    const Row& row = table()[i];
    std::vector<std::vector<std::string>> groups;
    std::vector<bool> required;
    for (const std::string& text : split(std::string(row.modifiers), ' ')) {
      required.push_back(text[0] != '{');
      const bool bare = text[0] != '{' && text[0] != '(';
      groups.push_back(split(bare ? text : text.substr(1, text.size() - 2), '|'));
    }
    const std::string types = first_types(row);
    // Hashing the fields through the digest of a one-instruction module would hide which differ:
    // compare the fields themselves.
    const auto fields = [](const Instruction& s) {
      std::ostringstream out;
      out << int(s.rounding) << int(s.compare) << ' ' << int(s.bool_op) << int(s.space)
          << int(s.half) << int(s.shuffle) << int(s.vote) << int(s.atom) << ' ' << int(s.order)
          << int(s.scope) << int(s.bar) << int(s.prmt) << int(s.testp) << s.ftz << s.sat
          << s.satfinite << s.relu << s.approx << s.full << s.carry_out << s.nan << s.xorsign_abs
          << s.uniform << s.to_space << s.shift_amount << s.wrap_shift << s.shift_left
          << s.non_coherent << s.noftz << int(s.vector) << ' ' << int(s.shape.m) << int(s.shape.n)
          << int(s.shape.k) << int(s.a_layout) << int(s.b_layout) << int(s.matrix) << int(s.wmma)
          << s.transpose << int(s.async) << s.parity << s.no_increment << s.no_complete;
      return out.str();
    };
    for (size_t g = 0; g < groups.size(); ++g) {
      std::set<std::string> seen;
      size_t loud = 0;
      for (const std::string& name : groups[g]) {
        std::string spelling(row.mnemonic);
        for (size_t other = 0; other < groups.size(); ++other) {
          if (other == g) spelling += "." + name;
          if (other != g && required[other]) spelling += "." + groups[other][0];
        }
        const Instruction decoded = match_spelling(spelling + types).prototype;
        EXPECT_GE(decoded.row, 0) << spelling << types;
        const bool cache = name.starts_with("L1::") || name.starts_with("L2::");
        if (silent.contains(name) || cache) continue;
        ++loud;
        seen.insert(fields(decoded));
      }
      // Synonyms: shared::cta, param::entry and param::func, membar.gl; lo/ls/hi/hs are their own.
      const size_t synonyms =
          std::count_if(groups[g].begin(), groups[g].end(), [](const auto& name) {
            return name == "shared::cta" || name == "param::entry" || name == "param::func";
          });
      EXPECT_EQ(seen.size(), loud - std::min(synonyms, loud)) << row.mnemonic << " group " << g;
    }
  }
}

TEST(Table, ReasonsNameWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"frobnicate.f32", "unknown instruction frobnicate"},
      {"add.foo.f32", "unknown modifier .foo of add"},
      {"add.b32", "no add of this type"},
      {"fma.f32", "modifiers of fma that do not go together"},
      {"add.rn.rz.f32", "modifiers of add that do not go together"},
      {"mul.s32.lo", "a modifier behind the type"},
      {"shfl.up.b32", "without .sync (not for sm_70 and later)"},
      {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "unknown modifier .m8n8k4 of mma"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "no mma of this type"},
      {"cp.async.bulk.commit_group", "sm_90"},
      {"", "unknown instruction "},
  };
  for (const auto& [spelling, reason] : cases) {
    const SpellingCheck check = check_spelling(spelling);
    EXPECT_FALSE(check.supported) << spelling;
    EXPECT_EQ(check.reason, reason) << spelling;
  }
}

TEST(Table, ModifiersAreInAnyOrderBeforeTheTypes) {
  const auto decoded = [](const char* spelling) { return match_spelling(spelling).prototype; };
  EXPECT_EQ(decoded("add.ftz.rn.f32").row, decoded("add.rn.ftz.f32").row);
  EXPECT_TRUE(decoded("cvt.rni.ftz.s32.f32").ftz);
  const Instruction atom = decoded("atom.global.gpu.relaxed.add.f32");
  EXPECT_EQ(atom.atom, Atom::add);
  EXPECT_EQ(atom.scope, Scope::gpu);
  EXPECT_EQ(atom.order, Order::relaxed);
  EXPECT_EQ(atom.space, Space::global);
  EXPECT_EQ(decoded("prmt.b32.f4e").prmt, PrmtMode::f4e);
  EXPECT_TRUE(decoded("min.xorsign.abs.f32").xorsign_abs);
}

TEST(Table, WordsWithSeveralMeaningsFollowTheMnemonic) {
  EXPECT_EQ(match_spelling("setp.lo.u32").prototype.compare, Compare::lo);
  EXPECT_EQ(match_spelling("mul.lo.u32").prototype.half, Half::lo);
  EXPECT_EQ(match_spelling("setp.eq.and.s32").prototype.bool_op, BoolOp::and_);
  EXPECT_EQ(match_spelling("atom.and.b32").prototype.atom, Atom::and_);
  EXPECT_EQ(match_spelling("redux.sync.and.b32").prototype.atom, Atom::and_);
  EXPECT_EQ(match_spelling("bar.red.and.pred").prototype.bar, BarKind::red_and);
  EXPECT_EQ(match_spelling("bar.red.popc.u32").prototype.bar, BarKind::red_popc);
  EXPECT_EQ(match_spelling("bar.warp.sync").prototype.bar, BarKind::warp_sync);
  EXPECT_EQ(match_spelling("bar.sync").prototype.bar, BarKind::sync);
  EXPECT_EQ(match_spelling("vote.sync.uni.pred").prototype.vote, Vote::uni);
  EXPECT_TRUE(match_spelling("bra.uni").prototype.uniform);
  EXPECT_EQ(match_spelling("membar.gl").prototype.scope, Scope::gpu);
  EXPECT_EQ(match_spelling("bar.cta.sync").prototype.scope, Scope::none);
}

}  // namespace
}  // namespace assay::ptx
