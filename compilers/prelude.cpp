#include "compilers/prelude.hpp"

namespace assay {
namespace {

// NVRTC knows the built-in math functions, but no header of the C library. Types agree with
// libcu++ under NVRTC (cuda/std/cstdint: int64_t is long long), so that both can be included.
constexpr const char* kIntegers = R"(#pragma once
using int8_t = signed char;
using int16_t = signed short;
using int32_t = signed int;
using int64_t = signed long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using int_fast8_t = int8_t;
using int_fast16_t = int16_t;
using int_fast32_t = int32_t;
using int_fast64_t = int64_t;
using uint_fast8_t = uint8_t;
using uint_fast16_t = uint16_t;
using uint_fast32_t = uint32_t;
using uint_fast64_t = uint64_t;
using int_least8_t = int8_t;
using int_least16_t = int16_t;
using int_least32_t = int32_t;
using int_least64_t = int64_t;
using uint_least8_t = uint8_t;
using uint_least16_t = uint16_t;
using uint_least32_t = uint32_t;
using uint_least64_t = uint64_t;
using intptr_t = signed long long;
using uintptr_t = unsigned long long;
using intmax_t = signed long long;
using uintmax_t = unsigned long long;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
}
#ifndef INT8_MAX
#include <climits>
#define INT8_MIN SCHAR_MIN
#define INT16_MIN SHRT_MIN
#define INT32_MIN INT_MIN
#define INT64_MIN LLONG_MIN
#define INT8_MAX SCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT32_MAX INT_MAX
#define INT64_MAX LLONG_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
#define SIZE_MAX UINT64_MAX
#endif
)";

constexpr const char* kLimits = R"(#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LONG_MIN (-LONG_MAX - 1)
#define LONG_MAX LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
#endif
)";

constexpr const char* kFloats = R"(#pragma once
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_EPSILON 1.1920928955078125e-07f
#define FLT_MIN 1.175494350822287508e-38f
#define FLT_MAX 3.402823466385288598e+38f
#define FLT_TRUE_MIN 1.401298464324817071e-45f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_EPSILON 2.2204460492503130808e-16
#define DBL_MIN 2.2250738585072013831e-308
#define DBL_MAX 1.7976931348623157081e+308
#define DBL_TRUE_MIN 4.940656458412465442e-324
#endif
)";

constexpr const char* kMath = R"(#pragma once
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000ll)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
)";

constexpr const char* kSizes = R"(#pragma once
using ptrdiff_t = long;
namespace std {
using ::size_t; using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
}
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
)";

