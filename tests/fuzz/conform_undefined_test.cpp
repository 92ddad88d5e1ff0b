// Definedness of every instruction, found out by running it: bytes of the input are called
// undefined and filled with several kinds of garbage. A byte of the result that changes with the
// garbage must be marked (no bug is missed), and one that cannot change by the row's rule must not
// be (no false alarm). The rules stand here once more, from the operands' bytes alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "fuzz/conform_emulator.hpp"
#include "fuzz/conform_kernels.hpp"
#include "fuzz/conform_programs.hpp"

namespace assay {
namespace {

using ptx::DefinednessRule;
using ptx::Op;
using Bytes = std::vector<uint8_t>;

constexpr int kGarbages = 8;

/// What one run left: the output's bytes, which of them are marked, and whether a finding said so.
struct Outcome {
  bool completed = false, told = false;
  Bytes bytes, marks;
};

class UndefinedEmulator {
 public:
  void load(const std::string& text) { module_ = ptx::decode(text, "conform.ptx"); }

  void choose(const std::string& entry) {
    code_ = ptx::lower(module_, entry, ptx::use_avx2());
    ASSERT_TRUE(code_->unsupported.empty()) << entry << code_->unsupported.front().text();
  }

  /// `undefined`: a mark a byte of the input.
  Outcome run(const Bytes& in, const Bytes& undefined, int64_t out_bytes, bool has_bytes) {
    machine_.renew_memory();
    ptx::RegionSpec source, result;
    source.name = "in";
    source.base = uint64_t{1} << 44;
    source.bytes = static_cast<int64_t>(in.size());
    source.fill = [&](int64_t first, int64_t count, uint8_t* to) {
      std::memcpy(to, in.data() + first, static_cast<size_t>(count));
    };
    result.name = "out";
    result.base = uint64_t{1} << 45;
    result.bytes = out_bytes;
    machine_.memory().add(source);
    machine_.memory().add(result);
    for (int64_t at = 0; at < source.bytes; at += ptx::kPageBytes) {
      ptx::Page* page = machine_.memory().page(source.base + static_cast<uint64_t>(at));
      const int64_t count = std::min(ptx::kPageBytes, source.bytes - at);
      for (int64_t i = 0; i < count; ++i) {
        if (undefined[static_cast<size_t>(at + i)] == 0) continue;
        page->state[i] = ptx::kUndefined;
        page->has_undefined = true;
      }
    }
    RunOptions options;
    options.wrap = options.races = options.coverage = false;
    options.instruction_budget = 100000;  // barriers and branches that garbage decides need not end
    machine_.begin(module_, options);
    machine_.add_variables(*code_);
    ptx::LaunchConfig config;
    config.block[0] = kConformThreads;
    config.params = conform_parameters(source.base, result.base, has_bytes);
    Outcome outcome;
    outcome.completed = machine_.launch(*code_, config) == RunStatus::completed;
    for (const Diagnostic& d : machine_.diagnostics()) {
      outcome.told |= d.kind == DiagnosticKind::uninitialised;
    }
    for (int64_t at = 0; at < out_bytes; at += ptx::kPageBytes) {
      const ptx::Page* page = machine_.memory().page(result.base + static_cast<uint64_t>(at));
      const int64_t count = std::min(ptx::kPageBytes, out_bytes - at);
      outcome.bytes.insert(outcome.bytes.end(), page->data, page->data + count);
      for (int64_t i = 0; i < count; ++i) {
        outcome.marks.push_back((page->state[i] & ptx::kUndefined) != 0);
      }
    }
    return outcome;
  }

 private:
  ptx::Machine machine_{ptx::use_avx2()};
  ptx::Module module_;
  std::unique_ptr<ptx::Code> code_;
};

/// Garbage comes in complements, so that a bit that is only moved shows; then all zeros, all ones.
uint8_t garbage(int kind, uint64_t at) {
  if (kind >= kGarbages - 2) return kind % 2 == 0 ? 0 : 0xff;
  const auto byte = static_cast<uint8_t>(counter_hash(static_cast<uint64_t>(kind / 2) + 77, at));
  return kind % 2 == 0 ? byte : static_cast<uint8_t>(~byte);
}

/// What several garbages made of one input.
struct Trials {
  bool told = false;  ///< some run ended early or branched on garbage, and a finding said so
  std::string fault;  ///< what must not be
  Bytes changed, marks;
};

Trials try_garbage(UndefinedEmulator& emulator, Bytes in, const Bytes& undefined, int64_t out_bytes,
                   bool has_bytes) {
  Trials trials;
  Bytes first;
  for (int kind = 0; kind < kGarbages; ++kind) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (undefined[i] != 0) in[i] = garbage(kind, i);
    }
    const Outcome outcome = emulator.run(in, undefined, out_bytes, has_bytes);
    if (outcome.told || !outcome.completed) {
      trials.told = true;
      if (!outcome.told) trials.fault = "does not complete, and nothing says why";
      return trials;
    }
    if (kind == 0) {
      first = outcome.bytes;
      trials.marks = outcome.marks;
      trials.changed.assign(first.size(), 0);
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) {
      trials.changed[i] |= static_cast<uint8_t>(outcome.bytes[i] != first[i]);
    }
    if (outcome.marks != trials.marks) trials.fault = "marks depend on the garbage";
  }
  return trials;
}

