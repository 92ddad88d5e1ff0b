// ld and st of every width, vector, space, order and cache operator. The full product of those has
// hundreds of thousands of spellings: of modifiers that concern caches one at a time is varied, and
// each priority of L1 beside a hint for L2, as Triton's compiler writes them.
#include <algorithm>
#include <cstring>

#include "fuzz/conform_programs.hpp"

namespace assay {

namespace {

using ptx::Op;
using ptx::Type;
using Spelling = std::vector<std::string>;  ///< one choice a group

bool is_cache_choice(const std::string& choice) {
  static const char* const operators[] = {".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt"};
  return choice.starts_with(".L1::") || choice.starts_with(".L2::") ||
         std::find(std::begin(operators), std::end(operators), choice) != std::end(operators);
}
bool is_space(const std::string& choice) {
  static const char* const spaces[] = {".global", ".shared",       ".shared::cta", ".local",
                                       ".param",  ".param::entry", ".param::func", ".const"};
  return std::find(std::begin(spaces), std::end(spaces), choice) != std::end(spaces);
}

struct Access {
  std::string spelling, space, type_name;
  int vector = 1;
  bool hint = false;
};

Access describe(const Spelling& choices, const ptx::Row& row) {
  Access access;
  access.spelling = row.mnemonic;
  for (const std::string& choice : choices) {
    access.spelling += choice;
    if (is_space(choice)) access.space = choice;
    if (choice == ".v2") access.vector = 2;
    if (choice == ".v4") access.vector = 4;
    if (choice == ".L2::cache_hint") access.hint = true;
  }
  access.type_name = choices.back();
  return access;
}

/// Whether its modifiers that concern caches are one at most, or a priority of L1 and a hint for
/// L2.
bool varies_one_cache(const Spelling& choices) {
  int caches = 0, of_pair = 0;
  for (const std::string& choice : choices) {
    caches += is_cache_choice(choice);
    of_pair += choice.starts_with(".L1::") || choice == ".L2::cache_hint";
  }
  return caches <= 1 || (caches == 2 && of_pair == 2);
}

/// Those modifiers of caches; with any, only plain global and generic accesses, each type alone
/// and b32 with each vector.
bool is_varied(const Spelling& choices, const std::vector<std::vector<std::string>>& groups) {
  if (std::none_of(choices.begin(), choices.end(), is_cache_choice)) return true;
  if (!varies_one_cache(choices)) return false;
  bool vector = false;
  for (size_t g = 0; g + 1 < choices.size(); ++g) {
    const std::string& choice = choices[g];
    if (is_cache_choice(choice)) continue;
    if (choice == ".v2" || choice == ".v4") {
      vector = true;
    } else if (is_space(choice)) {
      if (choice != ".global") return false;
    } else if (choice != groups[g].front()) {
      return false;
    }
  }
  return !vector || choices.back() == ".b32";
}

std::vector<Access> accesses_of(const ptx::Row& row) {
  const auto groups = spelling_groups(row);
  std::vector<Spelling> partial{{}};
  for (const auto& group : groups) {
    std::vector<Spelling> longer;
    for (const Spelling& one : partial) {
      for (const std::string& choice : group) {
        longer.push_back(one);
        longer.back().push_back(choice);
      }
    }
    // Early, so that the product stays small.
    partial.clear();
    for (Spelling& one : longer) {
      if (varies_one_cache(one)) partial.push_back(std::move(one));
    }
  }
  std::vector<Access> accesses;
  for (const Spelling& choices : partial) {
    if (is_varied(choices, groups)) accesses.push_back(describe(choices, row));
  }
  return accesses;
}

/// A thread's 32 bytes in a space, and the address of them.
struct Place {
  std::string before, declare, fill, address;
};

Place place_in(const std::string& space) {
  Place place;
  const auto copy_to = [](const std::string& kind, const std::string& address) {
    std::string text;
    for (int at = 0; at < 32; at += 8) {
      const std::string offset = "+" + std::to_string(at) + "]";
      text += "ld.global.b64 %d23, [%d30" + offset + ";\nst." + kind + ".b64 [" + address + offset +
              ", %d23;\n";
    }
    return text;
  };
  if (space.starts_with(".shared")) {
    place.declare =
        ".shared .align 32 .b8 tile[4096];\nmov.u64 %d24, tile;\nmad.wide.u32 %d25, %r28, 32, "
        "%d24;\n";
    place.fill = copy_to("shared", "%d25");
    place.address = "%d25";
  } else if (space == ".local") {
    place.declare = ".local .align 32 .b8 own[32];\nmov.u64 %d25, own;\n";
    place.fill = copy_to("local", "%d25");
    place.address = "%d25";
  } else if (space == ".const") {
    place.before = ".const .align 32 .b8 constants_NAME[64] = {";
    for (int i = 0; i < 64; ++i) {
      place.before += (i ? ", " : "") + std::to_string((i * 37 + 129) % 256);
    }
    place.before += "};\n";
    place.address = "constants_NAME";
  } else if (space.starts_with(".param")) {
    place.address = "bytes";
  } else {
    place.address = "%d30";
  }
  return place;
}

std::string list(const std::string& kind, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + kind + std::to_string(i);
  return count == 1 ? text : "{" + text + "}";
}

/// Registers: as wide as the type, at least 32 bits for integers, whose extension is compared too.
std::string kind_for(Type type) { return ptx::bytes_of(type) <= 4 ? "%r" : "%d"; }

std::string policy() { return "createpolicy.fractional.L2::evict_last.b64 %d40, 0f3f800000;\n"; }

void replace_name(std::string& text, const std::string& name) {
  for (size_t at; (at = text.find("NAME")) != std::string::npos;) text.replace(at, 4, name);
}

void add_access(ProgramSink& sink, const ptx::Row& row, const Access& access, int number) {
  const ptx::Instruction i = ptx::match_spelling(access.spelling).prototype;
  if (i.row < 0 || access.vector * ptx::bytes_of(i.type) > 16) return;
  if (!sink.wants(access.spelling)) return;
  // A function's parameters have no place of their own; kernels cannot write theirs.
  if (access.space == ".param::func" || (row.op == Op::st && access.space == ".param")) return;
  Place place = place_in(access.space);
  const std::string kind = kind_for(i.type), wide = kind == "%d" ? ".b64" : ".b32";
  const int step = kind == "%d" ? 8 : 4;
  std::string body = place.declare;
  if (access.hint) body += policy();
  const std::string hint = access.hint ? ", %d40" : "";
  if (row.op != Op::st) {
    body += place.fill + access.spelling + " " + list(kind, access.vector) + ", [" + place.address +
            "]" + hint + ";\n";
    for (int n = 0; n < access.vector; ++n) {
      body += "st.global" + wide + " [%d31+" + std::to_string(n * step) + "], " + kind +
              std::to_string(n) + ";\n";
    }
  } else {
    // Beside the stored bytes lie others that must stay.
    const bool in_place = place.fill.empty();
    body += place.fill;
    for (int n = 0; n < access.vector; ++n) {
      body += "ld.global" + wide + " " + kind + std::to_string(n) + ", [%d30+" +
              std::to_string(32 + n * step) + "];\n";
    }
    body += access.spelling + " [" + (in_place ? "%d31" : place.address) + "], " +
            list(kind, access.vector) + hint + ";\n";
    const std::string from = access.space.starts_with(".shared") ? "shared" : "local";
    for (int at = 0; at < 32 && !in_place; at += 8) {
      body += "ld." + from + ".b64 %d23, [" + place.address + "+" + std::to_string(at) +
              "];\nst.global.b64 [%d31+" + std::to_string(at) + "], %d23;\n";
    }
  }
  replace_name(place.before, std::to_string(number));
  replace_name(body, std::to_string(number));
  ConformProgram program;
  program.title = access.spelling;
  program.instruction = i;
  program.in_bytes = 64;
  program.out_bytes = 32;
  program.reads_parameters = access.space.starts_with(".param");
  program.fill = [](Random& random, int64_t, uint8_t* in) { fill_words(random, in, 32 * 64); };
  sink.add(std::move(program), body, place.before);
}

}  // namespace

void add_memory_programs(ProgramSink& sink) {
  int number = 0;
  for (const ptx::Row& row : ptx::table()) {
    if (row.op != Op::ld && row.op != Op::ldu && row.op != Op::st) continue;
    for (const Access& access : accesses_of(row)) add_access(sink, row, access, number++);
  }
}

}  // namespace assay
