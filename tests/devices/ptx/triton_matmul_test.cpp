// Triton's matrix products for sm_80, whole: cp.async pipelines, ldmatrix, mma, against plain
// loops. Exact data: integers whose sums fit every accumulator, so that any order gives the same.
#include <bit>
#include <cmath>
#include <functional>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

constexpr int kTile = 128;  ///< rows of a, columns of b

/// Small integers, different along rows and columns.
int element(int matrix, int i, int j) { return (i * 31 + j * (matrix == 0 ? 17 : 13)) % 7 - 3; }

uint16_t f16_bits(float x) { return f32_to_f16_bits_rn(std::bit_cast<uint32_t>(x)); }
uint16_t bf16_bits(float x) { return f32_to_bf16_bits_rn(std::bit_cast<uint32_t>(x)); }

/// One block of 128 threads multiplies 128 x k by k x 128; rows of all matrices are k apart
/// (Triton 3.6: parameters a, b, c, k, then two scratch pointers).
template <class T, class R>
void check(const std::string& file, int k, int64_t shared, const std::function<T(int)>& encode,
           const std::function<R(int)>& expected, uint64_t seed = 0) {
  Runner runner(read_file(data_folder() / "triton_sm80" / file));
  std::vector<T> a(static_cast<size_t>(kTile) * k), b(static_cast<size_t>(k) * k);
  for (int i = 0; i < kTile; ++i) {
    for (int l = 0; l < k; ++l) a[i * k + l] = encode(element(0, i, l));
  }
  for (int l = 0; l < k; ++l) {
    for (int j = 0; j < kTile; ++j) b[l * k + j] = encode(element(1, l, j));
  }
  const uint64_t pa = runner.array<T>("a", a, false), pb = runner.array<T>("b", b, false);
  const uint64_t pc =
      runner.array<R>("c", std::vector<R>(static_cast<size_t>(kTile) * k), true, true, true);
  LaunchConfig config = threads(128);
  config.shared_bytes = shared;
  config.warp_seed = seed;
  config.mma_errors.seed = seed;
  ASSERT_EQ(runner.run({pa, pb, pc, static_cast<uint64_t>(k), 0, 0}, config, "M"),
            RunStatus::completed)
      << runner.all_messages();
  EXPECT_TRUE(runner.diagnostics().empty()) << runner.all_messages();
  const std::vector<R> got = runner.read<R>("c");
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += element(0, i, l) * element(1, l, j);
      ASSERT_EQ(got[i * k + j], expected(sum)) << i << "," << j;
    }
  }
}

TEST(TritonMatmul, Fp16) {
  for (uint64_t seed : {0, 5}) {
    check<uint16_t, uint16_t>(
        "mm_fp161.ptx", 192, 65536, [](int x) { return f16_bits(static_cast<float>(x)); },
        [](int x) { return f16_bits(static_cast<float>(x)); }, seed);
  }
}

TEST(TritonMatmul, Bf16) {
  check<uint16_t, uint16_t>(
      "mm_bf162.ptx", 128, 65536, [](int x) { return bf16_bits(static_cast<float>(x)); },
      [](int x) { return bf16_bits(static_cast<float>(x)); });
}

TEST(TritonMatmul, Int8) {
  check<int8_t, int32_t>(
      "mm_i86.ptx", 192, 32768, [](int x) { return static_cast<int8_t>(x); },
      [](int x) { return x; });
}

TEST(TritonMatmul, Tf32) {
  check<float, float>(
      "mm_fp323.ptx", 128, 131072, [](int x) { return static_cast<float>(x); },
      [](int x) { return static_cast<float>(x); });
}

TEST(TritonMatmul, Fp8) {  // products in f16: e5m2 is widened
  check<uint8_t, float>(
      "mm_fp8e55.ptx", 128, 32768,
      [](int x) { return static_cast<uint8_t>(f16_bits(static_cast<float>(x)) >> 8); },
      [](int x) { return static_cast<float>(x); });
}