std::string hex(const uint8_t* bytes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    char two[4];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    text += two;
  }
  return text;
}

// ---- instructions that compute, lane by lane ----

constexpr int kTupleBytes = sizeof(ConformTuple), kAnswerBytes = sizeof(ConformAnswer);

/// The undefined bytes of a thread's operands: none, a byte of one, one as a whole, or any of them.
void pick_undefined(Random& random, const ConformKernel& kernel, uint8_t* undefined) {
  const int64_t count = static_cast<int64_t>(kernel.sources.size());
  const int64_t shape = random.below(6);
  const auto operand = [&](int64_t k) { return undefined + 8 * k; };
  const auto width = [&](int64_t k) {
    const ptx::Type type = kernel.sources[static_cast<size_t>(k)];
    return type == ptx::Type::pred ? 4 : std::max(2, ptx::bytes_of(type));
  };
  if (shape == 0) return;
  if (shape == 5) {
    undefined[32] = 1;  // the carry
    return;
  }
  const int64_t one = random.below(count);
  if (shape == 1) operand(one)[random.below(width(one))] = 1;
  if (shape == 2) std::memset(operand(one), 1, static_cast<size_t>(width(one)));
  for (int64_t k = 0; shape >= 3 && k < count; ++k) {
    if (shape == 4 && k != one && random.chance(0.5)) continue;
    for (int i = 0; i < width(k); ++i) operand(k)[i] = random.chance(0.3);
  }
}

bool any(const uint8_t* bytes, int count) {
  return std::any_of(bytes, bytes + count, [](uint8_t b) { return b != 0; });
}

/// Bytes of a source that the instruction reads: predicates are bit 0 of a word, 8-bit types the
/// low byte of a register.
int read_bytes(ptx::Type type) { return type == ptx::Type::pred ? 1 : ptx::bytes_of(type); }

/// Whether the result's bits are copies of source bits, so that garbage and its complement show
/// every one of them: nothing else may be marked.
bool moves_bits(const ConformKernel& kernel, const uint8_t* undefined) {
  const auto defined = [&](size_t k) {
    return k >= kernel.sources.size() || !any(undefined + 8 * k, 8);
  };
  switch (ptx::table()[static_cast<size_t>(kernel.instruction.row)].definedness) {
    case DefinednessRule::mov:
    case DefinednessRule::bitwise:
    case DefinednessRule::selp:
      return true;
    case DefinednessRule::shift:
      return defined(1);
    case DefinednessRule::extract:
      return defined(1) && defined(2);
    case DefinednessRule::permute:
    case DefinednessRule::funnel:
      return defined(2);
    case DefinednessRule::insert:
      return defined(2) && defined(3);
    case DefinednessRule::resize:
      return !kernel.instruction.sat;
    default:
      return false;
  }
}

/// The bytes of an answer that may be marked by the row's rule, from the undefined bytes of the
/// operands alone.
Bytes markable(const ConformKernel& kernel, const uint8_t* undefined) {
  Bytes may(kAnswerBytes, 0);
  const ptx::Instruction& i = kernel.instruction;
  const int width = std::max<int>(2, ptx::row_shape(i).d);
  int lowest = 8;
  bool touched = undefined[32] != 0 && (i.op == Op::addc || i.op == Op::subc || i.op == Op::madc);
  for (size_t k = 0; k < kernel.sources.size(); ++k) {
    for (int b = read_bytes(kernel.sources[k]) - 1; b >= 0; --b) {
      if (undefined[8 * k + static_cast<size_t>(b)] == 0) continue;
      touched = true;
      lowest = std::min(lowest, b);
    }
  }
  if (!touched) return may;
  // The predicates' words come from selp: 0 or 1; the carry's from an addc or subc.
  may[8] = may[12] = 1;
  if (i.carry_out) may[9] = may[10] = may[11] = 1;
  const auto element = [&](size_t k, int at, int bytes) {
    return k < kernel.sources.size() && any(undefined + 8 * k + at, bytes);
  };
  switch (ptx::table()[static_cast<size_t>(i.row)].definedness) {
    case DefinednessRule::arithmetic:
      for (int b = lowest; b < width; ++b) may[static_cast<size_t>(b)] = 1;
      break;
    case DefinednessRule::half2:
      for (int b = 0; b < width; ++b) {
        const int half = b / 2 * 2;
        may[static_cast<size_t>(b)] =
            element(0, half, 2) || element(1, half, 2) || element(2, half, 2);
      }
      break;
    case DefinednessRule::pairs: {
      const int from = ptx::bytes_of(kernel.sources[0]) / 2, to = width / 2;
      for (int b = 0; b < width; ++b) may[static_cast<size_t>(b)] = element(0, b / to * from, from);
      break;
    }
    case DefinednessRule::pack2:
      for (int b = 0; b < width; ++b) may[static_cast<size_t>(b)] = element(b < width / 2, 0, 4);
      break;
    default:
      for (int b = 0; b < width; ++b) may[static_cast<size_t>(b)] = 1;
      break;
  }
  return may;
}

