#include "oracles/formula_text.hpp"

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace assay {
namespace {

std::string shortest(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

const char* find(const std::vector<std::pair<Op, const char*>>& table, Op op) {
  for (const auto& [known, text] : table)
    if (known == op) return text;
  return nullptr;
}

class Writer {
 public:
  Writer(const Contract& contract, const Graph& graph) : contract_(contract), graph_(graph) {}

  std::string text(const Node& n) const {
    static const std::vector<std::pair<Op, const char*>> infix = {
        {Op::add, " + "},         {Op::sub, " - "},          {Op::mul, " * "},
        {Op::div, " / "},         {Op::mod, " % "},          {Op::less, " < "},
        {Op::less_equal, " <= "}, {Op::equal, " == "},       {Op::not_equal, " != "},
        {Op::bit_and, " & "},     {Op::bit_or, " | "},       {Op::bit_xor, " ^ "},
        {Op::shift_left, " << "}, {Op::shift_right, " >> "}, {Op::logical_and, " && "},
        {Op::logical_or, " || "}};
    static const std::vector<std::pair<Op, const char*>> prefix = {
        {Op::neg, "-"}, {Op::bit_not, "~"}, {Op::logical_not, "!"}};
    if (const char* sign = find(infix, n.op)) return "(" + arg(n, 0) + sign + arg(n, 1) + ")";
    if (const char* sign = find(prefix, n.op)) return sign + arg(n, 0);
    switch (n.op) {
      case Op::literal:
        return n.integral ? std::to_string(n.integer) : shortest(n.real);
      case Op::named:
        return n.text;
      case Op::dim_index:
        return dim(n.dims[0]);
      case Op::extent:
        return "size(" + dim(n.dimension) + ")";
      case Op::load:
      case Op::gather:
        return operand(n);
      case Op::settle:
      case Op::prescaled:
      case Op::rescaled:
      case Op::hull:
      case Op::total:
      case Op::forms:
      case Op::to_real:
        return arg(n, 0);
      default:
        return call(n);
    }
  }

 private:
  std::string dim(int id) const { return graph_.dims[static_cast<size_t>(id)]; }
  std::string arg(const Node& n, size_t k) const {
    return text(graph_.nodes[static_cast<size_t>(n.args[k])]);
  }

  std::string operand(const Node& n) const {
    const std::string& name = contract_.args[static_cast<size_t>(n.operand)].name;
    return n.from_output ? "given(" + name + ")" : name;
  }

  std::string call(const Node& n) const {
    static const std::vector<std::pair<Op, const char*>> names = {{Op::sum, "sum"},
                                                                  {Op::max, "max"},
                                                                  {Op::min, "min"},
                                                                  {Op::mean, "mean"},
                                                                  {Op::var, "var"},
                                                                  {Op::abs, "abs"},
                                                                  {Op::max2, "max"},
                                                                  {Op::min2, "min"},
                                                                  {Op::where, "where"},
                                                                  {Op::argmax, "argmax"},
                                                                  {Op::argmin, "argmin"},
                                                                  {Op::cumsum, "cumsum"},
                                                                  {Op::mod_floor, "mod_floor"},
                                                                  {Op::div_floor, "div_floor"}};
    const char* known = find(names, n.op);
    std::string out = known != nullptr ? known : n.text;
    out += "(";
    for (size_t k = 0; k < n.args.size(); ++k) out += (k > 0 ? ", " : "") + arg(n, k);
    for (const int d : n.reduced) out += ", " + dim(d);
    if (n.op == Op::cast) out += ", " + std::string(name(n.type));
    return out + ")";
  }

  const Contract& contract_;
  const Graph& graph_;
};

}  // namespace

std::string formula_text(const Contract& contract, const Graph& graph, const Node& node) {
  return Writer(contract, graph).text(node);
}

}  // namespace assay
