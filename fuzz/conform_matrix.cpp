#include "fuzz/conform_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "devices/ptx/tensor.hpp"

namespace assay {

namespace {

using MatrixLayout = ptx::Layout;
using ptx::Matrix;
using ptx::Op;
using ptx::Type;

constexpr size_t kMostExamples = 4;
/// wmma: where matrices lie in a warp's 3 KiB; none is larger than 1 KiB.
constexpr int kMatrixBytes = 1024;

struct Extent {
  int rows, columns;
};
Extent extent(const ptx::Shape& shape, Matrix matrix) {
  if (matrix == Matrix::a) return {shape.m, shape.k};
  if (matrix == Matrix::b) return {shape.k, shape.n};
  return {shape.m, shape.n};
}

/// Calls visit(element, byte offset in the warp's block) for every place of a matrix.
template <class Visit>
void for_each_place(const ConformProduct& product, Matrix matrix, int first, MatrixLayout layout,
                    int stride, const Visit& visit) {
  const ptx::Instruction& p = product.product;
  const Extent e = extent(p.shape, matrix);
  const Type type = ptx::element_type(p, matrix);
  const int bytes = ptx::bytes_of(type);
  if (p.op == Op::wmma) {
    for (int i = 0; i < e.rows; ++i) {
      for (int j = 0; j < e.columns; ++j) {
        const int at = layout == MatrixLayout::row ? i * e.columns + j : j * e.rows + i;
        visit(i * e.columns + j, first + at * bytes);
      }
    }
    return;
  }
  const ptx::Fragment f = ptx::make_fragment(p, matrix, 0);
  for (size_t place = 0; place < f.element.size(); ++place) {
    const int part = static_cast<int>(place) % f.parts;
    const int lane = static_cast<int>(place) / f.parts % 32;
    const int reg = static_cast<int>(place) / f.parts / 32;
    visit(f.element[place], lane * stride + 4 * (first + reg) + part * bytes);
  }
}

std::vector<uint32_t> take(const ConformProduct& product, Matrix matrix, int first,
                           MatrixLayout layout, int stride, const uint8_t* from) {
  const Extent e = extent(product.product.shape, matrix);
  const int bytes = ptx::bytes_of(ptx::element_type(product.product, matrix));
  std::vector<uint32_t> bits(static_cast<size_t>(e.rows * e.columns));
  for_each_place(product, matrix, first, layout, stride, [&](int element, int at) {
    std::memcpy(&bits[static_cast<size_t>(element)], from + at, static_cast<size_t>(bytes));
  });
  return bits;
}

void put(const ConformProduct& product, Matrix matrix, int first, MatrixLayout layout, int stride,
         const std::vector<uint32_t>& bits, uint8_t* to) {
  const int bytes = ptx::bytes_of(ptx::element_type(product.product, matrix));
  for_each_place(product, matrix, first, layout, stride, [&](int element, int at) {
    std::memcpy(to + at, &bits[static_cast<size_t>(element)], static_cast<size_t>(bytes));
  });
}

// ---- one element ----

struct Element {
  std::vector<double> a, b;
  double c = 0;
  uint32_t emulator = 0, hardware = 0;
};

using Exact = __float128;

/// What any order of adding in the adder that is promised can give: steps of four products, no bits
/// below the 24 of f32 (Volta, the least of Fasi et al.), for fp8 14 bits
/// (arXiv:2412.19437, 3.3.2).
double envelope(const ptx::Instruction& p, Exact exact, double magnitudes) {
  const int k = p.shape.k;
  const bool fp8 = ptx::bytes_of(p.source_type) == 1;
  const double cut = std::ldexp(1.5 * k + 2, fp8 ? -13 : -23) * magnitudes;
  const double result = std::fabs(static_cast<double>(exact));
  double rounding = std::ldexp(result, -23) + std::ldexp(k + 2.0, -148);
  if (p.type == Type::f16) rounding += std::max(std::ldexp(result, -10), 0x1p-24);
  return cut + rounding;
}

/// Whether every order gives the exact sum: it fits the adder's bits whatever is added first.
bool is_forced(const ptx::Instruction& p, const Element& e, double magnitudes) {
  const bool fp8 = ptx::bytes_of(p.source_type) == 1;
  const int bits = p.type == Type::f16 ? 11 : fp8 ? 14 : 24;
  int lowest = 2000;
  const auto look = [&](double x) {
    if (x == 0) return;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    const uint64_t whole = static_cast<uint64_t>(std::ldexp(std::fabs(fraction), 53));
    lowest = std::min(lowest, exponent - 53 + std::countr_zero(whole));
  };
  for (size_t l = 0; l < e.a.size(); ++l) look(e.a[l] * e.b[l]);
  look(e.c);
  const int floor = p.type == Type::f16 ? -24 : -126;
  return lowest >= floor && magnitudes < std::ldexp(1.0, std::min(lowest + bits, 1000));
}

std::string describe(const ConformProgram& program, int64_t warp, int i, int j, const Element& e,
                     const char* what) {
  char text[96];
  std::string line = program.title + " warp " + std::to_string(warp) + " (" + std::to_string(i) +
                     ", " + std::to_string(j) + ") " + what + ":";
  for (size_t l = 0; l < e.a.size(); ++l) {
    if (e.a[l] == 0 || e.b[l] == 0) continue;
    std::snprintf(text, sizeof text, " %a*%a", e.a[l], e.b[l]);
    line += text;
  }
  std::snprintf(text, sizeof text, " + %a: emulator %#" PRIx32 ", GPU %#" PRIx32, e.c, e.emulator,
                e.hardware);
  return line + text;
}

enum class Agreement : uint8_t { equal, within, different };

struct Judged {
  Agreement agreement = Agreement::different;
  double emulator_share = 0, hardware_share = 0;
};

Judged judge(const ptx::Instruction& p, const Element& e) {
  if (p.type == Type::s32)
    return {e.emulator == e.hardware ? Agreement::equal : Agreement::different};
  Exact exact = e.c;
  double magnitudes = std::fabs(e.c), plain = e.c;
  for (size_t l = 0; l < e.a.size(); ++l) {
    const double product = e.a[l] * e.b[l];
    exact += product;
    plain += product;
    magnitudes += std::fabs(product);
  }
  const bool equal = e.emulator == e.hardware;
  const double ours = ptx::element_value(p.type, e.emulator);
  const double theirs = ptx::element_value(p.type, e.hardware);
  if (!std::isfinite(plain)) return {equal ? Agreement::equal : Agreement::different};
  const double allowed = envelope(p, exact, magnitudes);
  const double most = p.type == Type::f16 ? 65504.0 : static_cast<double>(0x1.fffffep127f);
  const auto share = [&](double got) {
    if (std::isnan(got)) return HUGE_VAL;
    // A step's sum that overflows stays infinite, with its own sign, whatever the next one adds.
    if (std::isinf(got)) return magnitudes + allowed > most ? 0.0 : HUGE_VAL;
    return static_cast<double>(std::fabs(static_cast<double>(got - exact))) / allowed;
  };
  Judged judged{Agreement::within, share(ours), share(theirs)};
  if (judged.emulator_share > 1 || judged.hardware_share > 1)
    judged.agreement = Agreement::different;
  if (is_forced(p, e, magnitudes) && !equal && !(ours == 0 && theirs == 0)) {
    judged.agreement = Agreement::different;
  }
  if (equal) judged.agreement = Agreement::equal;
  return judged;
}

}  // namespace

MatrixPlaces matrix_places(const ConformProduct& product) {
  const ptx::Instruction& p = product.product;
  MatrixPlaces places;
  if (p.op == Op::wmma) {
    places.in_bytes = 3 * kMatrixBytes / 32;
    places.out_bytes = kMatrixBytes / 32;
    places.b = kMatrixBytes;
    places.c = 2 * kMatrixBytes;
    places.leading_a = p.a_layout == MatrixLayout::row ? p.shape.k : p.shape.m;
    places.leading_b = p.b_layout == MatrixLayout::row ? p.shape.n : p.shape.k;
    places.leading_c = product.c_layout == MatrixLayout::row ? p.shape.n : p.shape.m;
    places.leading_d = product.d_layout == MatrixLayout::row ? p.shape.n : p.shape.m;
    return places;
  }
  const auto count = [&](Matrix m) { return ptx::fragment_registers(p, m).count; };
  places.b = count(Matrix::a);
  places.c = places.b + count(Matrix::b);
  places.in_bytes = (4 * (places.c + count(Matrix::c)) + 15) / 16 * 16;
  places.out_bytes = (4 * count(Matrix::d) + 15) / 16 * 16;
  return places;
}

void put_matrices(const ConformProduct& product, const MatrixOperands& operands, uint8_t* in) {
  const MatrixPlaces p = matrix_places(product);
  put(product, Matrix::a, p.a, product.product.a_layout, p.in_bytes, operands.a, in);
  put(product, Matrix::b, p.b, product.product.b_layout, p.in_bytes, operands.b, in);
  put(product, Matrix::c, p.c, product.c_layout, p.in_bytes, operands.c, in);
}

MatrixOperands take_matrices(const ConformProduct& product, const uint8_t* in) {
  const MatrixPlaces p = matrix_places(product);
  return {take(product, Matrix::a, p.a, product.product.a_layout, p.in_bytes, in),
          take(product, Matrix::b, p.b, product.product.b_layout, p.in_bytes, in),
          take(product, Matrix::c, p.c, product.c_layout, p.in_bytes, in)};
}

std::vector<uint32_t> take_result(const ConformProduct& product, const uint8_t* out) {
  const MatrixPlaces p = matrix_places(product);
  return take(product, Matrix::d, 0, product.d_layout, p.out_bytes, out);
}

MatrixTally judge_matrices(const ConformProgram& program, const std::vector<uint8_t>& in,
                           const std::vector<uint8_t>& emulator,
                           const std::vector<uint8_t>& hardware) {
  const ConformProduct& product = *program.product;
  const ptx::Instruction& p = product.product;
  const int m = p.shape.m, n = p.shape.n, k = p.shape.k;
  MatrixTally tally;
  ModelFit fit(product);
  std::vector<uint32_t> probes;
  // Of wmma's loads and stores the product is not what is under test.
  const bool fits = p.type != Type::s32 && program.instruction.wmma != ptx::Wmma::load &&
                    program.instruction.wmma != ptx::Wmma::store;
  const int64_t warps = static_cast<int64_t>(in.size()) / (32 * program.in_bytes);
  for (int64_t w = 0; w < warps; ++w) {
    const MatrixOperands operands = take_matrices(product, in.data() + w * 32 * program.in_bytes);
    const auto ours = take_result(product, emulator.data() + w * 32 * program.out_bytes);
    const auto theirs = take_result(product, hardware.data() + w * 32 * program.out_bytes);
    if (w < kProbeWarps) probes.push_back(theirs[0]);
    Element e;
    e.a.resize(static_cast<size_t>(k));
    e.b.resize(static_cast<size_t>(k));
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        const size_t at = static_cast<size_t>(i * n + j);
        for (int l = 0; l < k; ++l) {
          const size_t x = static_cast<size_t>(l);
          e.a[x] = ptx::element_value(p.source_type, operands.a[static_cast<size_t>(i * k + l)]);
          e.b[x] = ptx::element_value(p.b_type, operands.b[static_cast<size_t>(l * n + j)]);
        }
        e.c = ptx::element_value(p.c_type, operands.c[at]);
        e.emulator = ours[at];
        e.hardware = theirs[at];
        const Judged judged = judge(p, e);
        ++tally.elements;
        tally.equal += judged.agreement == Agreement::equal;
        tally.within += judged.agreement == Agreement::within;
        tally.emulator_share = std::max(tally.emulator_share, judged.emulator_share);
        tally.hardware_share = std::max(tally.hardware_share, judged.hardware_share);
        if (judged.agreement == Agreement::different &&
            ++tally.different <= static_cast<int64_t>(kMostExamples)) {
          tally.examples.push_back(describe(program, w, i, j, e, "different"));
        }
        const bool samples =
            fits && w >= kProbeWarps && (w * 5 + static_cast<int64_t>(at)) % 7 == 0;
        if (samples) fit.add(e.a, e.b, e.c, e.hardware);
      }
    }
  }
  if (!fits) return tally;
  tally.probes = read_probes(product, probes);
  fit.finish(tally);
  return tally;
}

}  // namespace assay