constexpr const char* kNumericLimits = R"(#pragma once
#include <cfloat>
#include <climits>
#include <cmath>
namespace std {
template <typename T> struct numeric_limits { static constexpr bool is_specialized = false; };
#define ASSAY_INTEGER_LIMITS(type, low, high, bits, sign)                  \
  template <> struct numeric_limits<type> {                               \
    static constexpr bool is_specialized = true, is_integer = true;        \
    static constexpr bool is_signed = sign;                                \
    static constexpr bool has_infinity = false, has_quiet_NaN = false;     \
    static constexpr int digits = bits - (sign ? 1 : 0);                   \
    __host__ __device__ static constexpr type min() { return low; }        \
    __host__ __device__ static constexpr type lowest() { return low; }     \
    __host__ __device__ static constexpr type max() { return high; }       \
  };
ASSAY_INTEGER_LIMITS(bool, false, true, 1, false)
ASSAY_INTEGER_LIMITS(char, CHAR_MIN, CHAR_MAX, 8, true)
ASSAY_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX, 8, true)
ASSAY_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX, 8, false)
ASSAY_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX, 16, true)
ASSAY_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX, 16, false)
ASSAY_INTEGER_LIMITS(int, INT_MIN, INT_MAX, 32, true)
ASSAY_INTEGER_LIMITS(unsigned int, 0u, UINT_MAX, 32, false)
ASSAY_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX, 64, true)
ASSAY_INTEGER_LIMITS(unsigned long, 0ul, ULONG_MAX, 64, false)
ASSAY_INTEGER_LIMITS(long long, LLONG_MIN, LLONG_MAX, 64, true)
ASSAY_INTEGER_LIMITS(unsigned long long, 0ull, ULLONG_MAX, 64, false)
#undef ASSAY_INTEGER_LIMITS
#define ASSAY_FLOAT_LIMITS(type, prefix, inf, qnan)                        \
  template <> struct numeric_limits<type> {                               \
    static constexpr bool is_specialized = true, is_integer = false;       \
    static constexpr bool is_signed = true;                                \
    static constexpr bool has_infinity = true, has_quiet_NaN = true;       \
    static constexpr int digits = prefix##_MANT_DIG;                       \
    __host__ __device__ static constexpr type min() { return prefix##_MIN; }          \
    __host__ __device__ static constexpr type lowest() { return -prefix##_MAX; }      \
    __host__ __device__ static constexpr type max() { return prefix##_MAX; }          \
    __host__ __device__ static constexpr type epsilon() { return prefix##_EPSILON; }  \
    __host__ __device__ static constexpr type denorm_min() { return prefix##_TRUE_MIN; } \
    __host__ __device__ static constexpr type infinity() { return inf; }   \
    __host__ __device__ static constexpr type quiet_NaN() { return qnan; } \
  };
ASSAY_FLOAT_LIMITS(float, FLT, __builtin_bit_cast(float, 0x7f800000),
                   __builtin_bit_cast(float, 0x7fffffff))
ASSAY_FLOAT_LIMITS(double, DBL, __builtin_bit_cast(double, 0x7ff0000000000000ll),
                   __builtin_bit_cast(double, 0x7fffffffffffffffll))
#undef ASSAY_FLOAT_LIMITS
}
)";

constexpr const char* kImplicit = R"(#pragma once
#include <cstddef>
#include <cstdint>
#include <climits>
#include <cfloat>
#include <cmath>
)";

constexpr const char* kNothing = "#pragma once\n";

// libcu++ works without host headers; standard names forward to it where it is installed.
constexpr const char* kTypeTraits = R"(#pragma once
#include <cuda/std/type_traits>
namespace std { using namespace cuda::std; }
)";
constexpr const char* kUtility = R"(#pragma once
#include <cuda/std/utility>
namespace std { using namespace cuda::std; }
)";

}  // namespace

const std::vector<PreludeHeader>& prelude_headers() {
  static const std::vector<PreludeHeader> headers = {
      {kImplicitPrelude, kImplicit},
      {"cstdint", kIntegers},
      {"stdint.h", "#pragma once\n#include <cstdint>\n"},
      {"inttypes.h", "#pragma once\n#include <cstdint>\n"},
      {"climits", kLimits},
      {"limits.h", "#pragma once\n#include <climits>\n"},
      {"cfloat", kFloats},
      {"float.h", "#pragma once\n#include <cfloat>\n"},
      {"cmath", kMath},
      {"math.h", "#pragma once\n#include <cmath>\n"},
      {"cstddef", kSizes},
      {"stddef.h", "#pragma once\n#include <cstddef>\n"},
      {"limits", kNumericLimits},
      {"type_traits", kTypeTraits},
      {"utility", kUtility},
      // NVRTC declares printf, assert, memcpy and the launch built-ins by itself.
      {"cuda_runtime.h", kNothing},
      {"device_launch_parameters.h", kNothing},
      {"cassert", kNothing},
      {"assert.h", kNothing},
      {"cstdio", kNothing},
      {"stdio.h", kNothing},
      {"cstring", kNothing},
      {"string.h", kNothing},
      {"cstdlib", kNothing},
      {"stdlib.h", kNothing},
  };
  return headers;
}

}  // namespace assay
