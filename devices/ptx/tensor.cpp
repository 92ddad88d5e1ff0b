#include "devices/ptx/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "devices/ptx/semantics_fp8.hpp"

namespace assay::ptx {

namespace {

constexpr int kWarp = kLanes;

uint64_t mix(uint64_t x) {  // splitmix64's finaliser (Steele et al., OOPSLA 2014)
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::array<int, 2> extents(Shape shape, Matrix matrix) {
  switch (matrix) {
    case Matrix::a:
      return {shape.m, shape.k};
    case Matrix::b:
      return {shape.k, shape.n};
    default:
      return {shape.m, shape.n};
  }
}

/// PTX ISA 9.7.14.5, all shapes in one: four neighbouring lanes hold a row's elements, `parts` in
/// each register. A register further down a is 8 rows further, then 4 * parts columns.
std::array<int, 2> mma_place(Shape shape, Matrix matrix, int lane, int reg, int part, int parts) {
  const int group = lane / 4, in_group = lane % 4;
  const int along = in_group * parts + part;
  switch (matrix) {
    case Matrix::a: {
      const int halves = shape.m / 8;
      return {group + 8 * (reg % halves), reg / halves * 4 * parts + along};
    }
    case Matrix::b:
      return {reg * 4 * parts + along, group};
    default:
      // Two neighbouring columns a lane: in one register (f16) or in two.
      if (parts == 2) return {group + 8 * reg, along};
      return {group + 8 * (reg / 2), in_group * 2 + reg % 2};
  }
}

/// PTX ISA 9.7.14.4: the registers of wmma's fragments. Those of f16 are as many for every shape,
/// so that small matrices lie in several places.
int wmma_registers(Shape shape, Matrix matrix, Type type) {
  if (type == Type::f16) return matrix == Matrix::a || matrix == Matrix::b ? 8 : 4;
  const auto [rows, columns] = extents(shape, matrix);
  return rows * columns * bytes_of(type) / (4 * kWarp);
}

double cut(double x, double unit, bool up) {
  const double scaled = x / unit;
  const double kept = std::trunc(scaled);
  if (kept == scaled || !up) return kept * unit;
  return (kept + (x < 0 ? -1 : 1)) * unit;
}

double towards_zero_f32(double x) {
  const float nearest = static_cast<float>(x);
  if (!std::isfinite(nearest) || std::fabs(nearest) <= std::fabs(x)) return nearest;
  return std::nextafter(nearest, 0.0f);
}

/// To nearest even in f16, once.
double round_f16(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -14);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) > 65504.0 ? std::copysign(INFINITY, x) : rounded;
}

double round_to(Type type, double x) {
  return type == Type::f16 ? round_f16(x) : static_cast<double>(static_cast<float>(x));
}

/// The sum of `count` addends with the errors that MmaErrors allows.
double erring_sum(const double* addends, int count, Type type, const MmaErrors& errors,
                  uint64_t place) {
  double largest = 0, plain = 0;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(addends[i]));
    plain += addends[i];
  }
  if (!std::isfinite(plain) || largest == 0) return round_to(type, plain);
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 23 - errors.extra_bits);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t bits = mix(errors.seed ^ std::bit_cast<uint64_t>(addends[i]) ^ mix(place + i));
    sum += cut(addends[i], unit, (bits & 1) != 0);
  }
  return type == Type::f16 ? round_f16(sum) : towards_zero_f32(sum);
}

}  // namespace

Type element_type(const Instruction& ins, Matrix matrix) {
  if (ins.wmma == Wmma::load || ins.wmma == Wmma::store) return ins.type;
  switch (matrix) {
    case Matrix::a:
      return ins.source_type;
    case Matrix::b:
      return ins.b_type;
    case Matrix::c:
      return ins.c_type;
    default:
      return ins.type;
  }
}

FragmentRegisters fragment_registers(const Instruction& ins, Matrix matrix) {
  // wmma.load and .store name the matrix in the spelling.
  if (ins.wmma == Wmma::load || ins.wmma == Wmma::store) matrix = ins.matrix;
  const Type type = element_type(ins, matrix);
  const auto [rows, columns] = extents(ins.shape, matrix);
  FragmentRegisters result;
  result.count = ins.op == Op::wmma ? wmma_registers(ins.shape, matrix, type)
                                    : rows * columns * bytes_of(type) / (4 * kWarp);
  result.type = type == Type::f32 || type == Type::s32 ? type : Type::b32;
  return result;
}

