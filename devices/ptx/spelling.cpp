// From a dotted spelling to a row of the table: names of types, modifiers and mnemonics.
#include <algorithm>
#include <bitset>
#include <map>
#include <unordered_map>

#include "devices/ptx/table.hpp"

namespace assay::ptx {
namespace {

constexpr std::pair<std::string_view, Type> kTypeNames[] = {
    {"pred", Type::pred},     {"b8", Type::b8},     {"b16", Type::b16},
    {"b32", Type::b32},       {"b64", Type::b64},   {"b128", Type::b128},
    {"u8", Type::u8},         {"u16", Type::u16},   {"u32", Type::u32},
    {"u64", Type::u64},       {"s8", Type::s8},     {"s16", Type::s16},
    {"s32", Type::s32},       {"s64", Type::s64},   {"f16", Type::f16},
    {"f16x2", Type::f16x2},   {"bf16", Type::bf16}, {"bf16x2", Type::bf16x2},
    {"tf32", Type::tf32},     {"f32", Type::f32},   {"f64", Type::f64},
    {"e4m3", Type::e4m3},     {"e5m2", Type::e5m2}, {"e4m3x2", Type::e4m3x2},
    {"e5m2x2", Type::e5m2x2},
};

/// Mnemonics that are known by name only, each with the reason that a user reads.
struct NameOnly {
  std::string_view mnemonic;
  Op op;
  std::string_view reason;
};
constexpr NameOnly kNameOnly[] = {
    {"wgmma", Op::wgmma, "sm_90"},
    {"tensormap", Op::tensormap, "sm_90"},
    {"setmaxnreg", Op::setmaxnreg, "sm_90"},
    {"elect", Op::elect, "sm_90"},
    {"griddepcontrol", Op::griddepcontrol, "sm_90"},
    {"getctarank", Op::getctarank, "sm_90"},
    {"mapa", Op::mapa, "sm_90"},
    {"multimem", Op::multimem, "sm_90"},
    {"tcgen05", Op::tcgen05, "sm_100"},
    {"applypriority", Op::applypriority, "cache control"},
    {"discard", Op::discard, "cache control"},
    {"tex", Op::tex, "texture"},
    {"tld4", Op::tex, "texture"},
    {"txq", Op::tex, "texture"},
    {"suld", Op::suld, "surface"},
    {"sust", Op::sust, "surface"},
    {"sured", Op::sust, "surface"},
    {"suq", Op::suld, "surface"},
};

using Setter = void (*)(Instruction&);

/// The operation that `and`, `or`, `xor` name depends on the mnemonic.
void set_logic(Instruction& i, BoolOp combine, Atom atom, BarKind bar) {
  if (i.op == Op::setp || i.op == Op::set) i.bool_op = combine;
  if (i.op == Op::atom || i.op == Op::red || i.op == Op::redux) i.atom = atom;
  if (i.op == Op::bar || i.op == Op::barrier) i.bar = bar;
}

/// `lo` and `hi` are comparisons of setp and halves of products.
void set_half(Instruction& i, Half half, Compare compare) {
  if (i.op == Op::setp || i.op == Op::set) {
    i.compare = compare;
  } else {
    i.half = half;
  }
}

void set_cta(Instruction& i) {
  if (i.op != Op::bar && i.op != Op::barrier) i.scope = Scope::cta;
}

void set_sync(Instruction& i) {
  if ((i.op == Op::bar || i.op == Op::barrier) && i.bar == BarKind::none) i.bar = BarKind::sync;
}

void set_uniform(Instruction& i) {
  if (i.op == Op::vote) {
    i.vote = Vote::uni;
  } else {
    i.uniform = true;
  }
}

void set_arrive(Instruction& i) {
  if (i.op == Op::cp) {
    i.async = Async::arrive_after_copies;
  } else if (i.op == Op::mbarrier) {
    i.async = Async::arrive;
  } else {
    i.bar = BarKind::arrive;
  }
}

/// `cp.async` alone copies; other words of the instruction say otherwise.
void set_async(Instruction& i) {
  if (i.async == Async::none) i.async = Async::copy;
}

/// The first of mma's two layouts is a's.
void set_layout(Instruction& i, Layout layout) {
  (i.a_layout == Layout::none ? i.a_layout : i.b_layout) = layout;
}

#define FIELD(name, field, value)                 \
  {                                               \
    name, [](Instruction& i) { i.field = value; } \
  }
#define NOTHING(name)         \
  {                           \
    name, [](Instruction&) {} \
  }

const std::unordered_map<std::string_view, Setter>& setters() {
  static const std::unordered_map<std::string_view, Setter> map = {
      FIELD("rn", rounding, Rounding::rn),
      FIELD("rz", rounding, Rounding::rz),
      FIELD("rm", rounding, Rounding::rm),
      FIELD("rp", rounding, Rounding::rp),
      FIELD("rna", rounding, Rounding::rna),
      FIELD("rni", rounding, Rounding::rni),
      FIELD("rzi", rounding, Rounding::rzi),
      FIELD("rmi", rounding, Rounding::rmi),
      FIELD("rpi", rounding, Rounding::rpi),
      FIELD("ftz", ftz, true),
      FIELD("sat", sat, true),
      FIELD("satfinite", satfinite, true),
      FIELD("relu", relu, true),
      FIELD("approx", approx, true),
      FIELD("full", full, true),
      FIELD("cc", carry_out, true),
      FIELD("NaN", nan, true),
      FIELD("xorsign.abs", xorsign_abs, true),
      FIELD("wide", half, Half::wide),
      {"lo", [](Instruction& i) { set_half(i, Half::lo, Compare::lo); }},
      {"hi", [](Instruction& i) { set_half(i, Half::hi, Compare::hi); }},
      FIELD("eq", compare, Compare::eq),
      FIELD("ne", compare, Compare::ne),
      FIELD("lt", compare, Compare::lt),
      FIELD("le", compare, Compare::le),
      FIELD("gt", compare, Compare::gt),
      FIELD("ge", compare, Compare::ge),
      FIELD("ls", compare, Compare::ls),
      FIELD("hs", compare, Compare::hs),
      FIELD("equ", compare, Compare::equ),
      FIELD("neu", compare, Compare::neu),
      FIELD("ltu", compare, Compare::ltu),
      FIELD("leu", compare, Compare::leu),
      FIELD("gtu", compare, Compare::gtu),
      FIELD("geu", compare, Compare::geu),
      FIELD("num", compare, Compare::num),
      FIELD("nan", compare, Compare::nan),
      {"and", [](Instruction& i) { set_logic(i, BoolOp::and_, Atom::and_, BarKind::red_and); }},
      {"or", [](Instruction& i) { set_logic(i, BoolOp::or_, Atom::or_, BarKind::red_or); }},
      {"xor", [](Instruction& i) { set_logic(i, BoolOp::xor_, Atom::xor_, i.bar); }},
      FIELD("popc", bar, BarKind::red_popc),
      {"arrive", set_arrive},
      FIELD("warp", bar, BarKind::warp_sync),
      NOTHING("red"),
      {"sync", set_sync},
      FIELD("aligned", aligned, true),
      FIELD("add", atom, Atom::add),
      FIELD("exch", atom, Atom::exch),
      FIELD("cas", atom, Atom::cas),
      FIELD("inc", atom, Atom::inc),
      FIELD("dec", atom, Atom::dec),
      FIELD("min", atom, Atom::min),
      FIELD("max", atom, Atom::max),
      FIELD("noftz", noftz, true),
      FIELD("global", space, Space::global),
      FIELD("shared", space, Space::shared),
      FIELD("shared::cta", space, Space::shared),
      FIELD("local", space, Space::local),
      FIELD("param", space, Space::param),
      FIELD("param::entry", space, Space::param),
      FIELD("param::func", space, Space::param),
      FIELD("const", space, Space::const_),
      FIELD("weak", order, Order::weak),
      FIELD("volatile", order, Order::volatile_),
      FIELD("relaxed", order, Order::relaxed),
      FIELD("acquire", order, Order::acquire),
      FIELD("release", order, Order::release),
      FIELD("acq_rel", order, Order::acq_rel),
      FIELD("sc", order, Order::sc),
      {"cta", set_cta},
      FIELD("gpu", scope, Scope::gpu),
      FIELD("gl", scope, Scope::gpu),
      FIELD("sys", scope, Scope::sys),
      FIELD("nc", non_coherent, true),
      FIELD("v2", vector, 2),
      FIELD("v4", vector, 4),
      FIELD("to", to_space, true),
      FIELD("shiftamt", shift_amount, true),
      FIELD("wrap", wrap_shift, true),
      NOTHING("clamp"),
      FIELD("l", shift_left, true),
      NOTHING("r"),
      FIELD("f4e", prmt, PrmtMode::f4e),
      FIELD("b4e", prmt, PrmtMode::b4e),
      FIELD("rc8", prmt, PrmtMode::rc8),
      FIELD("ecl", prmt, PrmtMode::ecl),
      FIELD("ecr", prmt, PrmtMode::ecr),
      FIELD("rc16", prmt, PrmtMode::rc16),
      FIELD("finite", testp, Testp::finite),
      FIELD("infinite", testp, Testp::infinite),
      FIELD("number", testp, Testp::number),
      FIELD("notanumber", testp, Testp::notanumber),
      FIELD("normal", testp, Testp::normal),
      FIELD("subnormal", testp, Testp::subnormal),
      FIELD("up", shuffle, Shuffle::up),
      FIELD("down", shuffle, Shuffle::down),
      FIELD("bfly", shuffle, Shuffle::bfly),
      FIELD("idx", shuffle, Shuffle::idx),
      FIELD("all", vote, Vote::all),
      FIELD("any", vote, Vote::any),
      FIELD("ballot", vote, Vote::ballot),
      {"uni", set_uniform},
      FIELD("m16n8k4", shape, (Shape{16, 8, 4})),
      FIELD("m16n8k8", shape, (Shape{16, 8, 8})),
      FIELD("m16n8k16", shape, (Shape{16, 8, 16})),
      FIELD("m16n8k32", shape, (Shape{16, 8, 32})),
      FIELD("m8n8k16", shape, (Shape{8, 8, 16})),
      FIELD("m16n16k16", shape, (Shape{16, 16, 16})),
      FIELD("m32n8k16", shape, (Shape{32, 8, 16})),
      FIELD("m8n32k16", shape, (Shape{8, 32, 16})),
      FIELD("m16n16k8", shape, (Shape{16, 16, 8})),
      {"row", [](Instruction& i) { set_layout(i, Layout::row); }},
      {"col", [](Instruction& i) { set_layout(i, Layout::col); }},
      FIELD("load", wmma, Wmma::load),
      FIELD("mma", wmma, Wmma::mma),
      FIELD("store", wmma, Wmma::store),
      FIELD("a", matrix, Matrix::a),
      FIELD("b", matrix, Matrix::b),
      FIELD("c", matrix, Matrix::c),
      FIELD("d", matrix, Matrix::d),
      FIELD("x1", vector, 1),
      FIELD("x2", vector, 2),
      FIELD("x4", vector, 4),
      FIELD("trans", transpose, true),
      {"async", set_async},
      FIELD("commit_group", async, Async::commit_group),
      FIELD("wait_group", async, Async::wait_group),
      FIELD("wait_all", async, Async::wait_all),
      FIELD("noinc", no_increment, true),
      FIELD("init", async, Async::init),
      FIELD("inval", async, Async::inval),
      FIELD("arrive_drop", async, Async::arrive_drop),
      FIELD("noComplete", no_complete, true),
      FIELD("test_wait", async, Async::test_wait),
      FIELD("try_wait", async, Async::try_wait),
      FIELD("parity", parity, true),
      FIELD("pending_count", async, Async::pending_count),
  };
  return map;
}
#undef FIELD
#undef NOTHING

/// A row with its texts taken apart.
struct CompiledRow {
  struct Group {
    std::vector<std::string_view> names;
    bool required = false;
  };
  std::vector<Group> groups;
  std::bitset<32> types, source_types;
  bool four_types = false;
  std::vector<OperandSpec> operands;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::bitset<32> type_set(std::string_view text) {
  std::bitset<32> set;
  for (const auto name : split(text, ' ')) set.set(static_cast<size_t>(type_named(name)));
  return set;
}

CompiledRow::Group compile_group(std::string_view text) {
  CompiledRow::Group group;
  group.required = text.front() != '{';
  if (text.front() == '{' || text.front() == '(') text = text.substr(1, text.size() - 2);
  group.names = split(text, '|');
  return group;
}

OperandSpec compile_operand(std::string_view text) {
  OperandSpec spec;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string_view whole = text;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    std::string_view type = text.substr(colon + 1);
    if (const size_t end = type.find_first_of("|?*^"); end != type.npos) type = type.substr(0, end);
    if (type == "policy") {
      spec.policy = true;
    } else if (type == "S") {
      spec.typing = OperandSpec::Typing::source;
    } else if (type == "W") {
      spec.typing = OperandSpec::Typing::wide;
    } else {
      spec.typing = OperandSpec::Typing::fixed;
      spec.fixed = type_named(type);
    }
  }
  spec.is_destination = text.front() == 'd' || text.front() == 'p';
  const auto has = [whole](char c) { return whole.find(c) != whole.npos; };
  if (const size_t mark = whole.find('#'); mark != whole.npos) {
    spec.fragment = static_cast<Matrix>(whole[mark + 1] - 'A' + static_cast<int>(Matrix::a));
  }
  spec.or_predicate = has('^');
  spec.wider = has('~');
  spec.pair = has('|');
  spec.vector = has('*');
  spec.symbol = has('@');
  spec.negatable = has('!');
  spec.optional = has('?');
  spec.address = has('[');
  spec.label = has('&');
  return spec;
}

CompiledRow compile_row(const Row& row) {
  CompiledRow compiled;
  for (const auto text : split(row.modifiers, ' ')) compiled.groups.push_back(compile_group(text));
  compiled.types = type_set(row.types);
  compiled.source_types = type_set(row.source_types);
  compiled.four_types = row.four_types;
  for (const auto text : split(row.operands, ',')) {
    compiled.operands.push_back(compile_operand(text));
  }
  return compiled;
}

struct CompiledTable {
  std::vector<CompiledRow> rows;
  std::unordered_map<std::string_view, std::vector<int>> by_mnemonic;
};

const CompiledTable& compiled_table() {
  static const CompiledTable compiled = [] {
    CompiledTable result;
    const auto& rows = table();
    for (size_t i = 0; i < rows.size(); ++i) {
      result.rows.push_back(compile_row(rows[i]));
      result.by_mnemonic[rows[i].mnemonic].push_back(static_cast<int>(i));
    }
    return result;
  }();
  return compiled;
}

/// "add.rn.f32" taken apart.
struct Spelling {
  std::string_view mnemonic;
  std::vector<std::string_view> modifiers;
  std::vector<Type> types;
  bool modifier_after_type = false;
};

Spelling take_apart(std::string_view text) {
  Spelling spelling;
  const auto parts = split(text, '.');
  if (parts.empty()) return spelling;
  spelling.mnemonic = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "xorsign" && i + 1 < parts.size() && parts[i + 1] == "abs") {
      // One modifier that is written with a dot.
      const char* start = parts[i].data();
      ++i;
      const char* end = parts[i].data() + parts[i].size();
      spelling.modifiers.emplace_back(start, static_cast<size_t>(end - start));
      continue;
    }
    const Type type = type_named(parts[i]);
    if (type != Type::none) {
      spelling.types.push_back(type);
    } else {
      spelling.modifiers.push_back(parts[i]);
      spelling.modifier_after_type |= !spelling.types.empty();
    }
  }
  return spelling;
}

