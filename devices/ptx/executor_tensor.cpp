// Warp-wide matrix instructions: ldmatrix, stmatrix, movmatrix, mma and wmma (PTX ISA 9.7.14).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Bytes of a row of an 8 x 8 matrix of 16-bit elements.
constexpr int kRowBytes = 16;

/// Where element (row, column) of an 8 x 8 matrix lies in its register row: four neighbouring lanes
/// hold a row, two elements each (PTX ISA 9.7.14.5.15).
int place_of(int row, int column, bool transpose) {
  if (transpose) std::swap(row, column);
  return (row * 4 + column / 2) * 4 + column % 2 * 2;
}

}  // namespace

/// All 32 lanes of the warp take part, at the same instruction (.aligned).
void Executor::tensor(WarpState& warp, std::span<const Participant> all) {
  const MicroOp& op = *all[0].op;
  uint32_t mask = 0;
  bool same = true;
  for (const Participant& p : all) {
    mask |= p.mask;
    same &= p.op == &op;
  }
  const Instruction& ins = *code_->sites[op.site].instruction;
  if (mask != ~0u || !same) {
    Diagnostic* d = report_lanes(
        warp, all[0].group->pc, mask,
        same ? ins.spelling + " needs all 32 lanes of the warp, executed by " + lanes_text(mask) +
                   ": the others have exited, or the block has none"
             : ins.spelling + " executed by lanes that are at different instructions");
    if (d != nullptr) {
      for (const Participant& p : all) {
        d->steps.push_back(step_of(warp, p.group->pc, p.mask, "executes"));
      }
    }
    throw Stop{RunStatus::fault};
  }
  if (counting_ && op.result == ResultFormat::none) note_access(op, mask, mask);
  switch (ins.op) {
    case Op::ldmatrix:
      return load_matrices(op, ins);
    case Op::stmatrix:
      return store_matrices(op, ins);
    case Op::movmatrix:
      return move_matrix(op);
    case Op::mma:
      return matrix_product(op, ins);
    default:
      break;
  }
  if (ins.wmma == Wmma::mma) return matrix_product(op, ins);
  transfer_fragment(warp, op, ins);
}

// ---- 8 x 8 matrices of 16-bit elements ----

void Executor::set_register_row(const FragmentRows& registers, size_t k, const uint8_t* bytes,
                                const uint8_t* undefined) {
  std::memcpy(frame_row(registers.rows[k]), bytes, 4 * kLanes);
  warp_->flags[registers.flags[k]] = 0;
  if (!shadow_ || undefined == nullptr || !options_.definedness) return;
  if (!kit_.any_bit(undefined, 4 * kLanes, 0xff)) return;
  std::memcpy(undefined_row(registers.flags[k], registers.rows[k], 4), undefined, 4 * kLanes);
}

/// The trails of a register's undefined lanes; `trail_of_part(lane, byte)`: of its lowest such
/// byte.
template <class F>
void Executor::set_row_trails(const FragmentRows& registers, size_t k, F trail_of_part) {
  const uint32_t flag = registers.flags[k];
  if ((warp_->flags[flag] & kMaybeUndefined) == 0) return;
  const uint8_t* undefined = warp_->undefined + registers.rows[k];
  for (int lane = 0; lane < kLanes; ++lane) {
    int byte = 0;
    while (byte < 4 && undefined[4 * lane + byte] == 0) ++byte;
    if (byte < 4) trail_at(flag, lane) = trail_of_part(lane, byte);
  }
}

/// Lanes 8 i to 8 i + 7 hold the addresses of the rows of matrix i. Rows that do not all lie in
/// shared memory are told of lane by lane, when they are accessed.
Space Executor::find_matrix_rows(const MicroOp& op, int count, Access access) {
  const uint32_t mask = count == 4 ? ~0u : (1u << 8 * count) - 1;
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  Space space;
  if (split_spaces(op, mask, space) != mask) space = Space::global;
  observe_access(op, mask, space, access, kRowBytes);
  return space;
}

