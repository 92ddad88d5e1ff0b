#include "fuzz/conform_programs.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "fuzz/conform_emulator.hpp"

namespace assay {

namespace {

constexpr uint32_t kWords[] = {
    0,          1,          0x80000000, 0x007fffff, 0x00800000, 0x807fffff, 0x3f800000, 0xbf800000,
    0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 0x7fffffff, 0x00010001, 0x80008000,
    0x03ff03ff, 0x04000400, 0x3c003c00, 0x7bff7bff, 0x7c007c00, 0x3f803f80, 0x00ff00ff, 0x0000ffff};

}  // namespace

void fill_words(Random& random, uint8_t* to, int bytes) {
  for (int at = 0; at < bytes; at += 4) {
    const uint64_t bits = random.next(), shape = random.next();
    uint32_t word = static_cast<uint32_t>(bits);
    if (shape % 4 == 0) word = kWords[bits % std::size(kWords)];
    if (shape % 4 == 1) word >>= (shape >> 8) % 32;
    // Near 1, so that sums round.
    if (shape % 4 == 2) word = (word & 0x83ffffff) | 0x3c000000;
    std::memcpy(to + at, &word, 4);
  }
}

std::vector<uint8_t> ConformProgram::input(int64_t warps, uint64_t seed) const {
  const int64_t block = int64_t{32} * in_bytes;
  std::vector<uint8_t> bytes(static_cast<size_t>(warps * block));
  for (int64_t w = 0; w < warps; ++w) {
    Random random(counter_hash(seed, static_cast<uint64_t>(w)));
    fill(random, w, bytes.data() + w * block);
  }
  return bytes;
}

std::string register_for(ptx::Type type, int number) {
  const int bytes = ptx::bytes_of(type);
  const char* kind = type == ptx::Type::pred ? "%p" : bytes <= 2 ? "%h" : bytes == 4 ? "%r" : "%d";
  return kind + std::to_string(number);
}
std::string bits_for(ptx::Type type) {
  return ".b" + std::to_string(std::max(2, ptx::bytes_of(type)) * 8);
}

bool ProgramSink::wants(const std::string& spelling) const {
  return prefixes_.empty() || std::any_of(prefixes_.begin(), prefixes_.end(),
                                          [&](const auto& p) { return spelling.starts_with(p); });
}

void ProgramSink::add(ConformProgram program, const std::string& body, const std::string& before) {
  program.entry = "p" + std::to_string(programs_.size());
  std::string parameters = ".param .u64 in, .param .u64 out";
  if (program.reads_parameters) parameters += ", .param .align 16 .b8 bytes[64]";
  std::string text =
      before + ".visible .entry " + program.entry + "(" + parameters +
      ")\n{\n"
      ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<128>;\n.reg .f32 %f<32>;\n"
      ".reg .b64 %d<64>;\n"
      "ld.param.u64 %d20, [in];\nld.param.u64 %d21, [out];\n"
      "mov.u32 %r26, %ctaid.x;\nmov.u32 %r27, %ntid.x;\nmov.u32 %r28, %tid.x;\n"
      "mad.lo.u32 %r29, %r26, %r27, %r28;\nand.b32 %r27, %r28, 31;\n"
      "mad.wide.u32 %d30, %r29, " +
      std::to_string(program.in_bytes) + ", %d20;\nmad.wide.u32 %d31, %r29, " +
      std::to_string(program.out_bytes) + ", %d21;\nmov.u64 %d22, 0;\n";
  for (int at = 0; at < program.out_bytes; at += 8) {
    text += "st.global.u64 [%d31+" + std::to_string(at) + "], %d22;\n";
  }
  program.text = text + body + "ret;\n}\n";
  programs_.push_back(std::move(program));
}

std::vector<ConformProgram> conform_programs(const std::vector<std::string>& prefixes) {
  ProgramSink sink(prefixes);
  add_memory_programs(sink);
  add_atomic_programs(sink);
  add_warp_programs(sink);
  add_copy_programs(sink);
  add_matrix_programs(sink);
  return sink.take();
}

std::string program_module(const std::vector<const ConformProgram*>& programs, int cuda_version) {
  std::string text = ".version " + std::to_string(cuda_version / 1000 - 4) + "." +
                     std::to_string(cuda_version % 1000 / 10) + "\n.target sm_" +
                     std::to_string(programs.front()->target) + "\n.address_size 64\n";
  for (const ConformProgram* program : programs) text += program->text;
  return text;
}

const std::vector<Uncompared>& uncompared_instructions() {
  static const std::vector<Uncompared> rows{
      {"ld and st of .param::func, st of .param",
       "a function's parameters have no place of their own, and a kernel does not write its own"},
      {"ld and st with several cache modifiers",
       "each modifier is compared alone: with every type, and with b32 in every vector"},
      {"bar and barrier but .red", "order, without a result; every program that stages data waits"},
      {"cvta",
       "its result is an address, which differs between machines; ld, st and atom through "
       "generic addresses use it"},
      {"createpolicy", "its result is opaque; every cache_hint spelling uses one"},
      {"prefetch", "has no result"},
      {"prefetchu", "has no result"},
      {"bra", "control; compared by every kernel that branches"},
      {"brx", "control, without a result of its own"},
      {"call", "control, without a result of its own"},
      {"ret", "control, without a result of its own"},
      {"exit", "control, without a result of its own"},
      {"trap", "ends the launch"},
      {"brkpt", "ends the launch"},
      {"nanosleep", "has no result"},
      {"membar", "orders, has no result"},
      {"fence", "orders, has no result"},
  };
  return rows;
}

}  // namespace assay
