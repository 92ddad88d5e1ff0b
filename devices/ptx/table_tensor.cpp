// Rows of tensor cores (PTX ISA 9.7.14), asynchronous copies (9.7.9.25) and mbarrier (9.7.13.15).
#include "devices/ptx/table.hpp"

namespace assay::ptx {
namespace {

using D = DefinednessRule;
using W = WrapRule;

#define SHARED "{shared|shared::cta}"
#define WMMA_SPACE "{global|shared|shared::cta}"
#define WMMA_SHAPE "(m16n16k16|m32n8k16|m8n32k16)"
#define LAYOUT "(row|col)"
#define MMA "sync {aligned} "
#define COPY_SPACES "(shared|shared::cta) global"
#define PREFETCH "{L2::64B|L2::128B|L2::256B}"

const Row kMatrix[] = {
    {Op::ldmatrix, "ldmatrix", "sync {aligned} m8n8 (x1|x2|x4) {trans} " SHARED, "b16", "",
     "d:b32*, [a]", D::load, W::reset},
    {Op::stmatrix, "stmatrix", "sync {aligned} m8n8 (x1|x2|x4) {trans} " SHARED, "b16", "",
     "[a], b:b32*", D::store, W::reset},
    {Op::movmatrix, "movmatrix", "sync {aligned} m8n8 trans", "b16", "", "d:b32, a:b32", D::matrix,
     W::reset},

    {Op::mma, "mma", MMA "(m16n8k8|m16n8k16) row col", "f16 f32", "f16", "d#D, a#A, b#B, c#C",
     D::matrix, W::none, true},
    {Op::mma, "mma", MMA "(m16n8k8|m16n8k16) row col", "f32", "bf16", "d#D, a#A, b#B, c#C",
     D::matrix, W::none, true},
    {Op::mma, "mma", MMA "(m16n8k4|m16n8k8) row col", "f32", "tf32", "d#D, a#A, b#B, c#C",
     D::matrix, W::none, true},
    {Op::mma, "mma", MMA "(m8n8k16|m16n8k16|m16n8k32) row col {satfinite}", "s32", "s8 u8",
     "d#D, a#A, b#B, c#C", D::matrix, W::reset, true},
    // sm_89
    {Op::mma, "mma", MMA "m16n8k32 row col", "f32", "e4m3 e5m2", "d#D, a#A, b#B, c#C", D::matrix,
     W::none, true},

    {Op::wmma, "wmma", "load (a|b) " MMA LAYOUT " " WMMA_SHAPE " " WMMA_SPACE, "f16 bf16 s8 u8", "",
     "d#D, [a], b:u32?", D::load, W::reset},
    {Op::wmma, "wmma", "load (a|b) " MMA LAYOUT " m16n16k8 " WMMA_SPACE, "tf32", "",
     "d#D, [a], b:u32?", D::load, W::reset},
    {Op::wmma, "wmma", "load c " MMA LAYOUT " " WMMA_SHAPE " " WMMA_SPACE, "f16 f32 s32", "",
     "d#D, [a], b:u32?", D::load, W::reset},
    {Op::wmma, "wmma", "load c " MMA LAYOUT " m16n16k8 " WMMA_SPACE, "f32", "", "d#D, [a], b:u32?",
     D::load, W::reset},
    {Op::wmma, "wmma", "store d " MMA LAYOUT " " WMMA_SHAPE " " WMMA_SPACE, "f16 f32 s32", "",
     "[a], b#D, c:u32?", D::store, W::reset},
    {Op::wmma, "wmma", "store d " MMA LAYOUT " m16n16k8 " WMMA_SPACE, "f32", "", "[a], b#D, c:u32?",
     D::store, W::reset},
    // f16: the types are those of d and c.
    {Op::wmma, "wmma", "mma " MMA LAYOUT " " LAYOUT " " WMMA_SHAPE, "f16 f32", "f16 f32",
     "d#D, a#A, b#B, c#C", D::matrix, W::none},
    {Op::wmma, "wmma", "mma " MMA LAYOUT " " LAYOUT " " WMMA_SHAPE, "f32", "bf16",
     "d#D, a#A, b#B, c#C", D::matrix, W::none, true},
    {Op::wmma, "wmma", "mma " MMA LAYOUT " " LAYOUT " m16n16k8", "f32", "tf32",
     "d#D, a#A, b#B, c#C", D::matrix, W::none, true},
    {Op::wmma, "wmma", "mma " MMA LAYOUT " " LAYOUT " " WMMA_SHAPE " {satfinite}", "s32", "s8 u8",
     "d#D, a#A, b#B, c#C", D::matrix, W::reset, true},
};

const Row kAsync[] = {
    {Op::cp, "cp", "async (ca|cg) " COPY_SPACES " " PREFETCH, "", "", "[a], [b], c:u32, e:u32^?",
     D::store, W::reset},
    {Op::cp, "cp", "async (ca|cg) " COPY_SPACES " L2::cache_hint " PREFETCH, "", "",
     "[a], [b], c:u32, e:u32^?, f:policy", D::store, W::reset},
    {Op::cp, "cp", "async commit_group", "", "", "", D::none, W::none},
    {Op::cp, "cp", "async wait_group", "", "", "a:u32", D::none, W::none},
    {Op::cp, "cp", "async wait_all", "", "", "", D::none, W::none},
    {Op::cp, "cp", "async mbarrier arrive {noinc} " SHARED, "b64", "", "[a]", D::none, W::reset},

    {Op::mbarrier, "mbarrier", "init " SHARED, "b64", "", "[a], b:u32", D::none, W::reset},
    {Op::mbarrier, "mbarrier", "inval " SHARED, "b64", "", "[a]", D::none, W::reset},
    {Op::mbarrier, "mbarrier", "(arrive|arrive_drop) {release} {cta} " SHARED, "b64", "",
     "d, [a], b:u32?", D::uniform, W::reset},
    {Op::mbarrier, "mbarrier", "(arrive|arrive_drop) noComplete {release} {cta} " SHARED, "b64", "",
     "d, [a], b:u32", D::uniform, W::reset},
    {Op::mbarrier, "mbarrier", "test_wait {acquire} {cta} " SHARED, "b64", "", "p:pred, [a], b",
     D::uniform, W::none},
    {Op::mbarrier, "mbarrier", "test_wait parity {acquire} {cta} " SHARED, "b64", "",
     "p:pred, [a], b:u32", D::uniform, W::none},
    {Op::mbarrier, "mbarrier", "try_wait {acquire} {cta} " SHARED, "b64", "",
     "p:pred, [a], b, c:u32?", D::uniform, W::none},
    {Op::mbarrier, "mbarrier", "try_wait parity {acquire} {cta} " SHARED, "b64", "",
     "p:pred, [a], b:u32, c:u32?", D::uniform, W::none},
    {Op::mbarrier, "mbarrier", "pending_count", "b64", "", "d:u32, a", D::uniform, W::reset},
};

}  // namespace

void append_tensor_rows(std::vector<Row>& rows) {
  rows.insert(rows.end(), std::begin(kMatrix), std::end(kMatrix));
  rows.insert(rows.end(), std::begin(kAsync), std::end(kAsync));
}

}  // namespace assay::ptx