bool modifiers_match(const CompiledRow& row, const std::vector<std::string_view>& modifiers) {
  uint32_t used = 0;
  for (const auto modifier : modifiers) {
    bool found = false;
    for (size_t g = 0; g < row.groups.size() && !found; ++g) {
      const auto& names = row.groups[g].names;
      if ((used >> g & 1) || std::find(names.begin(), names.end(), modifier) == names.end()) {
        continue;
      }
      used |= 1u << g;
      found = true;
    }
    if (!found) return false;
  }
  for (size_t g = 0; g < row.groups.size(); ++g) {
    if (row.groups[g].required && !(used >> g & 1)) return false;
  }
  return true;
}

/// Whether a and b may have these types in one product: 8-bit ones mix.
bool types_multiply(Type a, Type b) {
  const auto integer = [](Type type) { return type == Type::s8 || type == Type::u8; };
  const auto fp8 = [](Type type) { return type == Type::e4m3 || type == Type::e5m2; };
  return a == b || (integer(a) && integer(b)) || (fp8(a) && fp8(b));
}

bool types_match(const CompiledRow& row, const std::vector<Type>& types) {
  if (row.four_types) {
    return types.size() == 4 && row.types.test(static_cast<size_t>(types[0])) &&
           row.source_types.test(static_cast<size_t>(types[1])) &&
           types_multiply(types[1], types[2]) && types[3] == types[0];
  }
  const auto accepts = [&types](const std::bitset<32>& set, size_t position) {
    const bool present = types.size() > position;
    return present ? set.test(static_cast<size_t>(types[position])) : set.none();
  };
  return types.size() <= 2 && accepts(row.types, 0) && accepts(row.source_types, 1);
}

