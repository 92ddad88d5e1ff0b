#include "generators/liveness.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "kernels_under_test/live.hpp"

namespace assay {

/// Elements that `any(...)` names: found once an instance, when the first of them is asked for.
struct NamedPlaces {
  std::once_flag once;
  std::vector<size_t> axes;   ///< ascending; the rest of an element's coordinates does not matter
  std::vector<int64_t> keys;  ///< ascending
  /// Row-major number of the coordinates along `axes`.
  int64_t key(const Tensor& tensor, const std::vector<int64_t>& at) const {
    int64_t out = 0;
    for (const size_t axis : axes) out = out * tensor.shape[axis] + at[axis];
    return out;
  }
};

std::shared_ptr<NamedPlaces> named_places(const OperandSpec& spec) {
  return live_somewhere(spec) ? std::make_shared<NamedPlaces>() : nullptr;
}

namespace {

/// Index operands are read whole while they are small: a point of a loop costs a look-up.
constexpr int64_t kMostRead = int64_t{1} << 22;

bool mentions(const Expr& node, std::string_view name) {
  const std::vector<std::string> names = names_in(node);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The integer operand and the element of it that `lens[i]` speaks of; null: none.
const Tensor* element_at(const Instance& instance, const Expr& node, const IntegerScope& scope,
                         int64_t& linear) {
  if (node.kind != Expr::Kind::index || node.operands.empty()) return nullptr;
  const Tensor* const source = instance.find(node.operands[0]->text);
  if (source == nullptr || !source->present || !is_integer(source->dtype)) return nullptr;
  if (node.operands.size() != source->shape.size() + 1) return nullptr;
  linear = 0;
  for (size_t d = 0; d < source->shape.size(); ++d) {
    const int64_t at = evaluate_integer(*node.operands[d + 1], scope);
    if (at < 0 || at >= source->shape[d]) return nullptr;
    linear = linear * source->shape[d] + at;
  }
  return source;
}

std::vector<int64_t> integers(const Instance& instance, const Tensor& source, int64_t first,
                              int64_t count) {
  const int size = byte_size(source.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(count * size));
  logical_values(instance, source, first, count, bytes.data());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, static_cast<size_t>(size));
    out.push_back(static_cast<int64_t>(to_integer(source.dtype, bits)));
  }
  return out;
}

/// Names that mean the same at every element: sizes, derived values, knobs, flags, integer scalars.
std::optional<int64_t> plain_value(const Instance& instance, std::string_view wanted) {
  const auto found = instance.names.find(std::string(wanted));
  if (found != instance.names.end()) return found->second;
  const Tensor* const scalar = instance.find(wanted);
  if (scalar != nullptr && scalar->is_scalar() && is_integer(scalar->dtype))
    return scalar->scalar_integer;
  return std::nullopt;
}

int64_t extent_of(const Instance& instance, const std::string& dimension) {
  for (const Tensor& tensor : instance.tensors)
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      if (tensor.dims[d] == dimension) return tensor.shape[d];
  return plain_value(instance, dimension).value_or(0);
}

/// Walks the loops of an `any` and notes each element that it names.
class Naming {
 public:
  Naming(const Instance& instance, const Tensor& tensor, NamedPlaces& places)
      : instance_(instance),
        tensor_(tensor),
        places_(places),
        form_(*live_somewhere(*tensor.spec)),
        at_(form_.over.size(), 0),
        element_(tensor.shape.size(), 0) {
    scope_.value = [this](std::string_view wanted) -> std::optional<int64_t> {
      for (size_t d = 0; d < bound_; ++d)
        if (form_.over[d] == wanted) return at_[d];
      return plain_value(instance_, wanted);
    };
    scope_.call = [this](const Expr& call) { return instance_.evaluate(call); };
    scope_.element = [this](const Expr& node) { return element(node); };
    // A condition is checked in the innermost loop that it mentions.
    conditions_.resize(form_.over.size() + 1);
    for (const Expr* condition : form_.conditions) {
      size_t depth = form_.over.size();
      while (depth > 0 && !mentions(*condition, form_.over[depth - 1])) --depth;
      conditions_[depth].push_back(condition);
    }
    for (const auto& address : form_.addresses) places_.axes.push_back(address.axis);
    std::sort(places_.axes.begin(), places_.axes.end());
  }

  void run() {
    loop(0);
    std::sort(places_.keys.begin(), places_.keys.end());
    places_.keys.erase(std::unique(places_.keys.begin(), places_.keys.end()), places_.keys.end());
  }

