// Instructions that do not compute lane by lane, as kernels: memory, atomics, warps, copies and
// matrices. As in conform_kernels.hpp the emulator and a GPU run the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "devices/ptx/module.hpp"
#include "fuzz/conform_spellings.hpp"
#include "generators/hash.hpp"

namespace assay {

/// How a program multiplies matrices.
struct ConformProduct {
  ptx::Instruction product;                                              ///< mma or wmma.mma
  ptx::Layout c_layout = ptx::Layout::row, d_layout = ptx::Layout::row;  ///< wmma
};

struct ConformProgram {
  std::string title;  ///< the spelling and how it is used
  ptx::Instruction instruction;
  std::string entry;
  std::string text;   ///< the .entry, and before it what it needs of the module
  int in_bytes = 0;   ///< of a thread; multiples of 16
  int out_bytes = 0;  ///< likewise
  int target = 90;    ///< .target sm_90
  bool reads_parameters = false;
  std::optional<ConformProduct> product;  ///< results are compared within its envelope
  /// A warp's input: `in_bytes` a thread, one thread after another.
  std::function<void(Random& random, int64_t warp, uint8_t* in)> fill;

  std::vector<uint8_t> input(int64_t warps, uint64_t seed) const;
};

/// All of them; only those whose spelling starts with one of `prefixes`, when there are any.
std::vector<ConformProgram> conform_programs(const std::vector<std::string>& prefixes);

/// A module of programs with equal targets.
std::string program_module(const std::vector<const ConformProgram*>& programs, int cuda_version);

/// A row of the table that has neither a kernel nor a program, and why.
struct Uncompared {
  std::string mnemonic;
  const char* reason;
};
const std::vector<Uncompared>& uncompared_instructions();

// ---- what the files of programs share ----

/// Collects programs of the spellings that are wanted.
class ProgramSink {
 public:
  explicit ProgramSink(const std::vector<std::string>& prefixes) : prefixes_(prefixes) {}
  bool wants(const std::string& spelling) const;
  /// `body` stands between what sets %d30 (the thread's input), %d31 (its output, zeros), %r28 (its
  /// number in the block), %r27 (in the warp) and `ret`.
  void add(ConformProgram program, const std::string& body, const std::string& before = "");
  std::vector<ConformProgram> take() { return std::move(programs_); }

 private:
  const std::vector<std::string>& prefixes_;
  std::vector<ConformProgram> programs_;
};

void add_memory_programs(ProgramSink& sink);
void add_atomic_programs(ProgramSink& sink);
void add_warp_programs(ProgramSink& sink);
void add_copy_programs(ProgramSink& sink);
void add_matrix_programs(ProgramSink& sink);

/// "%h3", "%r3" or "%d3": an untyped register for a type.
std::string register_for(ptx::Type type, int number);
/// ".b16" of f16: as wide as a register for the type.
std::string bits_for(ptx::Type type);
/// Random bytes with small numbers and specials of f32 among the words.
void fill_words(Random& random, uint8_t* to, int bytes);

}  // namespace assay
