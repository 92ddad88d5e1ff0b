// atom and red: each thread on a cell of its own (old value and result), and for operations whose
// order does not matter a whole warp on one cell.
#include <algorithm>

#include "fuzz/conform_programs.hpp"

namespace assay {

namespace {

using ptx::Atom;
using ptx::Op;

constexpr char kPolicy[] = "createpolicy.fractional.L2::evict_last.b64 %d40, 0f3f800000;\n";

enum class Cell : uint8_t { global, shared, generic, generic_shared };

bool commutes(const ptx::Instruction& i) {
  const bool is_float = i.type == ptx::Type::f32 || i.type == ptx::Type::f64 ||
                        i.type == ptx::Type::f16 || i.type == ptx::Type::f16x2 ||
                        i.type == ptx::Type::bf16 || i.type == ptx::Type::bf16x2;
  switch (i.atom) {
    case Atom::add:
    case Atom::min:
    case Atom::max:
    case Atom::and_:
    case Atom::or_:
    case Atom::xor_:
      return !is_float;
    default:
      return false;
  }
}

/// In: the cell's value, b, c (8 bytes each). Out: the old value, the cell.
void add_one(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i, Cell cell,
             bool contended) {
  const bool shared = cell == Cell::shared || cell == Cell::generic_shared;
  const std::string bits = bits_for(i.type);
  const auto reg = [&](int n) { return register_for(i.type, n); };
  const std::string place = shared ? "%d25" : "%d31+8";
  std::string body;
  if (shared) {
    // All threads of a warp share the first one's cell when they contend.
    body +=
        ".shared .align 16 .b8 tile[2048];\nmov.u64 %d24, tile;\n"
        "mad.wide.u32 %d25, %r28, 16, %d24;\n";
  }
  if (contended) {
    body += shared ? "mul.wide.u32 %d26, %r27, 16;\nsub.u64 %d27, %d25, %d26;\n"
                   : "mul.wide.u32 %d26, %r27, 16;\nsub.u64 %d27, %d31, %d26;\nadd.u64 %d27, %d27, "
                     "8;\n";
  } else {
    body += shared ? "mov.u64 %d27, %d25;\n" : "add.u64 %d27, %d31, 8;\n";
  }
  body += "ld.global.b64 %d23, [%d30];\n" + std::string(shared ? "st.shared" : "st.global") +
          ".b64 [" + place + "], %d23;\n" + "ld.global" + bits + " " + reg(1) + ", [%d30+8];\n" +
          "ld.global" + bits + " " + reg(2) + ", [%d30+16];\nbar.warp.sync 0xffffffff;\n";
  if (cell == Cell::generic_shared) body += "cvta.shared.u64 %d27, %d27;\n";
  const bool hint = spelling.find("cache_hint") != std::string::npos;
  if (hint) body += kPolicy;
  body += spelling + " ";
  if (i.op == Op::atom) body += reg(0) + ", ";
  body += "[%d27], " + reg(1);
  if (i.atom == Atom::cas) body += ", " + reg(2);
  body += std::string(hint ? ", %d40" : "") + ";\nbar.warp.sync 0xffffffff;\n";
  if (i.op == Op::atom && !contended) body += "st.global" + bits + " [%d31], " + reg(0) + ";\n";
  if (shared) body += "ld.shared.b64 %d23, [%d25];\nst.global.b64 [%d31+8], %d23;\n";
  ConformProgram program;
  program.title = spelling + (cell == Cell::generic_shared ? " (shared cell)" : "") +
                  (contended ? " (a warp on one cell)" : "");
  program.instruction = i;
  program.in_bytes = 32;
  program.out_bytes = 16;
  const bool cas = i.atom == Atom::cas;
  program.fill = [cas](Random& random, int64_t, uint8_t* in) {
    fill_words(random, in, 32 * 32);
    // cas: every other thread finds what it compares with.
    for (int lane = 0; cas && lane < 32; lane += 2) {
      std::copy(in + lane * 32, in + lane * 32 + 8, in + lane * 32 + 8);
    }
  };
  sink.add(std::move(program), body);
}

}  // namespace

void add_atomic_programs(ProgramSink& sink) {
  for (const ptx::Row& row : ptx::table()) {
    if (row.op != Op::atom && row.op != Op::red) continue;
    for (const std::string& spelling : spellings_of(row)) {
      if (!sink.wants(spelling)) continue;
      const ptx::Instruction i = ptx::match_spelling(spelling).prototype;
      if (i.row < 0) continue;
      bool plain = i.scope == ptx::Scope::none;
      for (const char* word : {".relaxed", ".acquire", ".release", ".acq_rel", "cache_hint"}) {
        plain &= spelling.find(word) == std::string::npos;
      }
      std::vector<Cell> cells;
      if (i.space == ptx::Space::generic) {
        cells = {Cell::generic};
        if (plain) cells.push_back(Cell::generic_shared);
      } else {
        cells = {i.space == ptx::Space::shared ? Cell::shared : Cell::global};
      }
      for (const Cell cell : cells) {
        add_one(sink, spelling, i, cell, false);
        if (plain && commutes(i)) add_one(sink, spelling, i, cell, true);
      }
    }
  }
}

}  // namespace assay