void Executor::load_matrices(const MicroOp& op, const Instruction& ins) {
  const FragmentRows& registers = code_->fragments[op.target];
  const int count = ins.vector;
  const Space space = find_matrix_rows(op, count, Access::read);
  alignas(32) uint8_t values[4][4 * kLanes];
  alignas(32) uint8_t undefined[4][4 * kLanes];
  bool dirty[4] = {};
  for (int matrix = 0; matrix < count; ++matrix) {
    for (int r = 0; r < 8; ++r) {
      const int lane = 8 * matrix + r;
      const Target from = locate(op, space, lane, address_[lane], kRowBytes, false);
      for (int c = 0; c < 8; ++c) {
        const int at = place_of(r, c, ins.transpose);
        std::memcpy(values[matrix] + at, from.data + 2 * c, 2);
        for (int i = 0; i < 2; ++i) {
          const bool bad = (from.state[2 * c + i] & kUndefined) != 0;
          undefined[matrix][at + i] = bad ? 0xff : 0;
          dirty[matrix] |= bad;
        }
      }
    }
  }
  for (int matrix = 0; matrix < count; ++matrix) {
    set_register_row(registers, matrix, values[matrix],
                     dirty[matrix] ? undefined[matrix] : nullptr);
    if (!dirty[matrix]) continue;
    set_row_trails(registers, matrix, [&](int lane, int byte) {
      // The inverse of place_of.
      int r = lane / 4, c = lane % 4 * 2 + byte / 2;
      if (ins.transpose) std::swap(r, c);
      const int reader = 8 * matrix + r;
      return trail_in_memory(op.site, space, reader,
                             address_[reader] + static_cast<uint64_t>(2 * c + byte % 2));
    });
  }
}

/// Stores bytes of one lane; `undefined` (not 0 for an undefined byte) may be null, then `trail`
/// is not asked. It says where byte i comes from.
template <class F>
void Executor::store_bytes(const MicroOp& op, Space space, int lane, uint64_t address, int bytes,
                           const uint8_t* from, const uint8_t* undefined, F trail) {
  const Target to = locate(op, space, lane, address, bytes, true);
  if (to.page != nullptr) {
    stray_write(op, lane, address, bytes);
    to.page->written = true;
  }
  stillness_.disturb();
  std::memcpy(to.data, from, bytes);
  std::memset(to.state, kWritten, bytes);
  for (int i = 0; undefined != nullptr && i < bytes; ++i) {
    if (undefined[i] == 0) continue;
    to.state[i] |= kUndefined;
    undefined_stored(op, space, lane, to.page, address + static_cast<uint64_t>(i), 1, trail(i));
  }
  auto& deltas = warp_->block->shared_deltas;
  for (int i = 0; space == Space::shared && !deltas.empty() && i < bytes; i += 4) {
    deltas.erase(static_cast<uint32_t>(address + i) & ~3u);
  }
}

void Executor::store_matrices(const MicroOp& op, const Instruction& ins) {
  const FragmentRows& registers = code_->fragments[op.target];
  const int count = ins.vector;
  const Space space = find_matrix_rows(op, count, Access::write);
  for (int matrix = 0; matrix < count; ++matrix) {
    const uint8_t* from = row(registers.rows[matrix]);
    const uint8_t* undefined = undefined_source(registers.flags[matrix], registers.rows[matrix]);
    for (int r = 0; r < 8; ++r) {
      uint8_t bytes[kRowBytes], bad[kRowBytes];
      for (int c = 0; c < 8; ++c) {
        const int at = place_of(r, c, ins.transpose);
        std::memcpy(bytes + 2 * c, from + at, 2);
        std::memcpy(bad + 2 * c, undefined + at, 2);
      }
      const int lane = 8 * matrix + r;
      store_bytes(op, space, lane, address_[lane], kRowBytes, bytes, bad, [&](int i) {
        const int at = place_of(r, i / 2, ins.transpose);
        return trail_through(op, registers.flags[matrix], at / 4);
      });
    }
  }
}

void Executor::move_matrix(const MicroOp& op) {
  const FragmentRows& registers = code_->fragments[op.target];
  const uint8_t* from = row(registers.rows[1]);
  const uint8_t* bad = undefined_source(registers.flags[1], registers.rows[1]);
  alignas(32) uint8_t values[4 * kLanes], undefined[4 * kLanes];
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) {
      std::memcpy(values + place_of(c, r, false), from + place_of(r, c, false), 2);
      std::memcpy(undefined + place_of(c, r, false), bad + place_of(r, c, false), 2);
    }
  }
  TrailRow trails;
  const uint32_t dirty = undefined_lanes(registers.flags[1], registers.rows[1], 4, ~0u);
  for (uint32_t left = dirty; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    trails[static_cast<size_t>(lane)] = trail_through(op, registers.flags[1], lane);
  }
  set_register_row(registers, 0, values, undefined);
  set_row_trails(registers, 0, [&](int lane, int byte) {
    return trails[static_cast<size_t>(place_of(lane % 4 * 2 + byte / 2, lane / 4, false) / 4)];
  });
}