/// The first few failures in full; the rest is counted.
class Failures {
 public:
  void add(const std::string& title, const std::string& text) {
    if (++count_[title] == 1 && count_.size() <= 40)
      std::printf("%s: %s\n", title.c_str(), text.c_str());
  }
  size_t spellings() const { return count_.size(); }

 private:
  std::map<std::string, int> count_;
};

void judge_kernel(UndefinedEmulator& emulator, const ConformKernel& kernel, Failures& failures) {
  const auto tuples = conform_tuples(kernel, 4 * kConformThreads, 11);
  Bytes in(kConformThreads * kTupleBytes), undefined(in.size());
  Random random(counter_hash(5, std::hash<std::string>{}(kernel.title)));
  for (int64_t t = 0; t < kConformThreads; ++t) {
    std::memcpy(in.data() + t * kTupleBytes,
                &tuples[static_cast<size_t>(random.below(4 * kConformThreads))], kTupleBytes);
    pick_undefined(random, kernel, undefined.data() + t * kTupleBytes);
  }
  emulator.choose(kernel.entry);
  const Trials trials = try_garbage(emulator, in, undefined, kConformThreads * kAnswerBytes, false);
  if (!trials.fault.empty()) failures.add(kernel.title, trials.fault);
  if (trials.told) return failures.add(kernel.title, "a finding where nothing is judged");
  for (int64_t t = 0; t < kConformThreads; ++t) {
    const uint8_t* bad = undefined.data() + t * kTupleBytes;
    const uint8_t* changed = trials.changed.data() + t * kAnswerBytes;
    const uint8_t* marks = trials.marks.data() + t * kAnswerBytes;
    const Bytes may = markable(kernel, bad);
    for (int b = 0; b < kAnswerBytes; ++b) {
      const bool too_few = changed[b] && !marks[b];
      const bool too_many =
          marks[b] && (!may[static_cast<size_t>(b)] || (moves_bits(kernel, bad) && !changed[b]));
      if (!too_few && !too_many) continue;
      failures.add(kernel.title, std::string(too_few ? "unmarked" : "marked for nothing") +
                                     ": undefined " + hex(bad, kTupleBytes) + ", of " +
                                     hex(in.data() + t * kTupleBytes, kTupleBytes) + ", changed " +
                                     hex(changed, kAnswerBytes) + ", marked " +
                                     hex(marks, kAnswerBytes));
      break;
    }
  }
}

TEST(ConformUndefined, EveryComputingInstructionMarksWhatGarbageChangesAndNoMore) {
  const std::vector<ConformKernel> kernels = conform_kernels({});
  std::vector<const ConformKernel*> all;
  for (const ConformKernel& kernel : kernels) all.push_back(&kernel);
  UndefinedEmulator emulator;
  emulator.load(conform_module(all, 90, 13000));
  Failures failures;
  for (const ConformKernel& kernel : kernels) judge_kernel(emulator, kernel, failures);
  EXPECT_GT(kernels.size(), 4000u);
  EXPECT_EQ(failures.spellings(), 0u);
}

// ---- instructions of memory, warps, copies and matrices ----

/// Where a program reads what decides who takes part (conform_programs_warp.cpp).
bool is_member_mask(const ConformProgram& program, int byte) {
  switch (program.instruction.op) {
    case Op::vote:
    case Op::match:
    case Op::redux:
      return byte >= 16 && byte < 20;
    default:
      return false;
  }
}

/// Whether each byte of the result is a copy of a byte of the input or of none.
bool copies_bytes(const ConformProgram& program) {
  switch (program.instruction.op) {
    case Op::ld:
    case Op::ldu:
    case Op::st:
    case Op::ldmatrix:
    case Op::stmatrix:
    case Op::movmatrix:
      return true;
    case Op::cp:
      return program.title.find("cut") == std::string::npos;
    default:
      return false;
  }
}

