// mov between a register and the parts of a vector: pack and unpack.
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

template <class Whole, class Part>
void join(uint8_t* to, const uint8_t* const* parts) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  Whole* const whole = reinterpret_cast<Whole*>(to);
  for (int lane = 0; lane < kLanes; ++lane) {
    Whole value = 0;
    for (int part = 0; part < kParts; ++part) {
      const Whole bits = reinterpret_cast<const Part*>(parts[part])[lane];
      value |= bits << (8 * sizeof(Part) * part);
    }
    whole[lane] = value;
  }
}

/// The register that `count` parts make up; widths in bytes, parts from the low end.
void join_rows(uint8_t* to, int width, const uint8_t* const* parts, int count, int part_width) {
  if (width == 4 && part_width == 2 && count == 2) return join<uint32_t, uint16_t>(to, parts);
  if (width == 8 && part_width == 4 && count == 2) return join<uint64_t, uint32_t>(to, parts);
  if (width == 8 && part_width == 2 && count == 4) return join<uint64_t, uint16_t>(to, parts);
  std::memset(to, 0, static_cast<size_t>(width) * kLanes);
  for (int part = 0; part < count; ++part) {
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(to + lane * width + part * part_width, parts[part] + lane * part_width,
                  static_cast<size_t>(part_width));
    }
  }
}

template <class Part, class Whole>
void take(uint8_t* to, const uint8_t* from, int part) {
  const Whole* const whole = reinterpret_cast<const Whole*>(from);
  const int shift = static_cast<int>(8 * sizeof(Part)) * part;
  for (int lane = 0; lane < kLanes; ++lane) {
    reinterpret_cast<Part*>(to)[lane] = static_cast<Part>(whole[lane] >> shift);
  }
}

/// One part of each lane of a register.
void part_of_row(uint8_t* to, int part_width, const uint8_t* whole, int width, int part) {
  if (width == 4 && part_width == 2) return take<uint16_t, uint32_t>(to, whole, part);
  if (width == 8 && part_width == 4) return take<uint32_t, uint64_t>(to, whole, part);
  if (width == 8 && part_width == 2) return take<uint16_t, uint64_t>(to, whole, part);
  for (int lane = 0; lane < kLanes; ++lane) {
    std::memcpy(to + lane * part_width, whole + lane * width + part * part_width,
                static_cast<size_t>(part_width));
  }
}

}  // namespace

/// mov.b32 d, {a, b} and its kin: parts from the low end (PTX ISA 9.7.9.1).
void Executor::pack(const MicroOp& op, uint32_t mask) {
  const Site& site = code_->sites[op.site];
  alignas(32) uint8_t result[256];
  const uint8_t* parts[8] = {};
  uint8_t any = 0;
  for (size_t part = 0; part < site.rows.size(); ++part) {
    parts[part] = row(site.rows[part]);
    any |= warp_->flags[site.flags[part]];
  }
  join_rows(result, op.width, parts, static_cast<int>(site.rows.size()), op.source_width);
  write_row(op.d, op.width, result, mask);
  if (!shadow_ || (any & kMaybeUndefined) == 0) {
    return result_defined(op.fd, op.d, op.width, mask);
  }
  std::memset(result, 0, sizeof result);
  for (size_t part = 0; part < site.rows.size(); ++part) {
    if ((warp_->flags[site.flags[part]] & kMaybeUndefined) == 0) continue;
    const uint8_t* from = warp_->undefined + site.rows[part];
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(result + lane * op.width + part * op.source_width, from + lane * op.source_width,
                  op.source_width);
    }
  }
  uint8_t* to = undefined_row(op.fd, op.d, op.width);
  UndefinedSources sources;
  for (size_t part = 0; part < site.rows.size(); ++part) {
    const uint32_t flag = site.flags[part];
    sources.add(flag, undefined_lanes(flag, site.rows[part], op.source_width, mask));
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) std::memcpy(to + lane * op.width, result + lane * op.width, op.width);
  }
  hand_on(op, op.fd, sources.lanes(), sources);
  warp_->flags[op.fd] &= static_cast<uint8_t>(~kWrapped);
}

void Executor::unpack(const MicroOp& op, uint32_t mask) {
  const Site& site = code_->sites[op.site];
  alignas(32) uint8_t whole[256];
  alignas(32) uint8_t undefined[256];
  std::memcpy(whole, row(op.a), static_cast<size_t>(op.source_width) * kLanes);
  const bool dirty = shadow_ && (warp_->flags[op.fa] & kMaybeUndefined) != 0;
  const UndefinedSources sources = dirty ? undefined_sources(op, mask) : UndefinedSources();
  if (dirty) std::memcpy(undefined, warp_->undefined + op.a, op.source_width * kLanes);
  for (size_t part = 0; part < site.rows.size(); ++part) {
    if (site.rows[part] == kNoSlot) continue;
    alignas(32) uint8_t result[256];
    part_of_row(result, op.width, whole, op.source_width, static_cast<int>(part));
    write_row(site.rows[part], op.width, result, mask);
    result_defined(site.flags[part], site.rows[part], op.width, mask);
    if (!dirty) continue;
    uint8_t* to = undefined_row(site.flags[part], site.rows[part], op.width);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (((mask >> lane) & 1) == 0) continue;
      std::memcpy(to + lane * op.width, undefined + lane * op.source_width + part * op.width,
                  op.width);
    }
    hand_on(op, site.flags[part], sources.lanes(), sources);
  }
}

}  // namespace assay::ptx
