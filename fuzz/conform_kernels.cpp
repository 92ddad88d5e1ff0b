#include "fuzz/conform_kernels.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "devices/ptx/semantics.hpp"
#include "devices/ptx/table.hpp"
#include "fuzz/conform_spellings.hpp"

namespace assay {

namespace {

using ptx::Op;
using ptx::OperandSpec;
using ptx::Type;

/// lop3's table is part of the instruction: every input alone, the usual three-input functions, and
/// some without structure.
constexpr int kLop3Tables[] = {0x00, 0x01, 0x17, 0x1b, 0x3c, 0x5a, 0x69, 0x80,
                               0x96, 0xaa, 0xca, 0xcc, 0xe8, 0xf0, 0xfe, 0xff};

Type type_of(const OperandSpec& spec, const ptx::Instruction& i) {
  switch (spec.typing) {
    case OperandSpec::Typing::source:
      return i.source_type;
    case OperandSpec::Typing::wide:
      return ptx::twice_as_wide(i.type);
    case OperandSpec::Typing::fixed:
      return spec.fixed;
    case OperandSpec::Typing::own:
      break;
  }
  return i.type;
}

/// Registers: predicates, and untyped ones of 16, 32 and 64 bits, which any type of their size may
/// use (PTX ISA 9.0, 9.2).
std::string register_of(Type type, int number) {
  const int bytes = ptx::bytes_of(type);
  const char* kind = type == Type::pred ? "%p" : bytes <= 2 ? "%h" : bytes == 4 ? "%r" : "%d";
  return kind + std::to_string(number);
}
std::string bits_of(Type type) {
  return ".b" + std::to_string(std::max(2, ptx::bytes_of(type)) * 8);
}

void load_source(std::ostream& out, Type type, int k) {
  const std::string place = "[%d30+" + std::to_string(8 * k) + "];\n";
  if (type != Type::pred) {
    out << "ld.global" << bits_of(type) << " " << register_of(type, k) << ", " << place;
    return;
  }
  out << "ld.global.u32 %r20, " << place << "and.b32 %r20, %r20, 1;\n"
      << "setp.ne.u32 %p" << k << ", %r20, 0;\n";
}

void store_predicate(std::ostream& out, const std::string& name, int offset) {
  out << "selp.u32 %r21, 1, 0, " << name << ";\nst.global.u32 [%d31+" << offset << "], %r21;\n";
}

bool reads_carry(Op op) { return op == Op::addc || op == Op::subc || op == Op::madc; }

/// The instruction between what sets CC.CF and what reads it.
void apply(std::ostream& out, const ptx::Instruction& i, const std::string& line) {
  const bool subtracts = i.op == Op::sub || i.op == Op::subc;
  if (reads_carry(i.op)) {
    out << "ld.global.u32 %r22, [%d30+32];\nand.b32 %r22, %r22, 1;\nmov.u32 %r24, 0;\n"
        << (subtracts ? "sub.cc.u32 %r23, %r24, %r22;\n" : "add.cc.u32 %r23, %r22, -1;\n");
  }
  out << line;
  if (!i.carry_out) return;
  out << (subtracts ? "subc.u32 %r25, 0, 0;\n" : "addc.u32 %r25, 0, 0;\n")
      << "st.global.u32 [%d31+8], %r25;\n";
}

/// Fills `kernel` but for its title and entry; `table` is lop3's.
void write_body(ConformKernel& kernel, const std::string& spelling, int table) {
  const ptx::Instruction& i = kernel.instruction;
  std::ostringstream loads, stores, line;
  line << spelling;
  const char* separator = " ";
  for (const OperandSpec& spec : ptx::operand_specs(i.row)) {
    if (spec.policy || spec.optional) continue;
    const Type type = type_of(spec, i);
    line << separator;
    separator = ", ";
    if (spec.is_destination) {
      const std::string name = register_of(type, 10);
      line << name << (spec.pair ? "|%p11" : "");
      if (type == Type::pred) store_predicate(stores, name, 8);
      if (type != Type::pred)
        stores << "st.global" << bits_of(type) << " [%d31], " << name << ";\n";
      if (spec.pair) store_predicate(stores, "%p11", 12);
    } else if (i.op == Op::lop3 && kernel.sources.size() == 3) {
      line << table;
    } else {
      const int k = static_cast<int>(kernel.sources.size());
      load_source(loads, type, k);
      line << register_of(type, k);
      kernel.sources.push_back(type);
    }
  }
  line << ";\n";
  std::ostringstream body;
  body << loads.str();
  apply(body, i, line.str());
  kernel.text = body.str() + stores.str();
}

bool computes(const ptx::Instruction& prototype, size_t sources) {
  ptx::Instruction i = prototype;
  i.src.resize(sources);
  return ptx::row_function(i, false) != nullptr;
}

void add_kernel(std::vector<ConformKernel>& kernels, const std::string& spelling,
                const ptx::Instruction& prototype, int table) {
  ConformKernel kernel;
  kernel.instruction = prototype;
  kernel.title = spelling;
  if (prototype.op == Op::lop3) kernel.title += " table " + std::to_string(table);
  write_body(kernel, spelling, table);
  if (!computes(prototype, kernel.sources.size())) return;
  kernel.entry = "k" + std::to_string(kernels.size());
  kernel.text = ".visible .entry " + kernel.entry +
                "(.param .u64 tuples, .param .u64 answers)\n{\n"
                ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n"
                "ld.param.u64 %d20, [tuples];\nld.param.u64 %d21, [answers];\n"
                "mov.u32 %r26, %ctaid.x;\nmov.u32 %r27, %ntid.x;\nmov.u32 %r28, %tid.x;\n"
                "mad.lo.u32 %r29, %r26, %r27, %r28;\n"
                "mad.wide.u32 %d30, %r29, 40, %d20;\nmad.wide.u32 %d31, %r29, 16, %d21;\n"
                "mov.u64 %d22, 0;\nst.global.u64 [%d31], %d22;\nst.global.u64 [%d31+8], %d22;\n" +
                kernel.text + "ret;\n}\n";
  kernels.push_back(std::move(kernel));
}

bool wanted(const std::string& spelling, const std::vector<std::string>& prefixes) {
  return prefixes.empty() || std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& prefix) {
           return spelling.starts_with(prefix);
         });
}

}  // namespace

