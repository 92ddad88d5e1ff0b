#include "devices/ptx/semantics.hpp"

#include "devices/ptx/semantics_form.hpp"
#include "devices/ptx/semantics_fp8.hpp"

namespace assay::ptx {
namespace {

bool is_integer(Type type) {
  switch (type) {
    case Type::b16:
    case Type::b32:
    case Type::b64:
    case Type::u8:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s8:
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return true;
    default:
      return false;
  }
}
bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

/// Sources that are rows or predicates; an immediate counts as a row.
bool has_two_sources(const Instruction& instruction) { return instruction.src.size() == 2; }

Form form_of(const Instruction& i, ApproxMode mode) {
  Form form;
  form.op = i.op;
  form.type = i.type;
  form.source_type = i.source_type == Type::none ? i.type : i.source_type;
  form.rounding = i.rounding;
  form.compare = i.compare;
  form.bool_op = i.bool_op;
  form.half = i.half;
  form.prmt = i.prmt;
  form.testp = i.testp;
  form.mode = mode;
  form.ftz = i.ftz;
  form.sat = i.sat;
  form.satfinite = i.satfinite;
  form.relu = i.relu;
  form.approx = i.approx;
  form.full = i.full;
  form.carry_out = i.carry_out;
  form.nan = i.nan;
  form.xorsign_abs = i.xorsign_abs;
  form.shift_amount = i.shift_amount;
  form.wrap_shift = i.wrap_shift;
  form.shift_left = i.shift_left;
  form.two_sources = has_two_sources(i);
  return form;
}

struct Families {
  RowFunction (*integer)(const Form&);
  RowFunction (*multiply)(const Form&);
  RowFunction (*bits)(const Form&);
  RowFunction (*floats)(const Form&);
  RowFunction (*half)(const Form&);
  RowFunction (*approximate)(const Form&);
  RowFunction (*compare)(const Form&);
  RowFunction (*convert)(const Form&);
};
constexpr Families kGeneric = {rows_generic::integer_row, rows_generic::multiply_row,
                               rows_generic::bits_row,    rows_generic::float_row,
                               rows_generic::half_row,    rows_generic::approximate_row,
                               rows_generic::compare_row, rows_generic::convert_row};
constexpr Families kAvx2 = {rows_avx2::integer_row, rows_avx2::multiply_row,
                            rows_avx2::bits_row,    rows_avx2::float_row,
                            rows_avx2::half_row,    rows_avx2::approximate_row,
                            rows_avx2::compare_row, rows_avx2::convert_row};

RowFunction arithmetic(const Form& form, const Families& families) {
  if (is_integer(form.type)) return families.integer(form);
  return is_half(form.type) ? families.half(form) : families.floats(form);
}

RowFunction choose(const Form& form, const Families& families) {
  switch (form.op) {
    case Op::add:
    case Op::addc:
    case Op::sub:
    case Op::subc:
    case Op::rem:
    case Op::abs:
    case Op::neg:
    case Op::min:
    case Op::max:
    case Op::sad:
    case Op::fma:
    case Op::testp:
    case Op::copysign:
      return arithmetic(form, families);
    case Op::mul:
    case Op::mad:
    case Op::madc:
    case Op::mul24:
    case Op::mad24:
    case Op::dp4a:
    case Op::dp2a:
      return is_integer(form.type) ? families.multiply(form) : arithmetic(form, families);
    case Op::div:
    case Op::rcp:
    case Op::sqrt:
      return form.approx || form.full ? families.approximate(form) : arithmetic(form, families);
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::lg2:
    case Op::ex2:
    case Op::tanh:
      return families.approximate(form);
    case Op::setp:
    case Op::set:
      return families.compare(form);
    case Op::cvt:
      if (const RowFunction fp8 = fp8_row(form)) return fp8;
      return families.convert(form);
    case Op::mov:
    case Op::selp:
    case Op::slct:
    case Op::prmt:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::cnot:
    case Op::lop3:
    case Op::shl:
    case Op::shr:
    case Op::shf:
    case Op::bfe:
    case Op::bfi:
    case Op::bfind:
    case Op::brev:
    case Op::clz:
    case Op::popc:
    case Op::fns:
    case Op::szext:
    case Op::bmsk:
      return families.bits(form);
    default:
      return nullptr;
  }
}

/// Bytes of an element in a row: 8-bit types travel in two.
uint8_t element_bytes(Type type) {
  int bytes = bytes_of(type);
  return static_cast<uint8_t>(bytes == 1 ? 2 : bytes);
}

}  // namespace

RowFunction row_function(const Instruction& instruction, bool avx2, ApproxMode mode) {
  // One source per row: mov with a vector on either side packs or unpacks, which is the machine's.
  if (instruction.op == Op::mov && (instruction.src.size() > 1 || instruction.dst.size() > 1))
    return nullptr;
  return choose(form_of(instruction, mode), avx2 ? kAvx2 : kGeneric);
}

bool cpu_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
  return has;
}

