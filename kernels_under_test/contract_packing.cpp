// `pack`: operands of 4-bit elements that lie in words. A formula speaks of elements; here they
// become shifts and masks of the words, which is what all else knows.
#include "kernels_under_test/contract_parts.hpp"

namespace assay {
namespace {

ExprPtr number(int64_t value, const SourceLocation& where) {
  Expr e;
  e.kind = Expr::Kind::integer;
  e.integer = value;
  e.where = where;
  return std::make_shared<const Expr>(std::move(e));
}

ExprPtr named(const std::string& text, const SourceLocation& where) {
  Expr e;
  e.kind = Expr::Kind::name;
  e.text = text;
  e.where = where;
  return std::make_shared<const Expr>(std::move(e));
}

ExprPtr applied(Expr::Kind kind, const char* what, ExprPtr a, ExprPtr b) {
  Expr e;
  e.kind = kind;
  e.text = what;
  e.where = a->where;
  e.operands = {std::move(a), std::move(b)};
  return std::make_shared<const Expr>(std::move(e));
}
ExprPtr binary(const char* op, ExprPtr a, ExprPtr b) {
  return applied(Expr::Kind::binary, op, std::move(a), std::move(b));
}
ExprPtr call(const char* function, ExprPtr a, ExprPtr b) {
  return applied(Expr::Kind::call, function, std::move(a), std::move(b));
}

/// Takes elements out of words in one contract's expressions.
class Unpacker {
 public:
  explicit Unpacker(const Contract& contract)
      : contract_(contract), dimensions_(names_of_dimensions(contract)) {}

  ExprPtr rewritten(const ExprPtr& e) const {
    if (const OperandSpec* packed = packed_operand(*e)) return element(*packed, *e);
    const bool of_words = e->kind == Expr::Kind::call && is_about_memory(e->text);
    if (of_words || e->operands.empty()) return e;
    Expr copy = *e;
    for (ExprPtr& operand : copy.operands) operand = rewritten(operand);
    return std::make_shared<const Expr>(std::move(copy));
  }

 private:
  static bool is_about_memory(const std::string& function) {
    return function == "size" || function == "numel" || function == "stride";
  }

  const OperandSpec* packed_operand(const Expr& e) const {
    const Expr& base = e.kind == Expr::Kind::index ? *e.operands[0] : e;
    if (base.kind != Expr::Kind::name) return nullptr;
    const OperandSpec* operand = contract_.find_operand(base.text);
    return operand != nullptr && operand->pack ? operand : nullptr;
  }

  /// `w`, `w[K = i]` or `w[i, j]`: word i / 8, shifted and masked.
  ExprPtr element(const OperandSpec& operand, const Expr& e) const {
    const Packing& pack = *operand.pack;
    Expr gather;
    gather.kind = Expr::Kind::index;
    gather.where = e.where;
    gather.operands = {named(operand.name, e.where)};
    gather.labels = {""};
    ExprPtr place;  // along the packed dimension
    const auto add = [&](ExprPtr subscript, bool along, const std::string& label) {
      if (along) place = subscript;
      gather.operands.push_back(along ? word_of(subscript, pack) : std::move(subscript));
      gather.labels.push_back(label.empty() || !along ? label : pack.words);
    };
    size_t given = 0;
    if (e.kind == Expr::Kind::index) given = e.operands.size() - 1;
    const bool positional = given > 0 && e.labels[1].empty();
    for (size_t i = 1; i <= given; ++i) {
      const bool along = positional ? is_packed(operand, i - 1) : e.labels[i] == pack.along;
      add(rewritten(e.operands[i]), along, e.labels[i]);
    }
    // What is left out of a list of places is its own index.
    for (size_t axis = given; positional && place == nullptr && axis < operand.shape.size();
         ++axis) {
      const bool along = is_packed(operand, axis);
      add(named(along ? pack.along : operand.shape[axis].name, e.where), along, "");
    }
    if (place == nullptr) add(named(pack.along, e.where), true, pack.words);
    return code(std::make_shared<const Expr>(std::move(gather)), place, pack);
  }