std::vector<ConformKernel> conform_kernels(const std::vector<std::string>& prefixes) {
  std::vector<ConformKernel> kernels;
  std::set<std::string> seen;
  for (const ptx::Row& row : ptx::table()) {
    const ptx::Instruction first = ptx::match_spelling(spellings_of(row).front()).prototype;
    if (!computes(first, 1) && !computes(first, 2)) continue;
    for (const std::string& spelling : spellings_of(row)) {
      if (!wanted(spelling, prefixes) || !seen.insert(spelling).second) continue;
      const ptx::Instruction prototype = ptx::match_spelling(spelling).prototype;
      if (prototype.row < 0) continue;
      if (prototype.op != Op::lop3) add_kernel(kernels, spelling, prototype, 0);
      for (int table : kLop3Tables) {
        if (prototype.op == Op::lop3) add_kernel(kernels, spelling, prototype, table);
      }
    }
  }
  return kernels;
}

std::string conform_module(const std::vector<const ConformKernel*>& kernels, int capability,
                           int cuda_version) {
  // CUDA 12.4 reads PTX ISA 8.4, CUDA 13.0 reads 9.0 (PTX ISA 9.0, release history).
  std::string text = ".version " + std::to_string(cuda_version / 1000 - 4) + "." +
                     std::to_string(cuda_version % 1000 / 10) + "\n.target sm_" +
                     std::to_string(capability) + "\n.address_size 64\n";
  for (const ConformKernel* kernel : kernels) text += kernel->text;
  return text;
}

}  // namespace assay
