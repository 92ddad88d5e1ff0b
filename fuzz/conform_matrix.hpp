// What tensor cores do with a sum of products, measured as Fasi, Higham, Mikaitis & Pranesh do
// ("Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021): designed
// probes say what is kept, and a model of the adder is fitted to random data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/conform_programs.hpp"

namespace assay {

/// A warp's matrices as bits, row by row.
struct MatrixOperands {
  std::vector<uint32_t> a, b, c;
};

/// Bytes of a matrix in a warp's input; for mma, of all registers of a lane.
struct MatrixPlaces {
  int in_bytes = 0, out_bytes = 0;  ///< of a thread
  int a = 0, b = 0, c = 0;          ///< mma: first word of a lane; wmma: first byte of a warp
  int leading_a = 0, leading_b = 0, leading_c = 0, leading_d = 0;  ///< wmma: elements of a line
};
MatrixPlaces matrix_places(const ConformProduct& product);

/// Puts operands into a warp's input, takes them out of it, and a result out of its output.
void put_matrices(const ConformProduct& product, const MatrixOperands& operands, uint8_t* in);
MatrixOperands take_matrices(const ConformProduct& product, const uint8_t* in);
std::vector<uint32_t> take_result(const ConformProduct& product, const uint8_t* out);

/// Operands of warp `warp`: a probe, or random data of several shapes.
MatrixOperands make_matrices(const ConformProduct& product, Random& random, int64_t warp);

/// An adder: `step` products and the accumulator are aligned to the largest exponent (of products
/// before normalisation when `raw_exponents`), cut to 2^(-23 - e) of it towards zero, and added.
struct AdderModel {
  int step = 0;
  int extra_bits = 0;
  bool raw_exponents = true;
  /// An f32 result is rounded to nearest, else towards zero. f16 is rounded to nearest; here: what
  /// was cut to f32 before.
  bool rounds_to_nearest = false;
  /// 8-bit products: those at places 0 and 1 of every four are added first, then those at 2 and 3,
  /// as f16 (whose exponents count).
  bool pairs = false;
};

/// What the probes said.
struct ProbeAnswers {
  std::optional<int> extra_bits;    ///< largest e at which a product survives beside larger ones
  std::optional<int> extra_bits_c;  ///< the same when the accumulator is the largest
  int step = 0;                     ///< products that are added at once with the first two
  std::string rounding;             ///< "towards zero", "to nearest", "down", "?"
  bool subnormal_inputs = false, subnormal_accumulator = false;
  std::optional<bool> subnormal_results;  ///< where the input's range reaches them
};

struct MatrixTally {
  int64_t elements = 0, equal = 0, within = 0, different = 0;
  double emulator_share = 0, hardware_share = 0;  ///< of the envelope, the largest
  std::vector<std::string> examples;
  ProbeAnswers probes;
  std::vector<AdderModel> models;  ///< that give every finite result of the card bit for bit
  AdderModel best;                 ///< the one that gives most
  int64_t fitted = 0, best_misses = 0;
};

/// `in`, `emulator` and `hardware` of all warps.
MatrixTally judge_matrices(const ConformProgram& program, const std::vector<uint8_t>& in,
                           const std::vector<uint8_t>& emulator,
                           const std::vector<uint8_t>& hardware);

/// One element: d of k values of a, k of b, and c by the model.
double model_sum(const AdderModel& model, const ptx::Instruction& product, const double* a,
                 const double* b, double c);

/// Warps whose operands are probes: element (0, 0) of a warp is one.
inline constexpr int64_t kProbeWarps = 128;
ProbeAnswers read_probes(const ConformProduct& product, const std::vector<uint32_t>& results);

/// Tries every model on every finite result that rounding leaves open.
class ModelFit {
 public:
  explicit ModelFit(const ConformProduct& product);
  void add(const std::vector<double>& a, const std::vector<double>& b, double c, uint32_t hardware);
  void finish(MatrixTally& tally) const;

 private:
  struct Candidate {
    AdderModel model;
    int64_t misses = 0;
  };
  ConformProduct product_;
  std::vector<Candidate> candidates_;
  int64_t fitted_ = 0;
};

}  // namespace assay