  static bool is_packed(const OperandSpec& operand, size_t axis) {
    return axis < operand.shape.size() && operand.shape[axis].name == operand.pack->words;
  }

  /// A dimension's index is never below 0; of others the quotient is floored, so that -1 stays one
  /// that names nothing.
  bool is_index(const Expr& place, const Packing& pack) const {
    return place.kind == Expr::Kind::name &&
           (place.text == pack.along || contains(dimensions_, place.text));
  }

  ExprPtr word_of(const ExprPtr& place, const Packing& pack) const {
    ExprPtr count = number(pack.in_word(), place->where);
    return is_index(*place, pack) ? binary("/", place, std::move(count))
                            : call("div_floor", place, std::move(count));
  }

  ExprPtr code(ExprPtr word, const ExprPtr& place, const Packing& pack) const {
    const SourceLocation& where = place->where;
    const auto constant = [&](int64_t value) { return number(value, where); };
    ExprPtr in_word = is_index(*place, pack) ? binary("%", place, constant(pack.in_word()))
                                       : call("mod_floor", place, constant(pack.in_word()));
    if (!pack.low_first) in_word = binary("-", constant(pack.in_word() - 1), std::move(in_word));
    ExprPtr shifted = binary(">>", std::move(word), binary("*", constant(4), std::move(in_word)));
    ExprPtr bits = binary("&", std::move(shifted), constant(15));
    if (pack.element == DType::u4) return bits;
    return binary("-", binary("^", std::move(bits), constant(8)), constant(8));  // its sign bit
  }

  const Contract& contract_;
  const std::vector<std::string> dimensions_;
};

}  // namespace

void read_packing(const TableReader& table, OperandSpec& operand) {
  const TomlValue& value = table.need("pack");
  const TableReader reader(value, "'pack'", {"along", "word", "low_first"});
  Packing pack;
  const std::optional<DType> element = parse_dtype(operand.dtype);
  if (!element || byte_size(*element) != 0)
    throw InputError(table.need("dtype").text_where,
                     "a packed operand's dtype is 'u4' or 'i4', not '" + operand.dtype + "'");
  for (const char* key : {"domain", "sorted", "live"})
    if (const TomlEntry* entry = table.table().find(key))
      throw InputError(entry->where,
                       std::string("'") + key + "' does not apply to a packed operand");
  pack.element = *element;
  const TomlValue& along = reader.need("along");
  pack.along = expect_string(along, "'along' of 'pack'");
  std::vector<std::string> dimensions;
  for (const Dimension& dimension : operand.shape)
    if (!dimension.name.empty()) dimensions.push_back(dimension.name);
  if (!contains(dimensions, pack.along))
    throw InputError(along.text_where, "'" + operand.name + "' has no dimension '" + pack.along +
                                           "'" + suggestion(pack.along, dimensions));
  if (const TomlValue* word = reader.find("word"))
    pack.word = expect_choice<DType>(*word, "'word' of 'pack'",
                                     {{"u8", DType::u8},
                                      {"i8", DType::i8},
                                      {"u16", DType::u16},
                                      {"u32", DType::u32},
                                      {"i32", DType::i32},
                                      {"u64", DType::u64}});
  if (reader.find("low_first") != nullptr) pack.low_first = reader.flag("low_first");
  pack.words = pack.along + "_words";
  for (Dimension& dimension : operand.shape) {
    if (dimension.name != pack.along) continue;
    const SourceLocation where = dimension.extent->where;
    dimension = {pack.words, call("ceil_div", dimension.extent, number(pack.in_word(), where))};
  }
  operand.dtype = name(pack.word);
  operand.pack = std::move(pack);
}

void unpack_elements(Contract& contract) {
  const Unpacker unpacker(contract);
  for (FormulaLine& line : contract.formula) {
    for (auto& [dimension, index] : line.scatter) index = unpacker.rewritten(index);
    line.expr = unpacker.rewritten(line.expr);
  }
  for (OracleSpec& oracle : contract.oracles) {
    for (OracleRole& role : oracle.roles) {
      if (role.expr) role.expr = unpacker.rewritten(role.expr);
    }
  }
}

}  // namespace assay