RowShape row_shape(const Instruction& instruction) {
  uint8_t type = element_bytes(instruction.type);
  uint8_t source =
      instruction.source_type == Type::none ? type : element_bytes(instruction.source_type);
  switch (instruction.op) {
    case Op::cvt: {
      bool is_signed = instruction.type == Type::s8 || instruction.type == Type::s16 ||
                       instruction.type == Type::s32;
      return {type, {source, source, 0, 0}, is_signed};
    }
    case Op::set:
      return {type, {source, source, 0, 0}, false};
    case Op::setp:
    case Op::testp:
      return {0, {source, source, 0, 0}, false};
    case Op::slct:
      return {type, {type, type, source, 0}, false};
    case Op::selp:
      return {type, {type, type, 0, 0}, false};
    case Op::mul:
    case Op::mad: {
      uint8_t wide = static_cast<uint8_t>(instruction.half == Half::wide ? 2 * type : type);
      return {wide, {type, type, wide, 0}, false};
    }
    case Op::shl:
    case Op::shr:
      return {type, {type, 4, 0, 0}, false};
    case Op::bfe:
      return {type, {type, 4, 4, 0}, false};
    case Op::bfi:
      return {type, {type, type, 4, 4}, false};
    case Op::bfind:
    case Op::clz:
    case Op::popc:
      return {4, {type, 0, 0, 0}, false};
    case Op::lop3:
      return {type, {type, type, type, 4}, false};
    default:
      return {type, {type, type, type, 0}, false};
  }
}

uint32_t f16_to_f32_bits(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return fraction ? 0x7fffffffu : sign | 0x7f800000u;
  if (exponent == 0) {
    if (fraction == 0) return sign;
    int shift = __builtin_clz(fraction) - 21;  // to bring the top bit to bit 10
    return sign | (uint32_t(113 - shift) << 23) | ((fraction << (13 + shift)) & 0x7fffffu);
  }
  return sign | ((exponent + 112u) << 23) | (fraction << 13);
}

namespace {
/// m / 2^n to nearest even, 0 <= n < 32.
uint32_t shift_nearest(uint32_t m, uint32_t n) {
  if (n == 0) return m;
  uint32_t kept = m >> n, rest = m & ((1u << n) - 1), half = 1u << (n - 1);
  return kept + (rest > half || (rest == half && (kept & 1u)));
}
}  // namespace

uint16_t f32_to_f16_bits_rn(uint32_t f) {
  uint32_t sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u)  // normal: a carry runs into the exponent as it should
    return static_cast<uint16_t>(sign | (shift_nearest(magnitude, 13) - (112u << 10)));
  uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return static_cast<uint16_t>(sign);  // below half of 2^-24
  uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  return static_cast<uint16_t>(sign | shift_nearest(significand, 126u - exponent));
}

uint32_t bf16_to_f32_bits(uint16_t h) { return uint32_t(h) << 16; }

uint16_t f32_to_bf16_bits_rn(uint32_t f) {
  if ((f & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>(shift_nearest(f, 16));
}

}  // namespace assay::ptx