/// Flex attention as Inductor makes it (head dimension 64, 1,024 keys, no mask): one buffer serves
/// as q, k and v; a block of 128 threads takes 128 queries.
TEST(TritonAttention, MatchesTheFormula) {
  constexpr int kKeys = 1024, kDim = 64, kQueries = 128, kBlock = 3;
  Runner runner(read_file(data_folder() / "triton_sm80" / "fa64.ptx"));
  const std::string entry = runner.module().functions.back().name;
  std::vector<uint16_t> x(static_cast<size_t>(kKeys) * kDim);
  std::vector<double> value(x.size());
  for (int i = 0; i < kKeys; ++i) {
    for (int c = 0; c < kDim; ++c) {
      const float v = static_cast<float>((i * 29 + c * 23 + i * c % 11) % 17 - 8) / 8;
      x[i * kDim + c] = f16_bits(v);
      value[i * kDim + c] = v;
    }
  }
  const uint64_t px = runner.array<uint16_t>("x", x, false);
  const uint64_t lse = runner.array<float>("lse", std::vector<float>(kKeys));
  const uint64_t blocks = runner.array<int32_t>("kv_num_blocks", {1}, false);
  const uint64_t index = runner.array<int32_t>("kv_indices", {0}, false);
  const uint64_t out =
      runner.array<uint16_t>("out", std::vector<uint16_t>(x.size()), true, true, true);
  LaunchConfig config = threads(128, 8);
  config.blocks = {kBlock};
  config.shared_bytes = 49152;
  ASSERT_EQ(runner.run({px, lse, 0, blocks, index, 0, 0, out, 0, 0}, config, entry),
            RunStatus::completed)
      << runner.all_messages();
  EXPECT_TRUE(runner.diagnostics().empty()) << runner.all_messages();
  const std::vector<uint16_t> got = runner.read<uint16_t>("out");
  for (int q = kBlock * kQueries; q < (kBlock + 1) * kQueries; q += 5) {
    std::vector<double> score(kKeys), sum(kDim);
    double total = 0;
    for (int k = 0; k < kKeys; ++k) {
      double dot = 0;
      for (int c = 0; c < kDim; ++c) dot += value[q * kDim + c] * value[k * kDim + c];
      score[k] = std::exp(dot / 8);
      total += score[k];
      for (int c = 0; c < kDim; ++c) sum[c] += score[k] * value[k * kDim + c];
    }
    for (int c = 0; c < kDim; ++c) {
      const float result = std::bit_cast<float>(f16_to_f32_bits(got[q * kDim + c]));
      // p is rounded to f16 (2^-11), and so is the output; |v| is at most 1.
      ASSERT_NEAR(result, sum[c] / total, 0x1p-9) << q << "," << c;
    }
  }
}

/// A pipeline that waits for one group too few reads bytes that have not arrived.
TEST(TritonMatmul, WaitForTooFewGroupsIsFound) {
  std::string text = read_file(data_folder() / "triton_sm80" / "mm_fp161.ptx");
  const std::string wait = "cp.async.wait_group \t2;";
  const size_t at = text.find(wait);
  ASSERT_NE(at, text.npos);
  text.replace(at, wait.size(), "cp.async.wait_group \t4;");
  Runner runner(text);
  const size_t count = 128 * 128;
  const uint64_t a = runner.array<uint16_t>("a", std::vector<uint16_t>(count, 0x3c00), false);
  const uint64_t b = runner.array<uint16_t>("b", std::vector<uint16_t>(count, 0x3c00), false);
  const uint64_t c = runner.array<uint16_t>("c", std::vector<uint16_t>(count), true, true, true);
  LaunchConfig config = threads(128);
  config.shared_bytes = 65536;
  ASSERT_EQ(runner.run({a, b, c, 128, 0, 0}, config, "M"), RunStatus::completed);
  EXPECT_GT(runner.count(DiagnosticKind::uninitialised), 0);
}

}  // namespace
}  // namespace assay::ptx
