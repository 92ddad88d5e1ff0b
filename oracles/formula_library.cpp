// Standard operations as formulas: each line is the textbook's definition.
#include "oracles/graph.hpp"

namespace assay {

const std::vector<FormulaDefinition>& formula_library() {
  static const std::vector<FormulaDefinition> library = {
      {"amax", {"x", "D"}, "max(x, D)"},
      {"amin", {"x", "D"}, "min(x, D)"},
      {"softmax", {"x", "D"}, "exp(x - max(x, D)) / sum(exp(x - max(x, D)), D)"},
      {"log_softmax",
       {"x", "D"},
       "(x - max(x, D)) - log(sum(exp(x - max(x, D)), D))",
       {"x - (max(x, D) + log(sum(exp(x - max(x, D)), D)))"},
       "x - where(is_inf(max(x, D)), max(x, D), max(x, D) + log(sum(exp(x - max(x, D)), D)))"},
      {"logsumexp",
       {"x", "D"},
       "max(x, D) + log(sum(exp(x - max(x, D)), D))",
       {},
       "where(is_inf(max(x, D)), max(x, D), max(x, D) + log(sum(exp(x - max(x, D)), D)))"},
      {"sigmoid", {"x"}, "1 / (1 + exp(-x))"},
      {"silu", {"x"}, "x / (1 + exp(-x))", {"x * (1 / (1 + exp(-x)))"}},
      {"softplus", {"x"}, "max(x, 0) + log1p(exp(-abs(x)))", {"~where(x > 20, x, log1p(exp(x)))"}},
      {"logsigmoid",
       {"x"},
       "min(x, 0) - log1p(exp(-abs(x)))",
       {"~where(x < -20, x, -log1p(exp(-x)))"}},
      {"gelu",
       {"x"},
       "0.5 * x * (1 + erf(x * 0.70710678118654752440))",
       // 1 + erf u = erfc(-u), of the same u; normcdf's root of 1/2 has all its digits
       {"#0.5 * x * erfc(-x * 0.70710678118654752440)", "x * normcdf(x)"}},
      // (1 + tanh u) / 2 = 1 / (1 + e^-2u), and twice the literal is the double that is twice it
      {"gelu_tanh",
       {"x"},
       "0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)))",
       {"#x / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)))",
        "#x * (1 / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x))))"}},
      {"maximum", {"a", "b"}, "max(a, b)"},
      {"minimum", {"a", "b"}, "min(a, b)"},
  };
  return library;
}

}  // namespace assay
