// grouped: positions gathered by key, each group padded to whole blocks, as the aligned expert
// lists of a mixture of experts (rule R22).
#include <algorithm>

#include "oracles/number_text.hpp"
#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

class Grouping {
 public:
  Grouping(RelationCase& c, const Line& keys)
      : c_(c), block_(c.number("block")), fill_(c.number("fill")), ids_(c.output("ids")) {
    const int64_t groups = c.number("groups");
    if (groups < 0 || block_ < 1)
      throw InputError(c.where(), "'groups' or 'block' of the relation is not positive");
    members_.resize(static_cast<size_t>(groups));
    key_.assign(static_cast<size_t>(keys.n), -1);
    for (int64_t j = 0; j < keys.n; ++j) {
      // A key outside of [0, groups) takes no part.
      if (!keys.known(j) || keys.integer(j) < 0 || keys.integer(j) >= groups) continue;
      key_[static_cast<size_t>(j)] = static_cast<int64_t>(keys.integer(j));
      members_[static_cast<size_t>(keys.integer(j))].push_back(j);
    }
    for (const auto& members : members_)
      total_ += (static_cast<int64_t>(members.size()) + block_ - 1) / block_ * block_;
    seen_.assign(key_.size(), false);
  }

  void judge() {
    if (const Tensor* count = c_.output("count")) expect(*count, 0, total_, "padded elements");
    const Tensor* group_of = c_.output("group_of");
    if (ids_ != nullptr) need(*ids_, total_);
    if (group_of != nullptr) need(*group_of, total_ / block_);
    int64_t start = 0;
    for (size_t g = 0; g < members_.size(); ++g) {
      const auto own = static_cast<int64_t>(members_[g].size());
      const int64_t length = (own + block_ - 1) / block_ * block_;
      if (ids_ != nullptr) judge_group(static_cast<int64_t>(g), start, length);
      for (int64_t b = start / block_; group_of != nullptr && b < (start + length) / block_; ++b)
        expect(*group_of, b, static_cast<int64_t>(g), "the block's group");
      start += length;
    }
  }

 private:
  void need(const Tensor& output, int64_t count) const {
    if (output.elements() < count)
      throw InputError(output.spec->where,
                       "'" + output.spec->name + "' holds " + std::to_string(output.elements()) +
                           " elements, the groups need " + std::to_string(count));
  }

  void expect(const Tensor& output, int64_t place, int64_t wanted, const char* what) {
    const Got got = c_.read(output, place, 1)[0];
    if (!c_.judged(output, place, got)) return;
    const __int128 value = to_integer(output.dtype, got.bits);
    if (value == wanted) return;
    c_.wrong(
        output, place, "R22", [&] { return std::to_string(wanted) + ", " + what; },
        [&] { return "off by " + wide_text(value - wanted); });
  }

  void judge_group(int64_t group, int64_t start, int64_t length) {
    const auto& members = members_[static_cast<size_t>(group)];
    const bool stable = c_.choice("order") == "stable";
    int64_t fillers = length - static_cast<int64_t>(members.size());
    const std::vector<Got> got = c_.read(*ids_, start, length);
    for (int64_t k = 0; k < length; ++k) {
      if (!c_.judged(*ids_, start + k, got[static_cast<size_t>(k)])) continue;
      const __int128 id = to_integer(ids_->dtype, got[static_cast<size_t>(k)].bits);
      if (stable) {
        const bool member = k < static_cast<int64_t>(members.size());
        const int64_t wanted = member ? members[static_cast<size_t>(k)] : fill_;
        if (id != wanted) wrong(start + k, group, id, "not in the stable order");
        continue;
      }
      if (id == fill_ && fillers > 0) {
        --fillers;
        continue;
      }
      const bool position = id >= 0 && id < static_cast<__int128>(key_.size());
      if (!position || key_[static_cast<size_t>(id)] != group) {
        wrong(start + k, group, id, id == fill_ ? "a filler in a member's place" : "no member");
      } else if (seen_[static_cast<size_t>(id)]) {
        wrong(start + k, group, id, "stands twice");
      } else {
        seen_[static_cast<size_t>(id)] = true;
      }
    }
  }

  void wrong(int64_t place, int64_t group, __int128 id, const char* why) {
    c_.wrong(
        *ids_, place, "R22",
        [&] {
          return "a position whose key is " + std::to_string(group) + ", each once, or " +
                 std::to_string(fill_) + " for padding";
        },
        [&] { return wide_text(id) + ": " + why; });
  }

  RelationCase& c_;
  const int64_t block_;
  const int64_t fill_;
  const Tensor* ids_;
  int64_t total_ = 0;
  std::vector<std::vector<int64_t>> members_;
  std::vector<int64_t> key_;  ///< -1: in no group
  std::vector<bool> seen_;
};

}  // namespace

void check_grouped(RelationCase& c) {
  c.whole("keys", [&](const Line& keys) {
    if (!keys.integral()) throw InputError(c.where(), "'keys' of the relation are no integers");
    Grouping(c, keys).judge();
  });
}

}  // namespace assay
