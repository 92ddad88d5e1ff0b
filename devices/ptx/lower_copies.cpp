// Copies between registers, and of constants into registers, disappear: whoever read the copy reads
// what was copied. nvcc's PTX is full of them (a shuffle takes .b32, its value is an .f32).
//
// A register with one write in the text that no path reads before that write is in SSA form: the
// write dominates every read. When both registers of a copy are, the copy equals its source at
// every read of the copy. (A path from the copy through another run of the source's write to a read
// of the copy, around the copy, would reach that read from the entry without the copy, which
// dominates it.) That holds lane by lane, so divergence changes nothing; shuffles read only lanes
// that run them.
#include <algorithm>
#include <vector>

#include "devices/ptx/code.hpp"

namespace assay::ptx {

namespace {

struct Source {
  Slot slot = kNoSlot;
  uint32_t flag = 0;
};

bool writes_vector(const MicroOp& op) { return op.kind == Kind::load || op.kind == Kind::unpack; }
bool reads_vector(const MicroOp& op) {
  return op.kind == Kind::store || op.kind == Kind::pack || op.kind == Kind::atomic;
}

/// By flag index: how many micro-ops write the register.
std::vector<uint32_t> count_writes(const Code& code) {
  std::vector<uint32_t> writes(code.flag_count, 0);
  for (const MicroOp& op : code.ops) {
    for (uint32_t flag : {op.fd, op.fp1, op.fp2}) ++writes[flag];
    if (op.kind == Kind::tensor) {
      const FragmentRows& registers = code.fragments[op.target];
      for (size_t k = 0; k < registers.results; ++k) ++writes[registers.flags[k]];
    }
    if (!writes_vector(op)) continue;
    for (uint32_t flag : code.sites[op.site].flags) ++writes[flag];
  }
  return writes;
}

/// Copies that may go, by the flag index of what they write: what to read in its place.
std::vector<Source> find_copies(const Code& code) {
  const std::vector<uint32_t> writes = count_writes(code);
  std::vector<uint8_t> single(code.flag_count, 0);
  for (uint32_t flag = 1; flag < code.flag_count; ++flag) single[flag] = writes[flag] == 1;
  for (const Code::MaybeUnset& r : code.maybe_unset) single[r.flag] = 0;
  std::vector<Source> copies(code.flag_count);
  for (const MicroOp& op : code.ops) {
    if (!op.is_copy || op.guard != kNoSlot || !single[op.fd]) continue;
    const bool constant = (op.a & 3u) != kFrame;
    if (constant || single[op.fa]) copies[op.fd] = {op.a, op.fa};
  }
  // A copy of a copy reads what the first one read.
  // (Code that nothing reaches may copy in circles.)
  for (Source& source : copies) {
    for (uint32_t steps = 0; steps < code.flag_count; ++steps) {
      if (source.flag == 0 || copies[source.flag].slot == kNoSlot) break;
      source = copies[source.flag];
    }
  }
  return copies;
}

void redirect_reads(Code& code, const std::vector<Source>& copies) {
  const auto redirect = [&](Slot& slot, uint32_t& flag) {
    const Source& source = copies[flag];
    if (flag == 0 || source.slot == kNoSlot) return;
    slot = source.slot;
    flag = source.flag;
  };
  for (MicroOp& op : code.ops) {
    redirect(op.a, op.fa);
    redirect(op.b, op.fb);
    redirect(op.c, op.fc);
    redirect(op.e, op.fe);
    if (op.kind == Kind::tensor) {
      FragmentRows& registers = code.fragments[op.target];
      for (size_t k = registers.results; k < registers.rows.size(); ++k) {
        redirect(registers.rows[k], registers.flags[k]);
      }
    }
    if (!reads_vector(op)) continue;
    Site& site = code.sites[op.site];
    for (size_t k = 0; k < site.rows.size(); ++k) redirect(site.rows[k], site.flags[k]);
  }
}

void remove_copies(Code& code, const std::vector<Source>& copies) {
  std::vector<int32_t> moved(code.ops.size() + 1, 0);
  int32_t kept = 0;
  for (size_t pc = 0; pc < code.ops.size(); ++pc) {
    moved[pc] = kept;
    const MicroOp& op = code.ops[pc];
    const bool goes = op.is_copy && op.fd != 0 && copies[op.fd].slot != kNoSlot;
    if (!goes) code.ops[kept++] = op;
  }
  moved[code.ops.size()] = kept;
  code.ops.resize(static_cast<size_t>(kept));
  for (Block& block : code.blocks) block.pc = moved[block.pc];
}

}  // namespace

void remove_redundant_copies(Code& code) {
  const std::vector<Source> copies = find_copies(code);
  redirect_reads(code, copies);
  remove_copies(code, copies);
}

}  // namespace assay::ptx
