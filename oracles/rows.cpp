// The first tier's rows, for any x86-64 and other machines.
#include "oracles/rows.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>

// Vectors are passed between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace assay::rows {
namespace {
#include "oracles/rows_impl.inc.hpp"
#include "oracles/rows_vector.inc.hpp"
}  // namespace

const Kernels& plain_kernels() {
  static const Kernels table = {add, sub,  mul,     div,      neg,      abs,       max2,
                                exp, sqrt, rsqrt,   settle,   publish,  hoist,     share,
                                sum, max,  squares, from_f32, from_f16, from_bf16, match};
  return table;
}

double exp_double(double x) { return exp_core(x); }

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
bool has_avx2() { return false; }
#endif

namespace {
/// ASSAY_NO_AVX2=1, as for the emulator: lets a test compare both builds on one machine.
bool avx2_is_off() {
  const char* off = std::getenv("ASSAY_NO_AVX2");
  return off != nullptr && std::strcmp(off, "1") == 0;
}
}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = has_avx2() && !avx2_is_off() ? avx2_kernels() : plain_kernels();
  return chosen;
}

}  // namespace assay::rows
