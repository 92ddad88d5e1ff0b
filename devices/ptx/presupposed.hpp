// Arguments at which the CUDA headers presuppose on which side of a tie ex2.approx and lg2.approx
// lie.
//
// hexp, hexp10, hlog and hlog10 of cuda_fp16.hpp and h2exp10 of cuda_bf16.hpp (CUDA 13.0; the lists
// of __SPEC_CASE and __BF16_SPEC_CASE2) round the result of an approximate instruction to 16 bits
// and then add one last place for listed inputs, because the hardware's result lies on the other
// side of a tie than the exact one there. An instruction that is right at such an argument, as a
// better approximation is, makes these functions wrong by 1.5 last places. So at these arguments
// the emulator gives, in every mode, the number nearest to the exact value that rounds as
// presupposed; all lie within the bounds of the PTX ISA (9.7.3: 2 ulp for ex2; absolute 2^-22 for
// lg2 on (0.5, 2), relative 2^-22 elsewhere) and of the CUDA C++ Programming Guide (__log2f,
// __log10f).
//
// hlog2 needs none: its corrections go by the result, so that either side is right. Those of hsin
// and hcos follow sums that are exactly rounded, and hexp10 of bf16 stores its corrected result
// whole.
#pragma once

#include <array>
#include <cstdint>

namespace assay::ptx {

/// An operand of the instruction in f32 and its result there, as bits.
struct Presupposed {
  uint32_t argument, result;
};

inline constexpr auto kPresupposedEx2 = std::to_array<Presupposed>({
    {0x3c2c7e02u,
     0x3f80f000u},  // hexp(0x1f79): its product with log2 e; rounds to 0x3c08, not 0x3c07
    {0x3d06149au, 0x3f82f000u},  // hexp(0x25cf): 0x3c18, not 0x3c17
    {0xc0717899u, 0x3d95d000u},  // hexp(0xc13b): 0x2cae, not 0x2caf
    {0xc088f743u, 0x3d52d000u},  // hexp(0xc1ef): 0x2a96, not 0x2a97
    {0x3f8158fbu, 0x4000f000u},  // hexp10(0x34de): its product with log2 10; 0x4008, not 0x4007
    {0xbbc49ddau, 0x3f7ef000u},  // hexp10(0x9766): 0x3bf8, not 0x3bf7
    {0xbc10b624u, 0x3f7e6fffu},  // hexp10(0x9972): 0x3bf3, not 0x3bf4
    {0xbd993953u, 0x3f731000u},  // hexp10(0xa5c4): 0x3b98, not 0x3b99
    {0xc0bb10eau, 0x3c8e7001u},  // hexp10(0xbf0a): 0x2474, not 0x2473
    {0xbd777bd0u, 0x3f758000u},  // h2exp10(bf16 0xbc95): 0x3f76, not 0x3f75
});

inline constexpr auto kPresupposedLg2 = std::to_array<Presupposed>({
    {0x3ac1a000u, 0xc1167230u},  // hlog(0x160d): times ln 2 it rounds to 0xc684, not 0xc685
    {0x3f7fc000u, 0xbab8c151u},  // hlog(0x3bfe): 0x9400, not 0x9401
    {0x3f816000u, 0x3c7c8fd3u},  // hlog(0x3c0b): 0x2179, not 0x2178
    {0x440a2000u, 0x4111c1ddu},  // hlog(0x6051): 0x4650, not 0x4651
    {0x3e71e000u, 0xc0053d8fu},  // hlog10(0x338f): times log10 2; 0xb904, not 0xb903
    {0x3e7f0000u, 0xc0005c83u},  // hlog10(0x33f8): 0xb8d4, not 0xb8d5
    {0x42fc2000u, 0x40df4bbdu},  // hlog10(0x57e1): 0x4034, not 0x4033
    {0x4633a000u, 0x4157d24eu},  // hlog10(0x719d): 0x4410, not 0x440f
});

}  // namespace assay::ptx