/// Undefined bytes: few where lanes work together, so that much of the result stays defined.
Bytes pick_undefined(const ConformProgram& program, Random& random) {
  Bytes undefined(static_cast<size_t>(kConformThreads) * static_cast<size_t>(program.in_bytes));
  const bool together = !copies_bytes(program) && program.instruction.op != Op::atom &&
                        program.instruction.op != Op::red;
  for (int64_t thread = 0; thread < kConformThreads; ++thread) {
    if (together && thread % 32 >= 2) continue;  // two places in each warp
    const int64_t lane = together ? thread / 32 * 32 + random.below(32) : thread;
    const int64_t first = random.below(program.in_bytes), count = random.pick({1, 1, 2, 4, 8});
    for (int64_t b = first; b < std::min<int64_t>(first + count, program.in_bytes); ++b) {
      if (is_member_mask(program, static_cast<int>(b))) continue;
      undefined[static_cast<size_t>(lane * program.in_bytes + b)] = 1;
    }
  }
  return undefined;
}

/// A title without what orders accesses or concerns caches: values go the same way.
std::string without_order(const ConformProgram& program) {
  switch (program.instruction.op) {
    case Op::ld:
    case Op::ldu:
    case Op::st:
    case Op::atom:
    case Op::red:
      break;
    default:
      return program.title;
  }
  static const std::set<std::string> order = {
      "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys",
      "nc",   "ca",       "cg",      "cs",      "lu",      "cv",      "wb",  "wt"};
  std::string kept;
  std::stringstream words(program.title);
  for (std::string word; std::getline(words, word, '.');) {
    if (!order.contains(word) && word.find("::") == std::string::npos) kept += "." + word;
  }
  return kept;
}

/// wmma has a thousand programs that differ in layouts only.
int trials_of(const ConformProgram& program) { return program.instruction.op == Op::wmma ? 1 : 3; }

/// Inputs with undefined bytes, several times. Returns how often runs were compared to their end.
int judge_program(UndefinedEmulator& emulator, const ConformProgram& program, Failures& failures,
                  int64_t& marked) {
  emulator.choose(program.entry);
  Random random(counter_hash(6, std::hash<std::string>{}(program.title)));
  int compared = 0;
  for (int trial = 0; trial < trials_of(program); ++trial) {
    const Bytes in = program.input(kConformThreads / 32, static_cast<uint64_t>(trial));
    const Bytes undefined = pick_undefined(program, random);
    const Trials trials = try_garbage(emulator, in, undefined, kConformThreads * program.out_bytes,
                                      program.reads_parameters);
    if (!trials.fault.empty()) failures.add(program.title, trials.fault);
    if (trials.told || !trials.fault.empty()) continue;
    ++compared;
    for (size_t i = 0; i < trials.marks.size(); ++i) {
      marked += trials.marks[i];
      const bool too_few = trials.changed[i] && !trials.marks[i];
      const bool too_many = copies_bytes(program) && trials.marks[i] && !trials.changed[i];
      if (!too_few && !too_many) continue;
      failures.add(program.title,
                   std::string(too_few ? "unmarked" : "marked for nothing") + ": byte " +
                       std::to_string(i % static_cast<size_t>(program.out_bytes)) + " of thread " +
                       std::to_string(i / static_cast<size_t>(program.out_bytes)));
      break;
    }
  }
  return compared;
}

TEST(ConformUndefined, EveryOtherInstructionMarksWhatGarbageChanges) {
  std::vector<ConformProgram> programs = conform_programs({});
  std::set<std::string> seen;
  std::erase_if(programs, [&](const ConformProgram& program) {
    return !seen.insert(without_order(program)).second;
  });
  std::map<int, std::vector<const ConformProgram*>> by_target;
  for (const ConformProgram& program : programs) by_target[program.target].push_back(&program);
  UndefinedEmulator emulator;
  Failures failures;
  std::map<std::string, int> compared, total;
  std::map<std::string, int64_t> marked;
  for (const auto& [target, some] : by_target) {
    emulator.load(program_module(some, 13000));
    for (const ConformProgram* program : some) {
      const std::string mnemonic = program->title.substr(0, program->title.find_first_of(". "));
      ++total[mnemonic];
      compared[mnemonic] += judge_program(emulator, *program, failures, marked[mnemonic]);
    }
  }
  for (const auto& [mnemonic, count] : total) {
    std::printf("%s: %d programs, %d runs compared, %lld bytes marked\n", mnemonic.c_str(), count,
                compared[mnemonic], static_cast<long long>(marked[mnemonic]));
    EXPECT_GT(compared[mnemonic], 0) << mnemonic;
  }
  EXPECT_EQ(failures.spellings(), 0u);
}

}  // namespace
}  // namespace assay
