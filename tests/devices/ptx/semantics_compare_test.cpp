// setp and set over all comparisons, types, combining predicates and results.
#include "exact_float.hpp"

namespace assay::ptx {
namespace {

enum class Order { less, equal, greater, unordered };

bool holds(const std::string& compare, Order o) {
  bool u = o == Order::unordered;
  std::string c = compare;
  if (c == "num") return !u;
  if (c == "nan") return u;
  if (c.size() == 3 && c.back() == 'u') {
    if (u) return true;
    c.pop_back();
  }
  if (u) return false;
  if (c == "eq") return o == Order::equal;
  if (c == "ne") return o != Order::equal;
  if (c == "lt" || c == "lo") return o == Order::less;
  if (c == "le" || c == "ls") return o != Order::greater;
  if (c == "gt" || c == "hi") return o == Order::greater;
  EXPECT_TRUE(c == "ge" || c == "hs") << c;
  return o != Order::less;
}

const std::vector<std::string> kFloatCompares = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                 "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
const char* kBoolOps[] = {"", ".and", ".or", ".xor"};
bool combine(const std::string& op, bool a, bool b) {
  if (op == ".and") return a && b;
  if (op == ".or") return a || b;
  return op == ".xor" ? a != b : a;
}

template <class T>
Order order_of(T a, T b) {
  return a < b ? Order::less : a > b ? Order::greater : Order::equal;
}
Order float_order(FloatLayout f, uint64_t a, uint64_t b, bool ftz) {
  if (exact::is_nan(f, a) || exact::is_nan(f, b)) return Order::unordered;
  if (ftz) {
    a = exact::flush(f, a);
    b = exact::flush(f, b);
  }
  exact::Number x = exact::decode(f, a), y = exact::decode(f, b);
  auto rank = [](const exact::Number& n) {
    return n.kind == exact::Number::infinite ? (n.negative ? -1 : 1) : 0;
  };
  if (rank(x) != rank(y) || rank(x) != 0) return order_of(rank(x), rank(y));
  return order_of(exact::compare_finite(x, y), 0);
}

/// What an instruction compares; the orders of both halves for pairs.
struct Comparison {
  std::string type;
  std::vector<std::string> compares;
  std::vector<Lane> lanes;
  std::function<std::array<Order, 2>(const Lane&)> orders;
  bool ftz = false, pairs = false;
};

std::vector<Lane> with_predicates(std::vector<Lane> lanes) {
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i].pa = i * 2654435761u >> 7 & 1;
  return lanes;
}

std::vector<Comparison> comparisons() {
  std::vector<Comparison> all;
  for (int bytes : {2, 4, 8}) {
    std::string width = std::to_string(8 * bytes);
    auto lanes = with_predicates(integer_lanes(bytes, 2, 400));
    for (size_t i = 0; i < lanes.size(); i += 5) lanes[i].b = lanes[i].a;
    auto unsigned_order = [](const Lane& x) {
      return std::array<Order, 2>{order_of(x.a, x.b), Order::equal};
    };
    auto signed_order = [bytes](const Lane& x) {
      return std::array<Order, 2>{order_of(sign_extend(x.a, bytes), sign_extend(x.b, bytes)),
                                  Order::equal};
    };
    all.push_back({".b" + width, {"eq", "ne"}, lanes, unsigned_order});
    all.push_back({".s" + width, {"eq", "ne", "lt", "le", "gt", "ge"}, lanes, signed_order});
    all.push_back({".u" + width,
                   {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"},
                   lanes,
                   unsigned_order});
  }
  const std::tuple<FloatLayout, const char*, bool> formats[] = {
      {kF32, ".f32", true}, {kF64, ".f64", false}, {kF16, ".f16", true}, {kBf16, ".bf16", false}};
  for (const auto& [f, type, has_ftz] : formats) {
    for (bool ftz : {false, true}) {
      if (ftz && !has_ftz) continue;
      auto lanes = with_predicates(float_lanes(f, 2, 400));
      auto order = [f = f, ftz](const Lane& x) {
        return std::array<Order, 2>{float_order(f, x.a, x.b, ftz), Order::equal};
      };
      all.push_back({type, kFloatCompares, lanes, order, ftz});
      if (f.bytes() != 2) continue;
      auto pairs = lanes;
      for (size_t i = 0; i < lanes.size(); ++i) {
        pairs[i].a |= lanes[(i * 3 + 1) % lanes.size()].a << 16;
        pairs[i].b |= lanes[(i * 3 + 1) % lanes.size()].b << 16;
      }
      auto orders = [f = f, ftz](const Lane& x) {
        return std::array<Order, 2>{float_order(f, x.a & 0xffff, x.b & 0xffff, ftz),
                                    float_order(f, x.a >> 16, x.b >> 16, ftz)};
      };
      all.push_back({type + std::string("x2"), kFloatCompares, pairs, orders, ftz, true});
    }
  }
  return all;
}

/// The rows exist for pairs too, whether or not the decoder's table has them.
Instruction setp_of(const std::string& spelling) {
  if (!spelling.ends_with("x2")) return instruction_of(spelling);
  Instruction i = instruction_of(spelling.substr(0, spelling.size() - 2));
  i.type = i.type == Type::f16 ? Type::f16x2 : Type::bf16x2;
  if (i.source_type != Type::none) i.source_type = i.type;
  return i;
}

TEST(CompareRows, Setp) {
  for (const Comparison& c : comparisons()) {
    for (const std::string& compare : c.compares) {
      for (std::string op : kBoolOps) {
        std::string spelling = "setp." + compare + op + (c.ftz ? ".ftz" : "") + c.type;
        expect_rows(setp_of(spelling), spelling, c.lanes, [&](const Lane& x) {
          auto orders = c.orders(x);
          Result r;
          r.p = combine(op, holds(compare, orders[0]), x.pa);
          r.q = combine(op, c.pairs ? holds(compare, orders[1]) : !holds(compare, orders[0]), x.pa);
          return r;
        });
      }
    }
  }
}

struct SetResult {
  const char* type;
  uint64_t one;  ///< of one half for pairs
};

TEST(CompareRows, Set) {
  const SetResult plain[] = {{".u32", 0xffffffffu},
                             {".s32", 0xffffffffu},
                             {".f32", 0x3f800000u},
                             {".f16", 0x3c00},
                             {".bf16", 0x3f80}};
  const SetResult paired[] = {{".f16x2", 0x3c00}, {".bf16x2", 0x3f80}, {".u32", 0xffff}};
  int tested = 0;
  for (const Comparison& c : comparisons()) {
    for (const std::string& compare : c.compares) {
      for (std::string op : kBoolOps) {
        for (const SetResult& to :
             c.pairs ? std::vector<SetResult>(std::begin(paired), std::end(paired))
                     : std::vector<SetResult>(std::begin(plain), std::end(plain))) {
          std::string spelling = "set." + compare + op + (c.ftz ? ".ftz" : "") + to.type + c.type;
          if (!in_table(spelling)) continue;  // counted below
          ++tested;
          auto lanes = std::vector<Lane>(c.lanes.begin(), c.lanes.begin() + 300);
          expect_rows(spelling, lanes, [&](const Lane& x) {
            auto orders = c.orders(x);
            uint64_t low = combine(op, holds(compare, orders[0]), x.pa) ? to.one : 0;
            uint64_t high = c.pairs && combine(op, holds(compare, orders[1]), x.pa) ? to.one : 0;
            return Result{low | high << 16};
          });
        }
      }
    }
  }
  EXPECT_GE(tested, 600);
}

}  // namespace
}  // namespace assay::ptx
