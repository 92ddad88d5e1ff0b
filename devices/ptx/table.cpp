#include "devices/ptx/table.hpp"

namespace assay::ptx {
namespace {

using D = DefinednessRule;
using W = WrapRule;

// Sets of modifiers and types that several rows share.
#define RND "{rn|rz|rm|rp}"
#define RND_REQUIRED "(rn|rz|rm|rp)"
#define INT_RND "(rni|rzi|rmi|rpi)"
#define INTS "u8 u16 u32 u64 s8 s16 s32 s64"
#define WORD_INTS "u16 u32 u64 s16 s32 s64"
#define BITS "b16 b32 b64"
#define MEMORY_TYPES "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
#define MOVE_TYPES "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"
#define COMPARE_SIGNED "(eq|ne|lt|le|gt|ge)"
#define COMPARE_UNSIGNED "(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)"
#define COMPARE_FLOAT "(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)"
#define BOOL "(and|or|xor)"
#define SPACE "{global|shared|shared::cta|local|param|param::entry|param::func|const}"
#define WRITABLE "{global|shared|shared::cta|local|param|param::func}"
#define ATOM_SPACE "{global|shared|shared::cta}"
#define SCOPE "{cta|gpu|sys}"
#define SCOPE_REQUIRED "(cta|gpu|sys)"
#define EVICT                                                                              \
  "{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate} " \
  "{L2::cache_hint}"
#define PREFETCH "{L2::64B|L2::128B|L2::256B}"
#define VECTOR "{v2|v4}"
#define ATOM_HEAD "{relaxed|acquire|release|acq_rel} " SCOPE " " ATOM_SPACE " {L2::cache_hint} "
#define RED_HEAD "{relaxed|release} " SCOPE " " ATOM_SPACE " {L2::cache_hint} "

// 9.7.9: data movement and conversion.
const Row kMovement[] = {
    {Op::mov, "mov", "", "pred", "", "d, !a", D::mov, W::none},
    {Op::mov, "mov", "", MOVE_TYPES, "", "d*, a*@", D::mov, W::mov},
    {Op::cvta, "cvta", "{to} (global|shared|shared::cta|local|const|param)", "u32 u64", "", "d, a@",
     D::mov, W::mov},
    {Op::selp, "selp", "", MOVE_TYPES, "", "d, a, b, !c:pred", D::selp, W::selp},
    {Op::prmt, "prmt", "{f4e|b4e|rc8|ecl|ecr|rc16}", "b32", "", "d, a, b, c", D::permute, W::reset},
    {Op::isspacep, "isspacep", "(global|shared|shared::cta|local|const|param|param::entry)", "", "",
     "p:pred, a:u64", D::compare, W::none},

    {Op::ld, "ld", "{weak} " SPACE " {ca|cg|cs|lu|cv} " EVICT " " PREFETCH " " VECTOR, MEMORY_TYPES,
     "", "d~*, [a], c:policy?", D::load, W::load},
    {Op::ld, "ld", "global nc {ca|cg|cs} " EVICT " " PREFETCH " " VECTOR, MEMORY_TYPES, "",
     "d~*, [a], c:policy?", D::load, W::load},
    {Op::ld, "ld", "volatile " ATOM_SPACE " " PREFETCH " " VECTOR, MEMORY_TYPES, "", "d~*, [a]",
     D::load, W::load},
    {Op::ld, "ld",
     "(relaxed|acquire) " SCOPE_REQUIRED " " ATOM_SPACE " " EVICT " " PREFETCH " " VECTOR,
     MEMORY_TYPES, "", "d~*, [a], c:policy?", D::load, W::load},
    {Op::ldu, "ldu", "{global} " VECTOR, MEMORY_TYPES, "", "d~*, [a]", D::load, W::load},

    {Op::st, "st", "{weak} " WRITABLE " {wb|cg|cs|wt} " EVICT " " VECTOR, MEMORY_TYPES, "",
     "[a], b~*, c:policy?", D::store, W::store},
    {Op::st, "st", "volatile " ATOM_SPACE " " VECTOR, MEMORY_TYPES, "", "[a], b~*", D::store,
     W::store},
    {Op::st, "st", "(relaxed|release) " SCOPE_REQUIRED " " ATOM_SPACE " " EVICT " " VECTOR,
     MEMORY_TYPES, "", "[a], b~*, c:policy?", D::store, W::store},

    {Op::prefetch, "prefetch", "{global|local} (L1|L2|L2::evict_last|L2::evict_normal)", "", "",
     "[a]", D::none, W::none},
    {Op::prefetch, "prefetchu", "L1", "", "", "[a]", D::none, W::none},
    {Op::createpolicy, "createpolicy",
     "fractional (L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged)", "b64", "",
     "d, a:f32?", D::uniform, W::reset},
    {Op::createpolicy, "createpolicy", "cvt L2", "b64", "", "d, a", D::uniform, W::reset},

    // 9.7.9.21 cvt. Integers; .sat changes nothing where the destination holds every source value.
    {Op::cvt, "cvt", "{sat}", INTS, INTS, "d~, a~:S", D::resize, W::widen},
    {Op::cvt, "cvt", INT_RND " {ftz} {sat}", INTS, "f32", "d~, a~:S", D::any, W::reset},
    {Op::cvt, "cvt", INT_RND " {sat}", INTS, "f16 f64", "d~, a~:S", D::any, W::reset},
    {Op::cvt, "cvt", INT_RND, WORD_INTS, "bf16", "d~, a~:S", D::any, W::reset},
    {Op::cvt, "cvt", RND_REQUIRED " {sat}", "f16 f32 f64", INTS, "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED, "bf16", WORD_INTS, "d~, a~:S", D::any, W::none},
    // Widening floating point.
    {Op::cvt, "cvt", "{ftz} {sat}", "f32", "f16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{ftz}", "f32", "bf16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{ftz} {sat}", "f64", "f32", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{sat}", "f64", "f16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "", "f64", "bf16", "d~, a~:S", D::any, W::none},
    // Same type, also rounding to an integral value.
    {Op::cvt, "cvt", "{rni|rzi|rmi|rpi} {ftz} {sat}", "f32", "f32", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{rni|rzi|rmi|rpi} {sat}", "f16", "f16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{rni|rzi|rmi|rpi}", "bf16", "bf16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", "{rni|rzi|rmi|rpi} {sat}", "f64", "f64", "d~, a~:S", D::any, W::none},
    // Narrowing floating point.
    {Op::cvt, "cvt", RND_REQUIRED " {ftz} {sat}", "f32", "f64", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED " {sat}", "f16", "f64", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED, "f16", "bf16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED, "bf16", "f64 f16", "d~, a~:S", D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED " {ftz} {sat} {relu} {satfinite}", "f16", "f32", "d~, a~:S",
     D::any, W::none},
    {Op::cvt, "cvt", RND_REQUIRED " {ftz} {relu} {satfinite}", "bf16", "f32", "d~, a~:S", D::any,
     W::none},
    {Op::cvt, "cvt", "(rn|rz) {relu} {satfinite}", "f16x2 bf16x2", "f32", "d, a:S, b:S", D::pack2,
     W::none},
    {Op::cvt, "cvt", "rna {satfinite}", "tf32", "f32", "d:b32, a:S", D::any, W::none},
    {Op::cvt, "cvt", "(rn|rz) {relu} {satfinite}", "tf32", "f32", "d:b32, a:S", D::any, W::none},
    // fp8 pairs (sm_89).
    {Op::cvt, "cvt", "rn satfinite {relu}", "e4m3x2 e5m2x2", "f32", "d:b16, a:S, b:S", D::pack2,
     W::none},
    {Op::cvt, "cvt", "rn satfinite {relu}", "e4m3x2 e5m2x2", "f16x2", "d:b16, a:S", D::pairs,
     W::none},
    {Op::cvt, "cvt", "rn {relu}", "f16x2", "e4m3x2 e5m2x2", "d, a:b16", D::pairs, W::none},
};

// 9.7.1, 9.7.2: integer arithmetic, extended precision.
const Row kInteger[] = {
    {Op::add, "add", "", WORD_INTS, "", "d, a, b", D::arithmetic, W::add},
    {Op::add, "add", "sat", "s32", "", "d, a, b", D::any, W::reset},
    {Op::add, "add", "cc", "u32 s32 u64 s64", "", "d, a, b", D::any, W::reset},
    {Op::addc, "addc", "{cc}", "u32 s32 u64 s64", "", "d, a, b", D::any, W::reset},
    {Op::sub, "sub", "", WORD_INTS, "", "d, a, b", D::arithmetic, W::sub},
    {Op::sub, "sub", "sat", "s32", "", "d, a, b", D::any, W::reset},
    {Op::sub, "sub", "cc", "u32 s32 u64 s64", "", "d, a, b", D::any, W::reset},
    {Op::subc, "subc", "{cc}", "u32 s32 u64 s64", "", "d, a, b", D::any, W::reset},
    {Op::mul, "mul", "lo", WORD_INTS, "", "d, a, b", D::arithmetic, W::mul},
    {Op::mul, "mul", "hi", WORD_INTS, "", "d, a, b", D::any, W::reset},
    {Op::mul, "mul", "wide", "u16 u32 s16 s32", "", "d:W, a, b", D::arithmetic, W::mul},
    {Op::mad, "mad", "lo", WORD_INTS, "", "d, a, b, c", D::arithmetic, W::mad},
    {Op::mad, "mad", "hi", WORD_INTS, "", "d, a, b, c", D::any, W::reset},
    {Op::mad, "mad", "hi sat", "s32", "", "d, a, b, c", D::any, W::reset},
    {Op::mad, "mad", "wide", "u16 u32 s16 s32", "", "d:W, a, b, c:W", D::arithmetic, W::mad},
    {Op::mad, "mad", "(lo|hi) cc", "u32 s32 u64 s64", "", "d, a, b, c", D::any, W::reset},
    {Op::madc, "madc", "(lo|hi) {cc}", "u32 s32 u64 s64", "", "d, a, b, c", D::any, W::reset},
    {Op::mul24, "mul24", "(lo|hi)", "u32 s32", "", "d, a, b", D::any, W::reset},
    {Op::mad24, "mad24", "(lo|hi)", "u32 s32", "", "d, a, b, c", D::any, W::reset},
    {Op::mad24, "mad24", "hi sat", "s32", "", "d, a, b, c", D::any, W::reset},
    {Op::div, "div", "", WORD_INTS, "", "d, a, b", D::any, W::div},
    {Op::rem, "rem", "", WORD_INTS, "", "d, a, b", D::any, W::reset},
    {Op::abs, "abs", "", "s16 s32 s64", "", "d, a", D::any, W::reset},
    {Op::neg, "neg", "", "s16 s32 s64", "", "d, a", D::arithmetic, W::neg},
    {Op::min, "min", "", WORD_INTS, "", "d, a, b", D::any, W::reset},
    {Op::max, "max", "", WORD_INTS, "", "d, a, b", D::any, W::reset},
    {Op::sad, "sad", "", WORD_INTS, "", "d, a, b, c", D::any, W::reset},
    {Op::dp4a, "dp4a", "", "u32 s32", "u32 s32", "d, a, b:S, c", D::any, W::reset},
    {Op::dp2a, "dp2a", "(lo|hi)", "u32 s32", "u32 s32", "d, a, b:S, c", D::any, W::reset},
    {Op::bfe, "bfe", "", "u32 u64 s32 s64", "", "d, a, b:u32, c:u32", D::extract, W::reset},
    {Op::bfi, "bfi", "", "b32 b64", "", "d, a, b, c:u32, e:u32", D::insert, W::reset},
    {Op::bfind, "bfind", "{shiftamt}", "u32 u64 s32 s64", "", "d:u32, a", D::any, W::reset},
    {Op::brev, "brev", "", "b32 b64", "", "d, a", D::extract, W::reset},
    {Op::clz, "clz", "", "b32 b64", "", "d:u32, a", D::any, W::reset},
    {Op::popc, "popc", "", "b32 b64", "", "d:u32, a", D::any, W::reset},
    {Op::fns, "fns", "", "b32", "", "d, a, b, c:s32", D::any, W::reset},
    {Op::szext, "szext", "(wrap|clamp)", "u32 s32", "", "d, a, b:u32", D::extract, W::reset},
    {Op::bmsk, "bmsk", "(wrap|clamp)", "b32", "", "d, a, b", D::any, W::reset},
};

// 9.7.8: logic and shifts.
const Row kLogic[] = {
    {Op::and_, "and", "", "pred", "", "d, !a, !b", D::compare, W::none},
    {Op::and_, "and", "", BITS, "", "d, a, b", D::bitwise, W::reset},
    {Op::or_, "or", "", "pred", "", "d, !a, !b", D::compare, W::none},
    {Op::or_, "or", "", BITS, "", "d, a, b", D::bitwise, W::or_},
    {Op::xor_, "xor", "", "pred", "", "d, !a, !b", D::compare, W::none},
    {Op::xor_, "xor", "", BITS, "", "d, a, b", D::bitwise, W::reset},
    {Op::not_, "not", "", "pred", "", "d, !a", D::compare, W::none},
    {Op::not_, "not", "", BITS, "", "d, a", D::bitwise, W::not_},
    {Op::cnot, "cnot", "", BITS, "", "d, a", D::any, W::reset},
    {Op::lop3, "lop3", "", "b32", "", "d, a, b, c, e:u32", D::bitwise, W::reset},
    {Op::shl, "shl", "", BITS, "", "d, a, b:u32", D::shift, W::shl},
    {Op::shr, "shr", "", "s16 s32 s64", "", "d, a, b:u32", D::shift, W::shr},
    {Op::shr, "shr", "", BITS " u16 u32 u64", "", "d, a, b:u32", D::shift, W::reset},
    {Op::shf, "shf", "(l|r) (clamp|wrap)", "b32", "", "d, a, b, c:u32", D::funnel, W::reset},
};

// 9.7.3 to 9.7.5: floating point in f32, f64, f16 and bf16.
const Row kFloat[] = {
    {Op::add, "add", RND " {ftz} {sat}", "f32", "", "d, a, b", D::any, W::none},
    {Op::add, "add", RND, "f64", "", "d, a, b", D::any, W::none},
    {Op::add, "add", "{rn} {ftz} {sat}", "f16", "", "d, a, b", D::any, W::none},
    {Op::add, "add", "{rn} {ftz} {sat}", "f16x2", "", "d, a, b", D::half2, W::none},
    {Op::add, "add", "{rn}", "bf16", "", "d, a, b", D::any, W::none},
    {Op::add, "add", "{rn}", "bf16x2", "", "d, a, b", D::half2, W::none},
    {Op::sub, "sub", RND " {ftz} {sat}", "f32", "", "d, a, b", D::any, W::none},
    {Op::sub, "sub", RND, "f64", "", "d, a, b", D::any, W::none},
    {Op::sub, "sub", "{rn} {ftz} {sat}", "f16", "", "d, a, b", D::any, W::none},
    {Op::sub, "sub", "{rn} {ftz} {sat}", "f16x2", "", "d, a, b", D::half2, W::none},
    {Op::sub, "sub", "{rn}", "bf16", "", "d, a, b", D::any, W::none},
    {Op::sub, "sub", "{rn}", "bf16x2", "", "d, a, b", D::half2, W::none},
    {Op::mul, "mul", RND " {ftz} {sat}", "f32", "", "d, a, b", D::any, W::none},
    {Op::mul, "mul", RND, "f64", "", "d, a, b", D::any, W::none},
    {Op::mul, "mul", "{rn} {ftz} {sat}", "f16", "", "d, a, b", D::any, W::none},
    {Op::mul, "mul", "{rn} {ftz} {sat}", "f16x2", "", "d, a, b", D::half2, W::none},
    {Op::mul, "mul", "{rn}", "bf16", "", "d, a, b", D::any, W::none},
    {Op::mul, "mul", "{rn}", "bf16x2", "", "d, a, b", D::half2, W::none},
    {Op::fma, "fma", RND_REQUIRED " {ftz} {sat}", "f32", "", "d, a, b, c", D::any, W::none},
    {Op::fma, "fma", RND_REQUIRED, "f64", "", "d, a, b, c", D::any, W::none},
    {Op::fma, "fma", "rn {ftz} {sat|relu}", "f16", "", "d, a, b, c", D::any, W::none},
    {Op::fma, "fma", "rn {ftz} {sat|relu}", "f16x2", "", "d, a, b, c", D::half2, W::none},
    {Op::fma, "fma", "rn {relu}", "bf16", "", "d, a, b, c", D::any, W::none},
    {Op::fma, "fma", "rn {relu}", "bf16x2", "", "d, a, b, c", D::half2, W::none},
    {Op::mad, "mad", RND_REQUIRED " {ftz} {sat}", "f32", "", "d, a, b, c", D::any, W::none},
    {Op::mad, "mad", RND_REQUIRED, "f64", "", "d, a, b, c", D::any, W::none},
    {Op::div, "div", "(approx|full) {ftz}", "f32", "", "d, a, b", D::any, W::none},
    {Op::div, "div", RND_REQUIRED " {ftz}", "f32", "", "d, a, b", D::any, W::none},
    {Op::div, "div", RND_REQUIRED, "f64", "", "d, a, b", D::any, W::none},
    {Op::abs, "abs", "{ftz}", "f32 f16", "", "d, a", D::any, W::none},
    {Op::abs, "abs", "", "f64 bf16", "", "d, a", D::any, W::none},
    {Op::abs, "abs", "{ftz}", "f16x2", "", "d, a", D::half2, W::none},
    {Op::abs, "abs", "", "bf16x2", "", "d, a", D::half2, W::none},
    {Op::neg, "neg", "{ftz}", "f32 f16", "", "d, a", D::any, W::none},
    {Op::neg, "neg", "", "f64 bf16", "", "d, a", D::any, W::none},
    {Op::neg, "neg", "{ftz}", "f16x2", "", "d, a", D::half2, W::none},
    {Op::neg, "neg", "", "bf16x2", "", "d, a", D::half2, W::none},
    {Op::min, "min", "{ftz} {NaN} {xorsign.abs}", "f32 f16", "", "d, a, b", D::any, W::none},
    {Op::min, "min", "{ftz} {NaN} {xorsign.abs}", "f16x2", "", "d, a, b", D::half2, W::none},
    {Op::min, "min", "{NaN} {xorsign.abs}", "bf16", "", "d, a, b", D::any, W::none},
    {Op::min, "min", "{NaN} {xorsign.abs}", "bf16x2", "", "d, a, b", D::half2, W::none},
    {Op::min, "min", "", "f64", "", "d, a, b", D::any, W::none},
    {Op::max, "max", "{ftz} {NaN} {xorsign.abs}", "f32 f16", "", "d, a, b", D::any, W::none},
    {Op::max, "max", "{ftz} {NaN} {xorsign.abs}", "f16x2", "", "d, a, b", D::half2, W::none},
    {Op::max, "max", "{NaN} {xorsign.abs}", "bf16", "", "d, a, b", D::any, W::none},
    {Op::max, "max", "{NaN} {xorsign.abs}", "bf16x2", "", "d, a, b", D::half2, W::none},
    {Op::max, "max", "", "f64", "", "d, a, b", D::any, W::none},
    {Op::rcp, "rcp", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::rcp, "rcp", RND_REQUIRED " {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::rcp, "rcp", RND_REQUIRED, "f64", "", "d, a", D::any, W::none},
    {Op::rcp, "rcp", "approx ftz", "f64", "", "d, a", D::any, W::none},
    {Op::sqrt, "sqrt", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::sqrt, "sqrt", RND_REQUIRED " {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::sqrt, "sqrt", RND_REQUIRED, "f64", "", "d, a", D::any, W::none},
    {Op::rsqrt, "rsqrt", "approx {ftz}", "f32 f64", "", "d, a", D::any, W::none},
    {Op::sin, "sin", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::cos, "cos", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::lg2, "lg2", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::ex2, "ex2", "approx {ftz}", "f32", "", "d, a", D::any, W::none},
    {Op::ex2, "ex2", "approx", "f16", "", "d, a", D::any, W::none},
    {Op::ex2, "ex2", "approx", "f16x2", "", "d, a", D::half2, W::none},
    {Op::ex2, "ex2", "approx ftz", "bf16", "", "d, a", D::any, W::none},
    {Op::ex2, "ex2", "approx ftz", "bf16x2", "", "d, a", D::half2, W::none},
    {Op::tanh, "tanh", "approx", "f32 f16 bf16", "", "d, a", D::any, W::none},
    {Op::tanh, "tanh", "approx", "f16x2 bf16x2", "", "d, a", D::half2, W::none},
    {Op::testp, "testp", "(finite|infinite|number|notanumber|normal|subnormal)", "f32 f64", "",
     "p:pred, a", D::compare, W::none},
    {Op::copysign, "copysign", "", "f32 f64", "", "d, a, b", D::any, W::none},
};

// 9.7.6, 9.7.7: comparison and selection. The rows with a boolean operator take a predicate last.
#define SETP(test, flags, types, result)                                                    \
  {Op::setp, "setp", test flags, types, "", result ", a, b", D::compare, W::none}, {        \
    Op::setp, "setp", test flags " " BOOL, types, "", result ", a, b, !c:pred", D::compare, \
        W::none                                                                             \
  }
#define SET(test, flags, types, source_types)                                                 \
  {Op::set, "set", test flags, types, source_types, "d, a:S, b:S", D::any, W::reset}, {       \
    Op::set, "set", test flags " " BOOL, types, source_types, "d, a:S, b:S, !c:pred", D::any, \
        W::reset                                                                              \
  }
const Row kCompare[] = {
    SETP("(eq|ne)", "", BITS, "p:pred|q"),
    SETP(COMPARE_SIGNED, "", "s16 s32 s64", "p:pred|q"),
    SETP(COMPARE_UNSIGNED, "", "u16 u32 u64", "p:pred|q"),
    SETP(COMPARE_FLOAT, " {ftz}", "f32", "p:pred|q"),
    SETP(COMPARE_FLOAT, "", "f64", "p:pred|q"),
    SETP(COMPARE_FLOAT, " {ftz}", "f16", "p:pred"),
    SETP(COMPARE_FLOAT, "", "bf16", "p:pred"),
    SET("(eq|ne)", "", "u32 s32 f32", BITS),
    SET(COMPARE_SIGNED, "", "u32 s32 f32", "s16 s32 s64"),
    SET(COMPARE_UNSIGNED, "", "u32 s32 f32", "u16 u32 u64"),
    SET(COMPARE_FLOAT, " {ftz}", "u32 s32 f32", "f32"),
    SET(COMPARE_FLOAT, "", "u32 s32 f32", "f64"),
    SET(COMPARE_FLOAT, " {ftz}", "u16 s16 u32 s32 f16", "f16"),
    SET(COMPARE_FLOAT, "", "u16 s16 u32 s32 bf16", "bf16"),
    {Op::set, "set", COMPARE_FLOAT " {ftz}", "f16x2 u32 s32", "f16x2", "d, a:S, b:S", D::half2,
     W::reset},
    {Op::set, "set", COMPARE_FLOAT, "bf16x2 u32 s32", "bf16x2", "d, a:S, b:S", D::half2, W::reset},
    {Op::slct, "slct", "", MOVE_TYPES, "s32", "d, a, b, c:S", D::choose, W::reset},
    {Op::slct, "slct", "{ftz}", MOVE_TYPES, "f32", "d, a, b, c:S", D::choose, W::reset},
};

// 9.7.13: atomics.
const Row kAtomics[] = {
    {Op::atom, "atom", ATOM_HEAD "add", "u32 s32 u64 f32 f64", "", "d, [a], b, e:policy?",
     D::atomic, W::reset},
    {Op::atom, "atom", ATOM_HEAD "add noftz", "f16 f16x2 bf16 bf16x2", "", "d, [a], b, e:policy?",
     D::atomic, W::none},
    {Op::atom, "atom", ATOM_HEAD "(and|or|xor)", "b32 b64", "", "d, [a], b, e:policy?", D::atomic,
     W::reset},
    {Op::atom, "atom", ATOM_HEAD "exch", "b32 b64", "", "d, [a], b, e:policy?", D::atomic,
     W::reset},
    {Op::atom, "atom", "{relaxed|acquire|release|acq_rel} " SCOPE " " ATOM_SPACE " cas",
     "b16 b32 b64", "", "d, [a], b, c", D::atomic, W::reset},
    {Op::atom, "atom", ATOM_HEAD "(inc|dec)", "u32", "", "d, [a], b, e:policy?", D::atomic,
     W::reset},
    {Op::atom, "atom", ATOM_HEAD "(min|max)", "u32 s32 u64 s64", "", "d, [a], b, e:policy?",
     D::atomic, W::reset},
    {Op::red, "red", RED_HEAD "add", "u32 s32 u64 f32 f64", "", "[a], b, e:policy?", D::atomic,
     W::reset},
    {Op::red, "red", RED_HEAD "add noftz", "f16 f16x2 bf16 bf16x2", "", "[a], b, e:policy?",
     D::atomic, W::none},
    {Op::red, "red", RED_HEAD "(and|or|xor)", "b32 b64", "", "[a], b, e:policy?", D::atomic,
     W::reset},
    {Op::red, "red", RED_HEAD "(inc|dec)", "u32", "", "[a], b, e:policy?", D::atomic, W::reset},
    {Op::red, "red", RED_HEAD "(min|max)", "u32 s32 u64 s64", "", "[a], b, e:policy?", D::atomic,
     W::reset},
};

// 9.7.12, 9.7.13, 9.7.19: control, synchronisation, warps.
const Row kControl[] = {
    {Op::bra, "bra", "{uni}", "", "", "&a", D::none, W::none},
    {Op::brx, "brx", "idx {uni}", "", "", "a:u32, &b", D::none, W::none},
    {Op::call, "call", "{uni}", "", "", "", D::none, W::none},
    {Op::ret, "ret", "{uni}", "", "", "", D::none, W::none},
    {Op::exit, "exit", "", "", "", "", D::none, W::none},
    {Op::trap, "trap", "", "", "", "", D::none, W::none},
    {Op::brkpt, "brkpt", "", "", "", "", D::none, W::none},
    {Op::nanosleep, "nanosleep", "", "u32", "", "a", D::none, W::none},

    {Op::bar, "bar", "warp sync", "", "", "a:u32", D::none, W::none},
    {Op::bar, "bar", "{cta} sync", "", "", "a:u32, b:u32?", D::none, W::none},
    {Op::bar, "bar", "{cta} arrive", "", "", "a:u32, b:u32", D::none, W::none},
    {Op::bar, "bar", "{cta} red popc", "u32", "", "d, a:u32, b:u32?, !c:pred", D::vote, W::reset},
    {Op::bar, "bar", "{cta} red (and|or)", "pred", "", "p, a:u32, b:u32?, !c:pred", D::vote,
     W::none},
    {Op::barrier, "barrier", "{cta} sync {aligned}", "", "", "a:u32, b:u32?", D::none, W::none},
    {Op::barrier, "barrier", "{cta} arrive {aligned}", "", "", "a:u32, b:u32", D::none, W::none},
    {Op::barrier, "barrier", "{cta} red popc {aligned}", "u32", "", "d, a:u32, b:u32?, !c:pred",
     D::vote, W::reset},
    {Op::barrier, "barrier", "{cta} red (and|or) {aligned}", "pred", "",
     "p, a:u32, b:u32?, !c:pred", D::vote, W::none},
    {Op::membar, "membar", "(cta|gl|sys)", "", "", "", D::none, W::none},
    {Op::fence, "fence", "{sc|acq_rel} (cta|gpu|sys)", "", "", "", D::none, W::none},

    {Op::shfl, "shfl", "sync (up|down|bfly|idx)", "b32", "", "d|p, a, b:u32, c:u32, e:u32",
     D::shuffle, W::shfl},
    {Op::vote, "vote", "sync (all|any|uni)", "pred", "", "p, !a, b:u32", D::vote, W::none},
    {Op::vote, "vote", "sync ballot", "b32", "", "d, !a:pred, b:u32", D::vote, W::reset},
    {Op::match, "match", "any sync", "b32 b64", "", "d:b32, a, b:u32", D::vote, W::reset},
    {Op::match, "match", "all sync", "b32 b64", "", "d:b32|p, a, b:u32", D::vote, W::reset},
    {Op::redux, "redux", "sync (add|min|max)", "u32 s32", "", "d, a, b:u32", D::vote, W::reset},
    {Op::redux, "redux", "sync (and|or|xor)", "b32", "", "d, a, b:u32", D::vote, W::reset},
    {Op::activemask, "activemask", "", "b32", "", "d", D::uniform, W::reset},
};

template <size_t N>
void append(std::vector<Row>& rows, const Row (&part)[N]) {
  rows.insert(rows.end(), std::begin(part), std::end(part));
}

std::vector<Row> make_table() {
  std::vector<Row> rows;
  append(rows, kMovement);
  append(rows, kInteger);
  append(rows, kLogic);
  append(rows, kFloat);
  append(rows, kCompare);
  append(rows, kAtomics);
  append(rows, kControl);
  append_tensor_rows(rows);
  return rows;
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> rows = make_table();
  return rows;
}

}  // namespace assay::ptx
