// cp.async, mbarrier, ldmatrix, stmatrix and movmatrix, by what lies in memory and registers
// afterwards.
#include "fuzz/conform_programs.hpp"

namespace assay {

namespace {

using ptx::Async;
using ptx::Op;

constexpr char kTile[] =
    ".shared .align 16 .b8 tile[2048];\nmov.u64 %d24, tile;\nmad.wide.u32 %d25, %r28, 16, %d24;\n";
constexpr char kStoreTile[] =
    "bar.sync 0;\nld.shared.b64 %d0, [%d25];\nld.shared.b64 %d1, [%d25+8];\n"
    "st.global.b64 [%d31], %d0;\nst.global.b64 [%d31+8], %d1;\n";
/// The tile holds the second half of the input before.
constexpr char kFillTile[] =
    "ld.global.b64 %d0, [%d30+16];\nld.global.b64 %d1, [%d30+24];\nst.shared.b64 [%d25], %d0;\n"
    "st.shared.b64 [%d25+8], %d1;\nbar.sync 0;\n";
constexpr char kPolicy[] = "createpolicy.fractional.L2::evict_last.b64 %d40, 0f3f800000;\n";

void add(ProgramSink& sink, const std::string& title, const ptx::Instruction& i,
         const std::string& body, int target = 90) {
  ConformProgram program;
  program.title = title;
  program.instruction = i;
  program.in_bytes = 32;
  program.out_bytes = 16;
  program.target = target;
  program.fill = [](Random& random, int64_t, uint8_t* in) { fill_words(random, in, 32 * 32); };
  sink.add(std::move(program), body);
}

void add_copy(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  const bool hint = spelling.find("cache_hint") != std::string::npos;
  const std::string last = hint ? ", %d40" : "";
  const std::string head = std::string(kTile) + kFillTile + (hint ? kPolicy : "");
  const std::string tail = std::string("cp.async.wait_all;\n") + kStoreTile;
  for (const int bytes : {4, 8, 16}) {
    if (bytes != 16 && spelling.find(".cg") != std::string::npos) continue;
    const std::string line = spelling + " [%d25], [%d30], " + std::to_string(bytes);
    const std::string title = spelling + " of " + std::to_string(bytes) + " bytes";
    add(sink, title, i, head + line + last + ";\n" + tail);
    // A source size from 0 to all.
    add(sink, title + ", cut", i,
        head + "ld.global.b32 %r0, [%d30+12];\nrem.u32 %r0, %r0, " + std::to_string(bytes + 1) +
            ";\n" + line + ", %r0" + last + ";\n" + tail);
    if (!hint) {
      add(sink, title + ", ignored", i,
          head + "and.b32 %r0, %r28, 1;\nsetp.ne.u32 %p1, %r0, 0;\n" + line + ", %p1;\n" + tail);
    }
  }
}

/// Three groups; the wait leaves `n` of them. Only what it promises is stored.
void add_groups(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  std::string body = std::string(kTile) + kFillTile;
  for (int group = 0; group < 3; ++group) {
    const std::string at = std::to_string(4 * group);
    body += "cp.async.ca.shared.global [%d25+" + at + "], [%d30+" + at +
            "], 4;\ncp.async.commit_group;\n";
  }
  if (i.async == Async::wait_group) {
    for (int n = 0; n < 3; ++n) {
      std::string text = body + spelling + " " + std::to_string(n) + ";\n";
      for (int group = 0; group < 3 - n; ++group) {
        const std::string at = std::to_string(4 * group);
        text += "ld.shared.b32 %r0, [%d25+" + at + "];\nst.global.b32 [%d31+" + at + "], %r0;\n";
      }
      add(sink, spelling + " " + std::to_string(n), i, text + "cp.async.wait_all;\n");
    }
    return;
  }
  add(sink, spelling, i, body + "cp.async.wait_all;\n" + kStoreTile);
}

constexpr char kBarrier[] = ".shared .align 8 .b64 mb;\nmov.u64 %d26, mb;\n";
constexpr char kInit[] =
    "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra ready;\nmbarrier.init.shared.b64 [%d26], 128;\nready:\n"
    "bar.sync 0;\n";
constexpr char kWait[] =
    "again:\nmbarrier.test_wait.shared.b64 %p2, [%d26], %d0;\n@!%p2 bra again;\n";

/// `predicate` as 1 or 2 in the second word.
std::string tell(const std::string& predicate, int at) {
  return "selp.u32 %r11, 1, 2, " + predicate + ";\nst.global.u32 [%d31+" + std::to_string(at) +
         "], %r11;\n";
}

std::string with_address(const std::string& spelling, std::string& head) {
  // Without a space the address is a generic one.
  if (spelling.find(".shared") == std::string::npos) head += "cvta.shared.u64 %d27, %d26;\n";
  return spelling.find(".shared") == std::string::npos ? "[%d27]" : "[%d26]";
}

/// Phases of an mbarrier: what waits and counts say before and after the last arrival.
void add_mbarrier(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  std::string head = kBarrier;
  const std::string address = with_address(spelling, head);
  std::string body;
  switch (i.async) {
    case Async::init:
      body = "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra ready;\n" + spelling + " " + address +
             ", 128;\nready:\nbar.sync 0;\nmbarrier.arrive.shared.b64 %d0, [%d26];\n" + kWait +
             tell("%p2", 0);
      break;
    case Async::inval:
      // Its memory can be a fresh barrier.
      body = "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra ready;\nmbarrier.init.shared.b64 [%d26], 7;\n" +
             spelling + " " + address +
             ";\nmbarrier.init.shared.b64 [%d26], 128;\nready:\nbar.sync 0;\n"
             "mbarrier.arrive.shared.b64 %d0, [%d26];\n" +
             kWait + tell("%p2", 0);
      break;
    case Async::arrive_after_copies: {
      const bool noinc = spelling.find(".noinc") != std::string::npos;
      body =
          std::string(kTile) + kFillTile + kInit +
          "cp.async.ca.shared.global [%d25], [%d30], 16;\n" + spelling + " " + address + ";\n" +
          (noinc ? "poll:\nmbarrier.test_wait.parity.shared.b64 %p2, [%d26], 0;\n@!%p2 bra poll;\n"
                 : std::string("mbarrier.arrive.shared.b64 %d0, [%d26];\n") + kWait) +
          kStoreTile;
      break;
    }
    case Async::pending_count:
      // The last arrival of a block has seen all others: states tell the rest, one each.
      body = std::string(kInit) +
             "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra skip;\n"
             "mbarrier.arrive.noComplete.shared.b64 %d0, [%d26], 3;\n" +
             spelling + " %r10, %d0;\nst.global.u32 [%d31], %r10;\n" +
             "mbarrier.arrive.noComplete.shared.b64 %d0, [%d26], 100;\n" + spelling +
             " %r10, %d0;\nst.global.u32 [%d31+4], %r10;\nskip:\n";
      break;
    case Async::test_wait:
    case Async::try_wait: {
      const std::string operand = i.parity ? ", 0" : ", %d0";
      const std::string line = spelling + " %p3, " + address + operand;
      // One thread: the phase is open after 3 of 4 arrivals and complete after the fourth.
      body =
          "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra skip;\nmbarrier.init.shared.b64 [%d26], 4;\n"
          "mbarrier.arrive.noComplete.shared.b64 %d0, [%d26], 3;\n" +
          line + ";\n" + tell("%p3", 0) + "mbarrier.arrive.shared.b64 %d1, [%d26];\n" + line +
          ";\n" + tell("%p3", 4) + "skip:\n";
      break;
    }
    default: {
      // arrive, arrive_drop: counts, then the phase; a dropped arrival is missing in the next one.
      const bool drops = spelling.find("arrive_drop") != std::string::npos;
      const std::string line = spelling + " %d0, " + address + (i.no_complete ? ", 3" : "");
      const std::string rest = i.no_complete
                                   ? "mbarrier.arrive.shared.b64 %d1, [%d26], 5;\n"
                                   : "mbarrier.arrive.noComplete.shared.b64 %d1, [%d26], 7;\n";
      const std::string count =
          "mbarrier.pending_count.b64 %r10, %d0;\nst.global.u32 [%d31+8], %r10;\n";
      body = "setp.ne.u32 %p1, %r28, 0;\n@%p1 bra skip;\nmbarrier.init.shared.b64 [%d26], 8;\n";
      body += i.no_complete ? line + ";\n" + count + rest : rest + line + ";\n" + count;
      body += "mbarrier.test_wait.parity.shared.b64 %p2, [%d26], 0;\n" + tell("%p2", 0);
      const int dropped = drops ? (i.no_complete ? 3 : 1) : 0;
      body += "mbarrier.arrive.noComplete.shared.b64 %d1, [%d26], " +
              std::to_string(8 - dropped - 1) +
              ";\nmbarrier.test_wait.parity.shared.b64 %p2, [%d26], 1;\n" + tell("%p2", 4) +
              "mbarrier.arrive.shared.b64 %d1, [%d26];\n"
              "mbarrier.test_wait.parity.shared.b64 %p2, [%d26], 1;\n" +
              tell("%p2", 12) + "skip:\n";
      break;
    }
  }
  add(sink, spelling, i, head + body);
}

void add_matrix_move(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  const int count = i.op == Op::movmatrix ? 1 : i.vector;
  std::string registers = "{";
  for (int m = 0; m < count; ++m) registers += (m ? ", %r" : "%r") + std::to_string(m);
  registers += "}";
  // Lane l names row l of its warp's 512 bytes; of fewer matrices the upper lanes' are not read.
  std::string head = std::string(kTile) + kFillTile, address = "[%d25]";
  if (i.op != Op::movmatrix && spelling.find(".shared") == std::string::npos) {
    head += "cvta.shared.u64 %d27, %d25;\n";
    address = "[%d27]";
  }
  std::string loads, stores;
  for (int m = 0; m < count; ++m) {
    const std::string at = std::to_string(4 * m);
    loads += "ld.global.b32 %r" + std::to_string(m) + ", [%d30+" + at + "];\n";
    stores += "st.global.b32 [%d31+" + at + "], %r" + std::to_string(m) + ";\n";
  }
  if (i.op == Op::ldmatrix) {
    add(sink, spelling, i, head + spelling + " " + registers + ", " + address + ";\n" + stores, 80);
  } else if (i.op == Op::movmatrix) {
    add(sink, spelling, i, loads + spelling + " %r0, %r0;\n" + stores, 80);
  } else {
    add(sink, spelling, i,
        head + loads + spelling + " " + address + ", " + registers + ";\n" + kStoreTile);
  }
}

}  // namespace

void add_copy_programs(ProgramSink& sink) {
  for (const ptx::Row& row : ptx::table()) {
    const bool matrix = row.op == Op::ldmatrix || row.op == Op::stmatrix || row.op == Op::movmatrix;
    if (!matrix && row.op != Op::cp && row.op != Op::mbarrier) continue;
    for (const std::string& spelling : spellings_of(row)) {
      const ptx::Instruction i = ptx::match_spelling(spelling).prototype;
      if (!sink.wants(spelling) || i.row < 0) continue;
      if (matrix) {
        add_matrix_move(sink, spelling, i);
      } else if (i.async == Async::copy) {
        add_copy(sink, spelling, i);
      } else if (i.async == Async::commit_group || i.async == Async::wait_group ||
                 i.async == Async::wait_all) {
        add_groups(sink, spelling, i);
      } else {
        add_mbarrier(sink, spelling, i);
      }
    }
  }
}

}  // namespace assay
