// A decoded PTX module: what the decoder makes and the emulator runs. Plain data.
//
// PTX ISA 9.0 (CUDA 13.0) is the reference for every name here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::ptx {

/// Mnemonics. One row group of the instruction table each (devices/ptx/table.cpp).
enum class Op : uint16_t {
  // data movement
  mov,
  cvta,
  selp,
  prmt,
  ld,
  ldu,
  st,
  atom,
  red,
  prefetch,
  createpolicy,
  isspacep,
  // integer and bits
  add,
  addc,
  sub,
  subc,
  mul,
  mad,
  madc,
  mul24,
  mad24,
  div,
  rem,
  abs,
  neg,
  min,
  max,
  sad,
  dp4a,
  dp2a,
  and_,
  or_,
  xor_,
  not_,
  cnot,
  lop3,
  shl,
  shr,
  shf,
  bfe,
  bfi,
  bfind,
  brev,
  clz,
  popc,
  fns,
  szext,
  bmsk,
  // floating point
  fma,
  rcp,
  sqrt,
  rsqrt,
  sin,
  cos,
  lg2,
  ex2,
  tanh,
  testp,
  copysign,
  // comparison and conversion
  setp,
  set,
  slct,
  cvt,
  // control
  bra,
  brx,
  call,
  ret,
  exit,
  trap,
  brkpt,
  nanosleep,
  // synchronisation and warps
  bar,
  barrier,
  membar,
  fence,
  shfl,
  vote,
  match,
  redux,
  activemask,
  elect,
  griddepcontrol,
  // tensor cores and asynchronous copies
  mma,
  wmma,
  ldmatrix,
  stmatrix,
  movmatrix,
  cp,
  mbarrier,
  // decoded by name only, for a clear "unsupported"
  wgmma,
  tensormap,
  setmaxnreg,
  applypriority,
  discard,
  tex,
  suld,
  sust,
  getctarank,
  mapa,
  multimem,
  cp_async_other,
  tcgen05,
  unknown,
};

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
};
int bytes_of(Type type);  ///< 0 for none and pred
/// The integer type of twice the width, as .wide results have; none for types without one.
Type twice_as_wide(Type type);

enum class Rounding : uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };
enum class Compare : uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan,
};
enum class BoolOp : uint8_t { none, and_, or_, xor_ };
enum class Space : uint8_t { generic, global, shared, local, param, const_ };
enum class Half : uint8_t { none, lo, hi, wide };
enum class Shuffle : uint8_t { none, up, down, bfly, idx };
enum class Vote : uint8_t { none, all, any, uni, ballot };
enum class Atom : uint8_t { none, add, and_, or_, xor_, exch, cas, inc, dec, min, max };
enum class Order : uint8_t { weak, volatile_, relaxed, acquire, release, acq_rel, sc };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };
/// bar/barrier: sync, arrive, red; shf: l, r; prmt modes; testp kinds; match any/all by `vote`.
enum class BarKind : uint8_t { none, sync, arrive, red_popc, red_and, red_or, warp_sync };
enum class PrmtMode : uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class Testp : uint8_t { none, finite, infinite, number, notanumber, normal, subnormal };

/// m x n x k of a matrix instruction; zeros: not one.
struct Shape {
  uint8_t m = 0, n = 0, k = 0;
  bool operator==(const Shape&) const = default;
};
enum class Layout : uint8_t { none, row, col };
/// The matrix that wmma.load or wmma.store names, or a fragment of d = a * b + c.
enum class Matrix : uint8_t { none, a, b, c, d };
enum class Wmma : uint8_t { none, load, mma, store };
/// What a cp.async or mbarrier instruction does.
enum class Async : uint8_t {
  none,
  copy,
  commit_group,
  wait_group,
  wait_all,
  arrive_after_copies,  ///< cp.async.mbarrier.arrive
  init,
  inval,
  arrive,
  arrive_drop,
  test_wait,
  try_wait,
  pending_count,
};

/// Special registers.
enum class Special : uint8_t {
  none,
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clock,
  clock64,
  globaltimer,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  dynamic_smem_size,
  total_smem_size,
  clusterid_x,
  nclusterid_x,
  cluster_ctaid_x,
  cluster_nctaid_x,
  cluster_ctarank,
};

/// A virtual register of a function. Registers of every class share one index space.
struct Register {
  std::string name;  ///< "%r12"
  Type type;         ///< declared type; its width is what counts
};