// ---- fragments ----

const Fragment& Executor::fragment(const Instruction& ins, Matrix matrix) {
  const uint64_t variant = ins.op == Op::wmma ? config_->warp_seed % kWmmaLayouts : 0;
  const uint64_t key =
      static_cast<uint64_t>(ins.op == Op::wmma) | variant << 1 |
      static_cast<uint64_t>(matrix) << 8 | static_cast<uint64_t>(element_type(ins, matrix)) << 16 |
      uint64_t{ins.shape.m} << 24 | uint64_t{ins.shape.n} << 32 | uint64_t{ins.shape.k} << 40;
  const auto [found, added] = fragments_.try_emplace(key);
  if (added) found->second = make_fragment(ins, matrix, variant);
  return found->second;
}

namespace {

/// The elements of one register of all lanes, each by `value` of its bits.
template <class Bits, class F>
void gather_register(const uint8_t* from, const uint16_t* element, Elements& values, F value) {
  for (size_t i = 0; i < kLanes * 4 / sizeof(Bits); ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof(Bits));
    values[element[i]] = value(bits);
  }
}

void gather_register(Type type, int parts, const uint8_t* from, const uint16_t* element,
                     Elements& values) {
  const auto any = [type](uint32_t bits) { return element_value(type, bits); };
  // Of the usual types without a call: numbers of f16 that are normal, and all of bf16.
  const auto half = [](uint16_t bits) -> double {
    const bool normal = (bits & 0x7c00u) - 0x400u < 0x7800u;
    if (!normal) return element_value(Type::f16, bits);
    return std::bit_cast<float>((bits & 0x8000u) << 16 | ((bits & 0x7fffu) + (112u << 10)) << 13);
  };
  const auto bfloat = [](uint16_t bits) -> double {
    return std::bit_cast<float>(uint32_t{bits} << 16);
  };
  if (type == Type::f16 && parts == 2)
    return gather_register<uint16_t>(from, element, values, half);
  if (type == Type::bf16 && parts == 2)
    return gather_register<uint16_t>(from, element, values, bfloat);
  if (parts == 1) return gather_register<uint32_t>(from, element, values, any);
  if (parts == 2) return gather_register<uint16_t>(from, element, values, any);
  return gather_register<uint8_t>(from, element, values, any);
}

}  // namespace

/// Reads a fragment from the register rows [first, first + registers) of a site. Returns whether
/// any element is undefined; then `undefined` says which.
bool Executor::gather(const FragmentRows& registers, size_t first, const Fragment& f,
                      Elements& values, UndefinedElements& undefined) {
  const int in_register = kLanes * f.parts;
  bool dirty = false;
  for (int reg = 0; reg < f.registers; ++reg) {
    const uint8_t* from = row(registers.rows[first + reg]);
    const uint16_t* element = f.element.data() + reg * in_register;
    gather_register(f.type, f.parts, from, element, values);
    dirty |= shadow_ && (warp_->flags[registers.flags[first + reg]] & kMaybeUndefined) != 0;
  }
  if (!dirty) return false;
  undefined.fill(0);
  for (int reg = 0; reg < f.registers; ++reg) {
    const uint8_t* bad =
        undefined_source(registers.flags[first + reg], registers.rows[first + reg]);
    const uint16_t* element = f.element.data() + reg * in_register;
    note_undefined(bad, first + reg, f.parts, element, undefined);
  }
  return true;
}

/// Elements of register `k` that have an undefined bit.
void Executor::note_undefined(const uint8_t* bad, size_t k, int parts, const uint16_t* element,
                              UndefinedElements& undefined) const {
  const int bytes = 4 / parts;
  for (int i = 0; i < kLanes * parts; ++i) {
    for (int b = 0; b < bytes; ++b) {
      if (bad[i * bytes + b] == 0) continue;
      undefined[element[i]] =
          static_cast<uint16_t>(1 + kLanes * k + static_cast<size_t>(i / parts));
    }
  }
}

/// Where an element comes from that lies in a register.
Trail Executor::element_trail(const MicroOp& op, const FragmentRows& registers, uint16_t where) {
  const size_t at = where - 1u;
  return trail_through(op, registers.flags[at / kLanes], static_cast<int>(at % kLanes));
}

