#include "devices/ptx/undefined.hpp"

#include <algorithm>
#include <bit>

namespace assay::ptx {

namespace {

/// The lowest bit that can be one; 64 when the value is a defined zero.
int lowest_possible_one(MaskedBits x) { return std::countr_zero(x.bits | x.undefined); }

uint64_t from_bit(int first) { return first >= 64 ? 0 : ~uint64_t{0} << first; }

}  // namespace

uint64_t undefined_and(MaskedBits a, MaskedBits b) {
  return (a.bits | a.undefined) & (b.bits | b.undefined) & (a.undefined | b.undefined);
}

uint64_t undefined_or(MaskedBits a, MaskedBits b) {
  return (~a.bits | a.undefined) & (~b.bits | b.undefined) & (a.undefined | b.undefined);
}

uint64_t undefined_lop3(MaskedBits a, MaskedBits b, MaskedBits c, uint32_t table) {
  uint64_t can_be[2] = {};
  for (uint32_t k = 0; k < 8; ++k) {
    const uint64_t possible = ((k & 4 ? a.bits : ~a.bits) | a.undefined) &
                              ((k & 2 ? b.bits : ~b.bits) | b.undefined) &
                              ((k & 1 ? c.bits : ~c.bits) | c.undefined);
    can_be[table >> k & 1] |= possible;
  }
  return can_be[0] & can_be[1];
}

uint64_t undefined_sum(MaskedBits a, MaskedBits b) {
  const uint64_t least = (a.bits & ~a.undefined) + (b.bits & ~b.undefined);
  const uint64_t greatest = (a.bits | a.undefined) + (b.bits | b.undefined);
  return (least ^ greatest) | a.undefined | b.undefined;
}

uint64_t undefined_difference(MaskedBits a, MaskedBits b) {
  const uint64_t least = (a.bits & ~a.undefined) - (b.bits | b.undefined);
  const uint64_t greatest = (a.bits | a.undefined) - (b.bits & ~b.undefined);
  return (least ^ greatest) | a.undefined | b.undefined;
}

uint64_t undefined_product(MaskedBits a, MaskedBits b) {
  int first = 64;
  if (a.undefined != 0) first = std::countr_zero(a.undefined) + lowest_possible_one(b);
  if (b.undefined != 0) {
    first = std::min(first, std::countr_zero(b.undefined) + lowest_possible_one(a));
  }
  return from_bit(first);
}

uint64_t undefined_sum_of_product(MaskedBits a, MaskedBits b, MaskedBits c) {
  const uint64_t product = undefined_product(a, b);
  return from_bit(std::countr_zero(product | c.undefined));
}

uint64_t undefined_atomic(Atom operation, Type type, MaskedBits old, MaskedBits a, MaskedBits b) {
  const uint64_t any = old.undefined | a.undefined;
  switch (operation) {
    case Atom::exch:
      return a.undefined;
    case Atom::and_:
      return undefined_and(old, a);
    case Atom::or_:
      return undefined_or(old, a);
    case Atom::xor_:
      return any;
    case Atom::cas: {
      const bool differ = ((old.bits ^ a.bits) & ~any) != 0;
      if (differ) return old.undefined;
      return any == 0 ? b.undefined : old.undefined | b.undefined | (old.bits ^ b.bits);
    }
    default:
      break;
  }
  const bool halves = type == Type::f16x2 || type == Type::bf16x2;
  if (halves) return ((any & 0xffff) != 0 ? 0xffff : 0) | (any >> 16 != 0 ? 0xffff0000 : 0);
  const bool integer = type == Type::u32 || type == Type::s32 || type == Type::u64;
  if (operation == Atom::add && integer) return undefined_sum(old, a);
  return any != 0 ? ~uint64_t{0} : 0;
}

void Trail::pass(int32_t through) {
  if (through == site) return;
  for (int i = 0; i < passed; ++i) {
    if (sites[static_cast<size_t>(i)] == through) return;
  }
  if (passed == sites.size()) {
    std::rotate(sites.begin(), sites.begin() + 1, sites.end());
    --passed;
    shortened = true;
  }
  sites[passed++] = through;
}

}  // namespace assay::ptx