Fragment make_fragment(const Instruction& ins, Matrix matrix, uint64_t layout) {
  Fragment f;
  f.type = element_type(ins, matrix);
  const auto [rows, columns] = extents(ins.shape, matrix);
  f.rows = rows;
  f.columns = columns;
  f.registers = fragment_registers(ins, matrix).count;
  f.parts = 4 / bytes_of(f.type);
  const int places = f.registers * kWarp * f.parts;
  f.element.resize(static_cast<size_t>(places));
  // An odd factor permutes a power of two, which all of wmma's counts are.
  const uint64_t key = mix(layout * 64 + static_cast<uint64_t>(f.type));
  const uint64_t factor = key | 1, offset = key >> 32;
  for (int place = 0; place < places; ++place) {
    const int reg = place / (kWarp * f.parts), lane = place / f.parts % kWarp;
    if (ins.op == Op::wmma) {
      const uint64_t spread = factor * static_cast<uint64_t>(place) + offset;
      f.element[place] = static_cast<uint16_t>(spread % static_cast<uint64_t>(f.elements()));
    } else {
      const auto [i, j] = mma_place(ins.shape, matrix, lane, reg, place % f.parts, f.parts);
      f.element[place] = static_cast<uint16_t>(i * columns + j);
    }
  }
  return f;
}

namespace {

constexpr int kMostColumns = 32;  // of wmma's m8n32k16

/// Row `i` of a * b + c: element by element c + p_0 + p_1 + ... in that order, side by side.
void add_row(Shape shape, int i, const Elements& a, const Elements& b, const Elements& c,
             double* sums) {
  for (int j = 0; j < shape.n; ++j) sums[j] = c[i * shape.n + j];
  for (int l = 0; l < shape.k; ++l) {
    const double x = a[i * shape.k + l];
    const double* const row = b.data() + l * shape.n;
    for (int j = 0; j < shape.n; ++j) sums[j] += x * row[j];
  }
}

}  // namespace

void multiply(Shape shape, Type type, const Elements& a, const Elements& b, const Elements& c,
              Elements& d, const MmaErrors& errors) {
  if (errors.seed == 0) {
    for (int i = 0; i < shape.m; ++i) {
      double sums[kMostColumns];
      add_row(shape, i, a, b, c, sums);
      for (int j = 0; j < shape.n; ++j) d[i * shape.n + j] = round_to(type, sums[j]);
    }
    return;
  }
  double addends[64];
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < shape.n; ++j) {
      const int at = i * shape.n + j;
      addends[0] = c[at];
      for (int l = 0; l < shape.k; ++l) addends[l + 1] = a[i * shape.k + l] * b[l * shape.n + j];
      d[at] = erring_sum(addends, shape.k + 1, type, errors, static_cast<uint64_t>(at) << 8);
    }
  }
}

void multiply_integers(Shape shape, bool satfinite, const Elements& a, const Elements& b,
                       const Elements& c, Elements& d) {
  for (int i = 0; i < shape.m; ++i) {
    double sums[kMostColumns];
    add_row(shape, i, a, b, c, sums);
    for (int j = 0; j < shape.n; ++j) {
      double sum = sums[j];  // at most 2^31 + 32 * 2^16: exact in binary64
      if (satfinite) sum = std::clamp(sum, -2147483648.0, 2147483647.0);
      d[i * shape.n + j] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
    }
  }
}

double element_value(Type type, uint32_t bits) {
  switch (type) {
    case Type::f16:
      return std::bit_cast<float>(f16_to_f32_bits(static_cast<uint16_t>(bits)));
    case Type::bf16:
      return std::bit_cast<float>(bf16_to_f32_bits(static_cast<uint16_t>(bits)));
    case Type::tf32: {
      // The low 13 bits of a tf32 register are not read.
      const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
      return std::bit_cast<float>(nan ? bits : bits & ~0x1fffu);
    }
    case Type::e4m3:
    case Type::e5m2:
      return fp8_value(type, static_cast<uint8_t>(bits));
    case Type::s8:
      return static_cast<int8_t>(bits);
    case Type::u8:
      return static_cast<uint8_t>(bits);
    case Type::s32:
      return static_cast<int32_t>(bits);
    default:
      return std::bit_cast<float>(bits);
  }
}

uint32_t element_bits(Type type, double value) {
  if (type == Type::s32) return static_cast<uint32_t>(static_cast<int32_t>(value));
  const float single = static_cast<float>(value);
  const uint32_t bits = single != single ? 0x7fffffffu : std::bit_cast<uint32_t>(single);
  return type == Type::f16 ? f32_to_f16_bits_rn(bits) : bits;
}

}  // namespace assay::ptx
