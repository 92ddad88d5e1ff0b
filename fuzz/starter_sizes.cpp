#include "fuzz/starter_sizes.hpp"

#include <algorithm>
#include <cctype>

namespace assay {

std::vector<std::string> name_parts(const std::string& name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool starts =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (c == '_' || starts) words.emplace_back();
    if (c != '_') words.back() += static_cast<char>(std::tolower(c));
  }
  std::erase(words, "");
  return words;
}

namespace {

using Words = std::vector<std::string>;

bool has_any(const Words& words, const Words& wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

enum class Role { none, rows, columns, total, count, stride };

Role role_of(const std::string& name) {
  const Words words = name_parts(name);
  static const Words strides{"stride", "strides", "pitch", "ld", "lda", "ldb", "ldc", "ldx", "ldy"};
  static const Words rows{"row",     "rows",  "nrows",   "m",    "tokens",   "batch",
                          "batches", "outer", "samples", "seqs", "sequences"};
  static const Words columns{"col", "cols",     "ncols", "columns", "hidden",  "inner",   "dim",
                             "d",   "features", "width", "vocab",   "classes", "channels"};
  static const Words totals{"n",      "numel", "size",     "count", "total",
                            "length", "len",   "elements", "num"};
  static const Words counts{"heads", "groups", "experts", "pages", "blocks", "bins",
                            "k",     "height", "depth",   "n2",    "n4",     "segments"};
  if (has_any(words, strides)) return Role::stride;
  if (has_any(words, rows)) return Role::rows;
  if (has_any(words, columns)) return Role::columns;
  if (has_any(words, counts)) return Role::count;
  return has_any(words, totals) ? Role::total : Role::none;
}

/// Operands that are as long as a row, or as there are rows.
bool is_of_columns(const std::string& name) {
  return has_any(name_parts(name), {"weight", "weights", "w", "gamma", "beta", "bias", "b"});
}
bool is_of_rows(const std::string& name) {
  return has_any(name_parts(name), {"scale", "scales", "mean", "rstd", "max", "sum", "lens",
                                    "lengths", "label", "labels", "target", "targets"});
}
bool is_of_indices(const std::string& name) {
  return has_any(name_parts(name), {"idx", "index", "indices", "ids", "slots", "map", "perm"});
}

/// The operand whose stride a scalar holds: "x_stride", "stride_x", "ldx"; else none.
const KernelParameter* operand_of_stride(const std::string& scalar,
                                         const std::vector<KernelParameter>& parameters) {
  const Words words = name_parts(scalar);
  const KernelParameter* near = nullptr;
  for (const KernelParameter& p : parameters) {
    if (!p.pointer) continue;
    const Words named = name_parts(p.name);
    const bool whole = has_any(words, named) || scalar == "ld" + p.name;
    const bool begins = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return named.front().starts_with(word) || word.starts_with(named.front());
    });
    if (whole) return &p;
    if (begins && near == nullptr) near = &p;
  }
  return near;
}

constexpr const char* kRowsRange = "{ min = 0, max = 100000 }";
constexpr const char* kColumnsRange = "{ min = 1, max = 10000 }";
constexpr const char* kTotalRange = "{ min = 0, max = 1000000 }";
constexpr const char* kCountRange = "{ min = 1, max = 64 }";

class Guess {
 public:
  Guess(const std::vector<KernelParameter>& parameters, const std::vector<bool>& is_integer,
        const std::vector<std::string>& taken)
      : parameters_(parameters), taken_(taken) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (is_integer[i]) scalars_.push_back(parameters[i].name);
  }

  StarterShapes shapes(const std::vector<bool>& whole) {
    choose_rows_and_columns();
    if (out_.has_rows) {
      add_size(rows_, kRowsRange);
      add_size(columns_, kColumnsRange);
    }
    for (const std::string& scalar : scalars_) {
      const Role role = role_of(scalar);
      const bool counts = role == Role::count || role == Role::rows || role == Role::columns;
      if (counts && scalar != rows_ && scalar != columns_ && !out_.sizes.empty())
        add_size(scalar, kCountRange);
      if (!out_.has_rows && out_.sizes.empty() && role != Role::stride)
        add_size(scalar, kTotalRange);
    }
    if (out_.sizes.empty()) add_size(fresh("n"), kTotalRange);
    for (const std::string& scalar : scalars_) out_.values[scalar] = value_of(scalar);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].pointer) add_operand(parameters_[i], whole[i]);
    }
    return out_;
  }

 private:
  std::string first_of(Role role) const {
    for (const std::string& scalar : scalars_)
      if (role_of(scalar) == role) return scalar;
    return "";
  }

  /// Rows and columns need two names, or a row's length beside a stride.
  void choose_rows_and_columns() {
    rows_ = first_of(Role::rows);
    columns_ = first_of(Role::columns);
    if (columns_.empty() && !rows_.empty()) columns_ = first_of(Role::total);
    const bool strided = !first_of(Role::stride).empty();
    if (rows_.empty() && strided) {
      if (columns_.empty()) columns_ = first_of(Role::total);
      if (!columns_.empty()) rows_ = fresh("rows");
    }
    out_.has_rows = !rows_.empty() && !columns_.empty();
    if (!out_.has_rows) rows_.clear(), columns_.clear();
  }

  std::string fresh(std::string name) const {
    const auto is_taken = [&] {
      return std::find(taken_.begin(), taken_.end(), name) != taken_.end();
    };
    while (is_taken()) name += "_";
    return name;
  }

  void add_size(const std::string& name, const char* range) { out_.sizes.push_back({name, range}); }

  std::string value_of(const std::string& scalar) {
    const auto is_size = [&](const StarterSize& size) { return size.name == scalar; };
    if (std::any_of(out_.sizes.begin(), out_.sizes.end(), is_size)) return scalar;
    if (role_of(scalar) != Role::stride || !out_.has_rows) return out_.sizes.front().name;
    const KernelParameter* operand = operand_of_stride(scalar, parameters_);
    if (operand == nullptr) return columns_;
    out_.rows_at_a_stride[operand->name] = true;
    return "stride(" + operand->name + ", 0)";
  }

  void add_operand(const KernelParameter& p, bool whole) {
    out_.indices[p.name] = whole && p.pointee_const && is_of_indices(p.name);
    std::vector<std::string>& extents = out_.extents[p.name];
    const bool strided = out_.rows_at_a_stride.contains(p.name);
    if (!out_.has_rows) {
      extents = {out_.sizes.front().name};
    } else if (!strided && (out_.indices[p.name] || is_of_rows(p.name))) {
      extents = {rows_};
    } else if (!strided && is_of_columns(p.name)) {
      extents = {columns_};
    } else {
      extents = {rows_, columns_};
    }
  }

  const std::vector<KernelParameter>& parameters_;
  const std::vector<std::string>& taken_;
  std::vector<std::string> scalars_;
  std::string rows_, columns_;  ///< "": none
  StarterShapes out_;
};

}  // namespace

StarterShapes guess_shapes(const std::vector<KernelParameter>& parameters,
                           const std::vector<bool>& is_integer, const std::vector<bool>& whole,
                           const std::vector<std::string>& taken) {
  return Guess(parameters, is_integer, taken).shapes(whole);
}

}  // namespace assay
