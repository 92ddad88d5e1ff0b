// What lanes of a warp tell each other: shfl, vote, match, redux, activemask; bar.red of a block;
// isspacep of an address of each space.
#include <cstring>

#include "fuzz/conform_programs.hpp"

namespace assay {

namespace {

using ptx::Op;

/// Words of a lane: value (64 bits), b, c, member mask, and one of few values (64 bits).
constexpr int kLane = 32;
void fill_lanes(Random& random, int64_t warp, uint8_t* in) {
  // Every third warp has all its lanes, others any set of them.
  uint32_t mask = static_cast<uint32_t>(random.next() | random.next());
  if (warp % 3 == 0 || mask == 0) mask = 0xffffffff;
  const uint64_t few[2] = {random.next(), random.next()};
  const bool same = random.next() % 4 == 0, truth = random.next() % 4 != 0;
  for (int lane = 0; lane < 32; ++lane, in += kLane) {
    const uint64_t value = random.next();
    const uint32_t small = static_cast<uint32_t>(random.next());
    // Predicates: mixed, or the same in all lanes.
    const uint64_t bits = warp % 2 == 0 ? value : (value & ~uint64_t{1}) | (truth ? 1 : 0);
    const uint64_t chosen = few[same ? 0 : small >> 31];
    const uint32_t b = warp % 5 == 0 ? small : small % 40, c = small >> 8 & 0x1f1f;
    std::memcpy(in, &bits, 8);
    std::memcpy(in + 8, &b, 4);
    std::memcpy(in + 12, &c, 4);
    std::memcpy(in + 16, &mask, 4);
    std::memcpy(in + 24, &chosen, 8);
  }
}

constexpr char kLoad[] =
    "ld.global.b64 %d0, [%d30];\nld.global.b32 %r0, [%d30];\nld.global.b32 %r1, [%d30+8];\n"
    "ld.global.b32 %r2, [%d30+12];\nld.global.b32 %r3, [%d30+16];\nld.global.b64 %d4, [%d30+24];\n"
    "ld.global.b32 %r4, [%d30+24];\nand.b32 %r5, %r0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n";
constexpr char kStorePredicate[] = "selp.u32 %r11, 1, 2, %p2;\nst.global.u32 [%d31+8], %r11;\n";

/// The instruction on the lanes of the mask; the others wait behind it.
std::string on_members(const std::string& line) {
  return "shl.b32 %r6, 1, %r27;\nand.b32 %r6, %r6, %r3;\nsetp.eq.u32 %p3, %r6, 0;\n@%p3 bra "
         "skip;\n" +
         line + "skip:\nbar.warp.sync 0xffffffff;\n";
}

std::string line_of(const ptx::Instruction& i, const std::string& spelling, bool negated) {
  const std::string store = "st.global.u32 [%d31], %r10;\n", p = negated ? "!%p1" : "%p1";
  switch (i.op) {
    case Op::shfl:
      // Lanes outside of the mask have no defined value to give: all take part.
      return spelling + " %r10|%p2, %r0, %r1, %r2, 0xffffffff;\n" + store + kStorePredicate;
    case Op::vote:
      if (i.vote == ptx::Vote::ballot) return spelling + " %r10, " + p + ", %r3;\n" + store;
      return spelling + " %p2, " + p + ", %r3;\n" + kStorePredicate;
    case Op::match: {
      const std::string value = i.type == ptx::Type::b64 ? "%d4" : "%r4";
      const bool all = spelling.find(".all") != std::string::npos;
      return spelling + " %r10" + (all ? "|%p2, " : ", ") + value + ", %r3;\n" + store +
             (all ? kStorePredicate : "");
    }
    case Op::redux:
      return spelling + " %r10, %r0, %r3;\n" + store;
    default:
      return spelling + " %r10;\n" + store;  // activemask
  }
}

std::string barrier_line(const ptx::Instruction& i, const std::string& spelling, bool negated,
                         bool counted) {
  const std::string p = negated ? "!%p1" : "%p1", threads = counted ? "1, 128, " : "0, ";
  if (i.bar == ptx::BarKind::red_popc) {
    return spelling + " %r10, " + threads + p + ";\nst.global.u32 [%d31], %r10;\n";
  }
  return spelling + " %p2, " + threads + p + ";\n" + kStorePredicate;
}

std::string space_line(const std::string& spelling) {
  std::string text =
      ".shared .align 8 .b8 tile[64];\n.local .align 8 .b8 own[64];\nmov.u64 %d24, tile;\n"
      "cvta.shared.u64 %d24, %d24;\nmov.u64 %d25, own;\ncvta.local.u64 %d25, %d25;\n"
      "mov.u32 %r10, 0;\n";
  for (const char* address : {"%d30", "%d31", "%d24", "%d25"}) {
    text += spelling + " %p2, " + address +
            ";\nselp.u32 %r11, 1, 0, %p2;\nshl.b32 %r10, %r10, 1;\nor.b32 %r10, %r10, %r11;\n";
  }
  return text + "st.global.u32 [%d31], %r10;\n";
}

void add(ProgramSink& sink, const std::string& title, const ptx::Instruction& i,
         const std::string& body) {
  ConformProgram program;
  program.title = title;
  program.instruction = i;
  program.in_bytes = kLane;
  program.out_bytes = 16;
  program.fill = fill_lanes;
  sink.add(std::move(program), kLoad + body);
}

void add_spelling(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  switch (i.op) {
    case Op::shfl:
      return add(sink, spelling, i, line_of(i, spelling, false));
    case Op::vote:
      add(sink, spelling + " (negated)", i, on_members(line_of(i, spelling, true)));
      [[fallthrough]];
    case Op::match:
    case Op::redux:
    case Op::activemask:
      return add(sink, spelling, i, on_members(line_of(i, spelling, false)));
    case Op::bar:
    case Op::barrier:
      if (spelling.find(".red") == std::string::npos) return;
      add(sink, spelling, i, barrier_line(i, spelling, false, false));
      return add(sink, spelling + " (negated, counted)", i, barrier_line(i, spelling, true, true));
    case Op::isspacep:
      return add(sink, spelling, i, space_line(spelling));
    default:
      return;
  }
}

}  // namespace

void add_warp_programs(ProgramSink& sink) {
  for (const ptx::Row& row : ptx::table()) {
    for (const Op op : {Op::shfl, Op::vote, Op::match, Op::redux, Op::activemask, Op::bar,
                        Op::barrier, Op::isspacep}) {
      if (row.op != op) continue;
      for (const std::string& spelling : spellings_of(row)) {
        const ptx::Instruction i = ptx::match_spelling(spelling).prototype;
        if (sink.wants(spelling) && i.row >= 0) add_spelling(sink, spelling, i);
      }
    }
  }
}

}  // namespace assay