/// Reasons that hold for a spelling whatever the table says about the rest of it.
std::string special_reason(const Spelling& s) {
  const auto has = [&s](std::string_view name) {
    return std::find(s.modifiers.begin(), s.modifiers.end(), name) != s.modifiers.end();
  };
  if (s.mnemonic == "cp") {
    return has("bulk") || has("reduce") ? "sm_90" : "";
  }
  if (s.mnemonic == "fence" && (has("proxy") || has("mbarrier_init"))) return "sm_90";
  if (s.mnemonic == "mbarrier" && (has("expect_tx") || has("complete_tx"))) return "sm_90";
  if (has("shared::cluster") || has("cluster") || has("async") || has("mbarrier")) return "sm_90";
  if ((s.mnemonic == "shfl" || s.mnemonic == "vote") && !has("sync")) {
    return "without .sync (not for sm_70 and later)";
  }
  return "";
}

std::string mismatch_reason(const Spelling& s, const std::vector<int>& rows) {
  const auto& compiled = compiled_table().rows;
  for (const auto modifier : s.modifiers) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](int row) {
      const auto& groups = compiled[row].groups;
      return std::any_of(groups.begin(), groups.end(), [&](const CompiledRow::Group& group) {
        return std::find(group.names.begin(), group.names.end(), modifier) != group.names.end();
      });
    });
    if (!known) {
      return "unknown modifier ." + std::string(modifier) + " of " + std::string(s.mnemonic);
    }
  }
  const bool types_known = std::any_of(
      rows.begin(), rows.end(), [&](int row) { return types_match(compiled[row], s.types); });
  if (!types_known) return "no " + std::string(s.mnemonic) + " of this type";
  return "modifiers of " + std::string(s.mnemonic) + " that do not go together";
}

