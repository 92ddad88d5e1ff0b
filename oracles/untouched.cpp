#include "oracles/untouched.hpp"

#include <algorithm>
#include <cstring>

#include "oracles/number_text.hpp"

namespace assay {
namespace {

/// Evaluates `valid`: elements of integer operands, as the kernel wrote them where it did.
class ValidScope {
 public:
  ValidScope(const Instance& instance, const OutputReader& outputs)
      : instance_(instance), outputs_(outputs) {
    scope_.value = [this](std::string_view wanted) -> std::optional<int64_t> {
      const auto found = instance_.names.find(std::string(wanted));
      if (found != instance_.names.end()) return found->second;
      const Tensor* scalar = instance_.find(wanted);
      if (scalar == nullptr || !scalar->is_scalar()) return std::nullopt;
      return scalar->scalar_integer;
    };
    scope_.call = [this](const Expr& call) -> std::optional<int64_t> {
      return instance_.evaluate(call);
    };
    scope_.element = [this](const Expr& node) { return element(node); };
  }
  int64_t evaluate(const Expr& expr) const { return evaluate_integer(expr, scope_); }

 private:
  std::optional<int64_t> element(const Expr& node) const {
    if (node.kind != Expr::Kind::index) return std::nullopt;
    const Tensor* source = instance_.find(node.operands[0]->text);
    if (source == nullptr || !source->present) return std::nullopt;
    std::vector<int64_t> at;
    for (size_t k = 1; k < node.operands.size(); ++k) {
      at.push_back(evaluate(*node.operands[k]));
      if (at.back() < 0 || at.back() >= source->shape[k - 1]) return std::nullopt;
    }
    uint8_t bits[8] = {};
    uint8_t written = 0;
    if (source->is_judged())
      outputs_.read(*source, source->linear(at), 1, bits, &written);
    else
      logical_values(instance_, *source, source->linear(at), 1, bits);
    return static_cast<int64_t>(
        to_integer(source->dtype, packed_bits(bits, 0, byte_size(source->dtype))));
  }

  const Instance& instance_;
  const OutputReader& outputs_;
  IntegerScope scope_;
};

}  // namespace

void judge_untouched(CaseState& state, const Tensor& output, const char* rule,
                     const std::string& why, const std::function<bool(int64_t)>& free) {
  constexpr int64_t kRun = 4096;
  const int bytes = byte_size(output.dtype);
  std::vector<uint8_t> got(static_cast<size_t>(kRun * bytes));
  std::vector<uint8_t> before(got.size());
  std::vector<uint8_t> written(kRun);
  for (const auto& [first, last] : state.outputs.stored(output)) {
    for (int64_t at = first; at < last; at += kRun) {
      const int64_t count = std::min(kRun, last - at);
      state.outputs.read(output, at, count, got.data(), written.data());
      logical_values(state.instance, output, at, count, before.data());
      for (int64_t k = 0; k < count; ++k) {
        // Most of a page is as it was.
        constexpr int64_t kPiece = 32;
        if (k % kPiece == 0 && k + kPiece <= count &&
            std::memcmp(got.data() + k * bytes, before.data() + k * bytes,
                        static_cast<size_t>(kPiece * bytes)) == 0) {
          k += kPiece - 1;
          continue;
        }
        const uint64_t was = packed_bits(before.data(), k, bytes);
        if (packed_bits(got.data(), k, bytes) == was || free(at + k)) continue;
        state.tally.disturbed(output, at + k, rule);
        if (state.tally.watched(output, at + k))
          state.tally.note = {rule,
                              "the bits " + hex(output.dtype, was) + " that it held before the run",
                              "stored to, but " + why};
      }
    }
  }
}

Box valid_box(const Instance& instance, const OutputReader& outputs, const Tensor& output) {
  Box box;
  const ValidScope scope(instance, outputs);
  for (size_t axis = 0; axis < output.shape.size(); ++axis) {
    const int64_t extent = output.shape[axis];
    std::pair<int64_t, int64_t> range{0, extent};
    if (!output.spec->valid.empty()) {
      const auto& [low, high] = output.spec->valid[axis];
      range.first = std::clamp<int64_t>(scope.evaluate(*low), 0, extent);
      range.second = std::clamp<int64_t>(scope.evaluate(*high), range.first, extent);
    }
    box.ranges.push_back(range);
  }
  return box;
}

Box intersection(const Box& a, const Box& b) {
  Box out;
  for (size_t k = 0; k < a.ranges.size(); ++k) {
    const int64_t low = std::max(a.ranges[k].first, b.ranges[k].first);
    out.ranges.emplace_back(low, std::max(low, std::min(a.ranges[k].second, b.ranges[k].second)));
  }
  return out;
}

}  // namespace assay