struct Value {
  enum class Kind : uint8_t {
    none,
    reg,        ///< `index` in Function::registers
    immediate,  ///< `bits` (of the instruction's type; floats already in that format)
    special,    ///< `special`
    symbol,     ///< address of a variable: `index` in Module::variables or Function::variables by
                ///< `space`, plus `offset`; as an operand of mov or cvta
    param,     ///< this function's own parameter `index` (Function::params), plus byte `offset`: in
               ///< [ ] of ld.param, or (mov, cvta) the address itself
    address,   ///< [reg + offset]: `index`, `offset`
    absolute,  ///< [immediate]: `bits`
    symbol_address,  ///< [symbol + offset]
    function,        ///< `index` in Module::functions; a callee's address
    sink,            ///< `_`
    result,  ///< this function's own result `index` (Function::results), plus byte `offset`: in
             ///< [ ] of st.param. (A .param variable of a body, as calls use, is a symbol_address
             ///< in [ ] and a symbol in a call's lists, with local_symbol.)
  };
  Kind kind = Kind::none;
  bool negated = false;  ///< `!%p`
  Special special = Special::none;
  bool local_symbol = false;  ///< symbol: of the function rather than the module
  int32_t index = -1;
  int64_t offset = 0;
  uint64_t bits = 0;
};

/// Line of the source text that an instruction came from.
struct SourceLine {
  int file = 0;  ///< key of Module::files; 0: not known
  int line = 0;
  int column = 0;
  int inlined_at = -1;  ///< index in Function::lines of the call site, -1: none
};

/// One decoded instruction. `dst` and `src` hold vector elements in a row: a v4 load has four
/// `dst`, a v4 store four values in `src` after the address. Order in `src` is that of the text;
/// for ld: src[0] is the address; st, atom, red: src[0] the address, then values. call: `dst` the
/// result's .param variable, `src` the arguments (after the callee's register in src[0] where
/// `indirect`). mov packs: several `src`, one `dst`; unpacks: one `src`, several `dst`. An optional
/// operand that is absent is not in the row (bar.sync a: one src; bar.sync a, b: two).
struct Instruction {
  Op op = Op::unknown;
  Type type = Type::none;  ///< the last type suffix that names the operation's type (result of cvt)
  Type source_type = Type::none;  ///< cvt, set, slct, wide forms of dp4a: the second type suffix
  Rounding rounding = Rounding::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;
  Space space = Space::generic;
  Half half = Half::none;  ///< mul, mad: lo hi wide; mul24
  Shuffle shuffle = Shuffle::none;
  Vote vote = Vote::none;
  Atom atom = Atom::none;  ///< operation of atom, red and redux
  Order order = Order::weak;
  Scope scope = Scope::none;
  BarKind bar = BarKind::none;
  PrmtMode prmt = PrmtMode::none;
  Testp testp = Testp::none;
  bool ftz = false, sat = false, satfinite = false, relu = false, approx = false, full = false;
  bool carry_out = false;  ///< .cc
  bool nan = false;        ///< .NaN
  bool xorsign_abs = false;
  bool uniform = false;       ///< .uni
  bool to_space = false;      ///< cvta.to
  bool shift_amount = false;  ///< bfind.shiftamt
  bool wrap_shift = false;    ///< shf.wrap (else .clamp)
  bool shift_left = false;    ///< shf.l
  bool aligned = false;       ///< .aligned
  bool non_coherent = false;  ///< ld.global.nc
  bool noftz = false;
  Shape shape;                     ///< mma, wmma
  Layout a_layout = Layout::none;  ///< mma, wmma.mma; of wmma.load and .store: the matrix'
  Layout b_layout = Layout::none;  ///< mma, wmma.mma
  Matrix matrix = Matrix::none;    ///< wmma.load, wmma.store
  Wmma wmma = Wmma::none;
  Type b_type = Type::none;   ///< mma, wmma.mma: of b (of a: source_type; of d: type)
  Type c_type = Type::none;   ///< mma, wmma.mma: of c
  bool transpose = false;     ///< ldmatrix, stmatrix: .trans
  Async async = Async::none;  ///< cp, mbarrier
  bool parity = false;        ///< mbarrier.test_wait.parity
  bool no_increment = false;  ///< cp.async.mbarrier.arrive.noinc
  bool no_complete = false;   ///< mbarrier.arrive.noComplete
  uint8_t vector = 1;         ///< 1, 2, 4 (8 for sm_100); ldmatrix, stmatrix: matrices
  int32_t guard = -1;         ///< predicate register index; -1: unconditional
  bool guard_negated = false;
  std::vector<Value> dst;
  std::vector<Value> src;
  int32_t predicate_out = -1;     ///< shfl's and setp's second destination `%r|%p`
  int32_t cache_policy = -1;      ///< register of an L2::cache_hint operand; not in `src`
  bool has_predicate_in = false;  ///< setp with bool_op: the last src is the combining predicate
  int32_t target = -1;  ///< bra: basic block; call: function index (-1: indirect or builtin)
  std::vector<int32_t> targets;  ///< brx.idx: basic blocks
  bool indirect = false;         ///< call through a register
  std::string callee;    ///< call: name ("vprintf", "__assertfail", a function of the module)
  int32_t line = -1;     ///< index in Function::lines; -1: none
  int32_t ptx_line = 0;  ///< line of the PTX text, from 1
  int32_t row = -1;      ///< row of the instruction table
  std::string spelling;  ///< "add.rn.f32", as written, for messages
};