SpellingMatch accepted(const Spelling& s, int row) {
  SpellingMatch match;
  Instruction& prototype = match.prototype;
  prototype.op = table()[row].op;
  prototype.row = row;
  for (const auto modifier : s.modifiers) {
    const auto setter = setters().find(modifier);
    if (setter != setters().end()) setter->second(prototype);
  }
  if (!s.types.empty()) prototype.type = s.types[0];
  if (s.types.size() > 1) prototype.source_type = s.types[1];
  prototype.has_predicate_in = prototype.bool_op != BoolOp::none;
  if (s.types.size() == 4) {
    prototype.b_type = s.types[2];
    prototype.c_type = s.types[3];
  } else if (prototype.wmma == Wmma::mma) {  // d and c only: a and b are f16
    prototype.c_type = prototype.source_type;
    prototype.source_type = prototype.b_type = Type::f16;
  }
  return match;
}

}  // namespace

Type type_named(std::string_view name) {
  static const std::unordered_map<std::string_view, Type> map(std::begin(kTypeNames),
                                                              std::end(kTypeNames));
  const auto found = map.find(name);
  return found == map.end() ? Type::none : found->second;
}

std::string_view name_of(Type type) {
  for (const auto& [name, known] : kTypeNames) {
    if (known == type) return name;
  }
  return "none";
}