/// Writes a fragment's registers; `undefined` may be null.
void Executor::scatter(const FragmentRows& registers, size_t first, const Fragment& f,
                       const uint32_t* bits, const UndefinedElements* undefined) {
  const int bytes = 4 / f.parts;
  const int in_register = kLanes * f.parts;
  alignas(32) uint8_t values[4 * kLanes], bad[4 * kLanes];
  for (int reg = 0; reg < f.registers; ++reg) {
    const uint16_t* element = f.element.data() + reg * in_register;
    for (int i = 0; i < in_register; ++i) {
      std::memcpy(values + i * bytes, &bits[element[i]], bytes);
      const bool is_bad = undefined != nullptr && (*undefined)[element[i]] != 0;
      if (undefined != nullptr) std::memset(bad + i * bytes, is_bad ? 0xff : 0, bytes);
    }
    set_register_row(registers, first + reg, values, undefined != nullptr ? bad : nullptr);
  }
}

/// Trails of a fragment's registers; `trail`: of an element.
template <class F>
void Executor::set_fragment_trails(const FragmentRows& registers, size_t first, const Fragment& f,
                                   F trail) {
  const int bytes = 4 / f.parts;
  for (int reg = 0; reg < f.registers; ++reg) {
    const uint16_t* element = f.element.data() + reg * kLanes * f.parts;
    set_row_trails(registers, first + static_cast<size_t>(reg), [&](int lane, int byte) {
      return trail(element[lane * f.parts + byte / bytes]);
    });
  }
}

/// d = a * b + c. An undefined element of a spoils its row of d, one of b its column; of integers
/// a defined zero is a factor that hides the other one. (0 * NaN is none: floating point has no
/// such zero.)
void Executor::matrix_product(const MicroOp& op, const Instruction& ins) {
  const FragmentRows& registers = code_->fragments[op.target];
  const Fragment& fa = fragment(ins, Matrix::a);
  const Fragment& fb = fragment(ins, Matrix::b);
  const Fragment& fc = fragment(ins, Matrix::c);
  const Fragment& fd = fragment(ins, Matrix::d);
  const size_t at_a = static_cast<size_t>(fd.registers);
  const size_t at_b = at_a + static_cast<size_t>(fa.registers);
  const size_t at_c = at_b + static_cast<size_t>(fb.registers);
  Elements a, b, c, d;
  UndefinedElements ua, ub, uc, ud;
  const bool dirty_a = gather(registers, at_a, fa, a, ua);
  const bool dirty_b = gather(registers, at_b, fb, b, ub);
  const bool dirty_c = gather(registers, at_c, fc, c, uc);
  if (ins.type == Type::s32) {
    multiply_integers(ins.shape, ins.satfinite, a, b, c, d);
  } else {
    multiply(ins.shape, ins.type, a, b, c, d, config_->mma_errors);
  }
  const auto finite = [](const Elements& elements, const Fragment& f) {
    return std::all_of(elements.begin(), elements.begin() + f.elements(),
                       [](auto x) { return std::isfinite(static_cast<double>(x)); });
  };
  const bool ordinary =
      traced() && finite(a, fa) && finite(b, fb) && finite(c, fc);
  const bool dirty = dirty_a || dirty_b || dirty_c;
  const bool zero_hides = ins.type == Type::s32;
  if (!dirty_a) ua.fill(0);
  if (!dirty_b) ub.fill(0);
  for (int i = 0; dirty && i < fd.rows; ++i) {
    for (int j = 0; j < fd.columns; ++j) {
      uint16_t bad = dirty_c ? uc[i * fd.columns + j] : 0;
      for (int l = 0; bad == 0 && l < fa.columns; ++l) {
        const int at_x = i * fa.columns + l, at_y = l * fb.columns + j;
        const uint16_t x = ua[at_x], y = ub[at_y];
        if (x != 0 && !(zero_hides && y == 0 && b[static_cast<size_t>(at_y)] == 0)) bad = x;
        if (y != 0 && !(zero_hides && x == 0 && a[static_cast<size_t>(at_x)] == 0)) bad = y;
      }
      ud[i * fd.columns + j] = bad;
    }
  }
  // Before the result's registers are written, which may be those of c.
  std::vector<Trail> trails(dirty ? fd.elements() : 0);
  for (size_t i = 0; i < trails.size(); ++i) {
    if (ud[i] != 0) trails[i] = element_trail(op, registers, ud[i]);
  }
  uint32_t bits[kMaxElements];
  for (int i = 0; i < fd.elements(); ++i) bits[i] = element_bits(ins.type, d[i]);
  scatter(registers, 0, fd, bits, dirty ? &ud : nullptr);
  if (traced()) trace_product(op, ins, ordinary);
  if (dirty) set_fragment_trails(registers, 0, fd, [&](int element) { return trails[element]; });
  if (!looking_ || op.result == ResultFormat::none) return;
  for (size_t k = 0; k < registers.results; ++k) note_result(op, frame_row(registers.rows[k]), ~0u);
}