struct BasicBlock {
  int32_t first = 0;                          ///< index of the first instruction in Function::code
  int32_t last = 0;                           ///< one past the last
  std::array<int32_t, 2> successors{-1, -1};  ///< fall-through, taken (brx: see targets)
  int32_t order = 0;                          ///< position in reverse post-order
  bool back_edge = false;  ///< ends with a branch to a block of lower or equal order
  int32_t first_edge = 0;  ///< number of its first edge out among the function's
};

/// A variable in shared, global, const or local memory, or a call's .param space.
struct Variable {
  std::string name;
  Space space = Space::global;
  int64_t bytes = 0;  ///< 0 for an .extern unsized array (dynamic shared memory)
  int64_t align = 1;
  bool is_extern = false;
  std::vector<uint8_t> initial;  ///< may be shorter than `bytes`: zeros follow
  /// Byte offset -> name of the variable or function whose address goes there, 8 bytes; what stands
  /// in `initial` at that offset is to be added to it.
  std::vector<std::pair<int64_t, std::string>> pointers;
};

/// Of an entry (PTX ISA, section 5.1.6: sm_70 and later).
inline constexpr int64_t kMostParameterBytes = 32764;

struct Parameter {
  std::string name;
  Type type = Type::none;  ///< b8 for arrays
  int64_t bytes = 0;
  int64_t align = 1;
  int64_t offset = 0;  ///< byte offset in the parameter space
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_noreturn = false;
  bool is_declaration = false;  ///< body elsewhere (vprintf, __assertfail, malloc, free)
  std::vector<Parameter> params;
  std::vector<Parameter> results;
  std::vector<Register> registers;  ///< those that the code names, in the order of first mention
  std::vector<Variable>
      variables;  ///< local, shared and .param variables of the body, by declaration
  std::vector<Instruction> code;
  std::vector<BasicBlock> blocks;
  std::vector<SourceLine> lines;
  std::array<int32_t, 3> required_block{};  ///< .reqntid; 0: not stated
  std::array<int32_t, 3> max_block{};       ///< .maxntid; 0: not stated
  // Numbers among all of the module (counters.hpp): of this function's block 0, its entry, its first
  // memory and its first floating instruction, its first comparison.
  int32_t first_block_id = 0;
  int32_t first_edge_id = 0;
  int32_t first_access_id = 0;
  int32_t first_result_id = 0;
  int32_t first_compare_id = 0;
};

struct Module {
  std::string target;  ///< "sm_80"
  int address_size = 64;
  std::map<int, std::string> files;  ///< .file table
  std::vector<Variable> variables;   ///< module scope
  std::vector<Function> functions;
  int32_t block_count = 0;   ///< basic blocks of all functions
  int32_t edge_count = 0;    ///< ways into blocks: entries, and from block to block
  int32_t access_count = 0;  ///< memory instructions of all functions
  int32_t result_count = 0;  ///< floating instructions of all functions
  int32_t compare_count = 0;  ///< comparisons of all functions
  std::shared_ptr<const std::vector<int64_t>> constants;  ///< notable_constants of counters.hpp
  std::string digest;        ///< 16 hex digits over what is decoded; debug text does not count
  /// Instructions that the table does not support: "line 12: mma.sync...". The module decodes; to
  /// run a function that holds one is `unsupported`.
  std::vector<std::string> unsupported;

  const Function* find(const std::string& name) const;
};

/// Decodes PTX text. Throws InputError "file:line:column: ..." for text that is not PTX; an
/// instruction that is PTX but not in the table is listed in `unsupported` (Op::unknown or its own
/// Op, row -1).
Module decode(const std::string& text, const std::string& file);

/// Whether a spelling ("add.rn.f32") is in the instruction table, and why not when it is not.
struct SpellingCheck {
  bool supported = false;
  std::string reason;  ///< "tensor core", "unknown modifier .foo", ...
};
SpellingCheck check_spelling(const std::string& spelling);

}  // namespace assay::ptx