int bytes_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::pred:
      return 0;
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::tf32:
    case Type::f32:
      return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 8;
    case Type::b128:
      return 16;
  }
  return 0;
}

Type twice_as_wide(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    default:
      return Type::none;
  }
}

const std::vector<OperandSpec>& operand_specs(int row) {
  return compiled_table().rows[row].operands;
}

SpellingMatch match_spelling(std::string_view text) {
  const Spelling s = take_apart(text);
  SpellingMatch failure;
  for (const auto& known : kNameOnly) {
    if (known.mnemonic != s.mnemonic) continue;
    failure.prototype.op = known.op;
    failure.reason = std::string(known.reason);
    return failure;
  }
  const auto& compiled = compiled_table();
  const auto rows = compiled.by_mnemonic.find(s.mnemonic);
  if (rows == compiled.by_mnemonic.end()) {
    failure.reason = "unknown instruction " + std::string(s.mnemonic);
    return failure;
  }
  // prmt.b32.f4e is the one mnemonic with a modifier behind the type.
  const bool ordered = !s.modifier_after_type || s.mnemonic == "prmt";
  for (const int row : rows->second) {
    if (ordered && modifiers_match(compiled.rows[row], s.modifiers) &&
        types_match(compiled.rows[row], s.types)) {
      return accepted(s, row);
    }
  }
  failure.prototype.op = table()[rows->second.front()].op;
  failure.reason = special_reason(s);
  if (failure.reason.empty() && !ordered) failure.reason = "a modifier behind the type";
  if (failure.reason.empty()) failure.reason = mismatch_reason(s, rows->second);
  return failure;
}

}  // namespace assay::ptx