 private:
  /// The loops from `depth` on, those outside of it bound.
  void loop(size_t depth) {
    bound_ = depth;
    for (const Expr* condition : conditions_[depth])
      if (evaluate_integer(*condition, scope_) == 0) return;
    if (depth == form_.over.size()) return note();
    int64_t extent = extent_of(instance_, form_.over[depth]);
    // `t < lens[B]` ends the loop over t; it is checked again inside.
    for (const Expr* condition : conditions_[depth + 1]) {
      if (condition->kind != Expr::Kind::binary || condition->text != "<") continue;
      const Expr& left = *condition->operands[0];
      const Expr& right = *condition->operands[1];
      if (left.kind != Expr::Kind::name || left.text != form_.over[depth]) continue;
      if (!mentions(right, left.text)) extent = std::min(extent, evaluate_integer(right, scope_));
    }
    for (int64_t i = 0; i < extent; ++i) {
      at_[depth] = i;
      loop(depth + 1);
      bound_ = depth;
    }
  }

  void note() {
    for (const auto& address : form_.addresses) {
      const int64_t value = evaluate_integer(*address.value, scope_);
      if (value < 0 || value >= tensor_.shape[address.axis]) return;  // names no element
      // Along stride 0 all share one place, whose values are those of coordinate 0.
      element_[address.axis] = tensor_.strides[address.axis] == 0 ? 0 : value;
    }
    const int64_t key = places_.key(tensor_, element_);
    if (places_.keys.empty() || places_.keys.back() != key) places_.keys.push_back(key);
  }

  std::optional<int64_t> element(const Expr& node) {
    int64_t linear = 0;
    const Tensor* const source = element_at(instance_, node, scope_, linear);
    if (source == nullptr) return std::nullopt;
    if (source->elements() > kMostRead) return integers(instance_, *source, linear, 1)[0];
    std::vector<int64_t>& whole = read_[source];
    if (whole.empty()) whole = integers(instance_, *source, 0, source->elements());
    return whole[static_cast<size_t>(linear)];
  }

  const Instance& instance_;
  const Tensor& tensor_;
  NamedPlaces& places_;
  const LiveSomewhere form_;
  std::vector<std::vector<const Expr*>> conditions_;  ///< by depth
  IntegerScope scope_;
  size_t bound_ = 0;  ///< loops that have an index now
  std::vector<int64_t> at_;
  std::vector<int64_t> element_;
  std::map<const Tensor*, std::vector<int64_t>> read_;
};

}  // namespace

bool can_be_dead(const Tensor& tensor) {
  if (!tensor.broadcast || tensor.named) return true;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const bool shared = tensor.shape[d] > 1 && tensor.strides[d] == 0;
    if (shared && mentions(*tensor.spec->live, tensor.dims[d])) return false;
  }
  return true;
}

Liveness::Liveness(const Instance& instance, const Tensor& tensor)
    : instance_(instance), tensor_(tensor) {
  size_t first_free = tensor.shape.size();  // axes from here on do not change the answer
  if (tensor.named) {
    std::call_once(tensor.named->once,
                   [&] { Naming(instance, tensor, *tensor.named).run(); });
    places_ = tensor.named.get();
    first_free = places_->axes.back() + 1;
  } else {
    scope_.value = [this](std::string_view wanted) { return value(wanted); };
    scope_.call = [this](const Expr& call) { return instance_.evaluate(call); };
    scope_.element = [this](const Expr& node) -> std::optional<int64_t> {
      int64_t linear = 0;
      const Tensor* const source = element_at(instance_, node, scope_, linear);
      if (source == nullptr) return std::nullopt;
      return integers(instance_, *source, linear, 1)[0];
    };
    const Expr& live = *tensor.spec->live;
    const std::string& last = tensor.dims.back();
    if (live.kind == Expr::Kind::binary && live.text == "<" && !last.empty() &&
        live.operands[0]->kind == Expr::Kind::name && live.operands[0]->text == last &&
        !mentions(*live.operands[1], last)) {
      limit_of_row_ = live.operands[1].get();
      --first_free;
    } else {
      while (first_free > 0 && !mentions(live, tensor.dims[first_free - 1])) --first_free;
    }
  }
  for (size_t d = first_free; d < tensor.shape.size(); ++d)
    row_length_ *= std::max<int64_t>(1, tensor.shape[d]);
}

bool Liveness::at(int64_t index) {
  if (index / row_length_ != row_) {
    row_ = index / row_length_;
    coordinates_ = tensor_.coordinates(index);
    if (limit_of_row_ != nullptr) {
      limit_ = evaluate_integer(*limit_of_row_, scope_);
    } else if (places_ != nullptr) {
      live_ = std::binary_search(places_->keys.begin(), places_->keys.end(),
                                 places_->key(tensor_, coordinates_));
    } else {
      live_ = evaluate_integer(*tensor_.spec->live, scope_) != 0;
    }
  }
  return limit_of_row_ != nullptr ? index % row_length_ < limit_ : live_;
}

std::optional<int64_t> Liveness::value(std::string_view wanted) const {
  for (size_t d = 0; d < coordinates_.size(); ++d) {
    if (tensor_.dims[d] == wanted) return coordinates_[d];
  }
  return plain_value(instance_, wanted);
}

}  // namespace assay