/// wmma.load and wmma.store: a matrix in memory with a stride between its rows or columns. The
/// address and the stride are the same in all lanes (PTX ISA 9.7.14.4.3); the first lane's serve.
void Executor::transfer_fragment(WarpState&, const MicroOp& op, const Instruction& ins) {
  const FragmentRows& registers = code_->fragments[op.target];
  const Fragment& f = fragment(ins, ins.matrix);
  const int bytes = 4 / f.parts;
  const bool by_rows = ins.a_layout == Layout::row;
  const int lines = by_rows ? f.rows : f.columns, along = by_rows ? f.columns : f.rows;
  const bool stores = ins.wmma == Wmma::store;
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, 1);
  const uint64_t stride = op.b == kNoSlot ? static_cast<uint64_t>(along)
                                          : *reinterpret_cast<const uint32_t*>(row(op.b));
  if (shadow_ && op.b != kNoSlot) check_operand(op, op.fb, op.b, 4, 1, "stride");
  Space space;
  split_spaces(op, 1, space);
  const uint64_t base = address_[0];
  uint32_t bits[kMaxElements] = {};
  UndefinedElements undefined{};
  if (stores) fragment_bits(registers, f, bits, undefined);
  bool dirty = false;
  for (int line = 0; line < lines; ++line) {
    const uint64_t start = base + stride * static_cast<uint64_t>(line * bytes);
    address_[0] = start;
    observe_access(op, 1, space, stores ? Access::write : Access::read, along * bytes);
    // Each row or column starts at a multiple of its fragment's bytes; the CUDA guide's weaker rule
    // for strides is asked for.
    const int needed = std::min(16, 4 * f.registers);
    if ((start & static_cast<uint64_t>(needed - 1)) != 0) {
      misaligned(op, space, 0, start, needed);
    }
    for (int i = 0; i < along; ++i) {
      const int element = by_rows ? line * f.columns + i : i * f.columns + line;
      const uint64_t address = start + static_cast<uint64_t>(i * bytes);
      if (stores) {
        uint8_t value[4], bad[4];
        std::memcpy(value, &bits[element], 4);
        std::memset(bad, undefined[element] != 0, 4);
        store_bytes(op, space, 0, address, bytes, value, bad,
                    [&](int) { return element_trail(op, registers, undefined[element]); });
        continue;
      }
      const Target from = locate(op, space, 0, address, bytes, false);
      std::memcpy(&bits[element], from.data, bytes);
      for (int b = 0; b < bytes; ++b) {
        if ((from.state[b] & kUndefined) != 0) undefined[element] = 1;
      }
      dirty |= undefined[element] != 0;
    }
  }
  if (stores) return;
  scatter(registers, 0, f, bits, dirty ? &undefined : nullptr);
  if (!dirty) return;
  set_fragment_trails(registers, 0, f, [&](int element) {
    const int line = by_rows ? element / f.columns : element % f.columns;
    const int in_line = by_rows ? element % f.columns : element / f.columns;
    const uint64_t at = stride * static_cast<uint64_t>(line) + static_cast<uint64_t>(in_line);
    return trail_in_memory(op.site, space, 0, base + at * static_cast<uint64_t>(bytes));
  });
}

/// The bits of a fragment's elements as they stand in its registers.
void Executor::fragment_bits(const FragmentRows& registers, const Fragment& f, uint32_t* bits,
                             UndefinedElements& undefined) {
  const int bytes = 4 / f.parts;
  const int in_register = kLanes * f.parts;
  for (int reg = 0; reg < f.registers; ++reg) {
    const uint8_t* from = row(registers.rows[reg]);
    const uint8_t* bad = undefined_source(registers.flags[reg], registers.rows[reg]);
    const uint16_t* element = f.element.data() + reg * in_register;
    for (int i = 0; i < in_register; ++i) {
      std::memcpy(&bits[element[i]], from + i * bytes, bytes);
    }
    note_undefined(bad, static_cast<size_t>(reg), f.parts, element, undefined);
  }
}

}  // namespace assay::ptx
