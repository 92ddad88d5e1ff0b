// Logic, shifts, bit fields, permutes and selections, bit by bit as the PTX ISA's text says.
#include <bit>

#include "semantics_testing.hpp"

namespace assay::ptx {
namespace {

struct Width {
  int bytes;
  const char* bits;  ///< ".b32"
};
constexpr Width kWidths[] = {{2, ".b16"}, {4, ".b32"}, {8, ".b64"}};

TEST(BitRows, Logic) {
  for (const Width& w : kWidths) {
    auto lanes = integer_lanes(w.bytes, 2, 1000);
    auto check = [&](const char* op, auto f) {
      expect_rows(op + std::string(w.bits), lanes,
                  [&](const Lane& x) { return Result{low_bits(f(x.a, x.b), w.bytes)}; });
    };
    check("and", [](uint64_t a, uint64_t b) { return a & b; });
    check("or", [](uint64_t a, uint64_t b) { return a | b; });
    check("xor", [](uint64_t a, uint64_t b) { return a ^ b; });
    check("not", [](uint64_t a, uint64_t) { return ~a; });
    check("cnot", [](uint64_t a, uint64_t) { return uint64_t(a == 0); });
    check("mov", [](uint64_t a, uint64_t) { return a; });
  }
  for (const char* type : {"mov.f32", "mov.u32", "mov.s32"})
    expect_rows(type, integer_lanes(4, 1, 100), [](const Lane& x) { return Result{x.a}; });
  for (const char* type : {"mov.f64", "mov.u64", "mov.s64"})
    expect_rows(type, integer_lanes(8, 1, 100), [](const Lane& x) { return Result{x.a}; });
}

TEST(BitRows, Predicates) {
  auto lanes = integer_lanes(4, 1, 200);
  auto check = [&](const char* op, auto f) {
    expect_rows(op, lanes, [&](const Lane& x) {
      Result r;
      r.p = f(x.pa, x.pb);
      return r;
    });
  };
  check("and.pred", [](bool a, bool b) { return a && b; });
  check("or.pred", [](bool a, bool b) { return a || b; });
  check("xor.pred", [](bool a, bool b) { return a != b; });
  check("not.pred", [](bool a, bool) { return !a; });
  check("mov.pred", [](bool a, bool) { return a; });
}

/// Every one of the 256 tables.
TEST(BitRows, Lop3) {
  auto lanes = integer_lanes(4, 3, 64);
  lanes.resize(256);
  for (uint64_t table = 0; table < 256; ++table) {
    for (Lane& lane : lanes) lane.e = table;
    expect_rows("lop3.b32", lanes, [&](const Lane& x) {
      Result r;
      for (int bit = 0; bit < 32; ++bit) {
        int index = ((x.a >> bit & 1) << 2) | ((x.b >> bit & 1) << 1) | (x.c >> bit & 1);
        r.d |= (table >> index & 1) << bit;
      }
      return r;
    });
  }
}

TEST(BitRows, ShiftsClamp) {
  for (const Width& w : kWidths) {
    int width = 8 * w.bytes;
    auto lanes = integer_lanes(w.bytes, 1, 2000);
    Random random{5};
    for (size_t i = 0; i < lanes.size(); ++i)
      lanes[i].b = i % 3 == 0 ? random() & 0xffffffffu : random() % (width + 9);
    lanes.push_back({~0ull, 0x80000000u});
    lanes.push_back({~0ull, 0xffffffffu});
    for (Lane& x : lanes) x.a = low_bits(x.a, w.bytes);
    expect_rows("shl" + std::string(w.bits), lanes, [&](const Lane& x) {
      Result r;
      for (int bit = 0; bit < width; ++bit)
        if (uint64_t(bit) >= x.b) r.d |= (x.a >> (bit - x.b) & 1) << bit;
      return r;
    });
    for (char kind : {'u', 's', 'b'}) {
      std::string spelling = "shr." + std::string(1, kind) + std::to_string(width);
      expect_rows(spelling, lanes, [&](const Lane& x) {
        Result r;
        uint64_t sign = kind == 's' ? x.a >> (width - 1) & 1 : 0;
        for (int bit = 0; bit < width; ++bit) {
          uint64_t from = bit + x.b;
          r.d |= (from < uint64_t(width) ? x.a >> from & 1 : sign) << bit;
        }
        return r;
      });
    }
  }
}

TEST(BitRows, FunnelShifts) {
  auto lanes = integer_lanes(4, 3, 4000);
  for (bool left : {false, true}) {
    for (bool wrap : {false, true}) {
      std::string spelling = std::string("shf.") + (left ? "l" : "r") + (wrap ? ".wrap" : ".clamp");
      expect_rows(spelling + ".b32", lanes, [&](const Lane& x) {
        uint32_t n = wrap ? x.c % 32 : std::min<uint64_t>(x.c, 32);
        Result r;
        for (uint32_t bit = 0; bit < 32; ++bit) {
          uint32_t from = left ? 32 + bit - n : bit + n;  // in b:a, 64 bits
          r.d |= ((from < 32 ? x.a >> from : x.b >> (from - 32)) & 1) << bit;
        }
        return r;
      });
    }
  }
}

std::vector<Lane> field_lanes(int bytes) {
  auto lanes = integer_lanes(bytes, 2, 4000, 12);
  Random random{9};
  for (Lane& x : lanes) {
    bool any = random() % 4 == 0;
    x.c = any ? random() & 0xffffffffu : random() % 70;
    x.e = any ? random() & 0xffffffffu : random() % 70;
  }
  return lanes;
}

TEST(BitRows, BitFieldExtract) {
  for (int bytes : {4, 8}) {
    int msb = 8 * bytes - 1;
    auto lanes = field_lanes(bytes);
    for (Lane& x : lanes) {
      x.b = x.c;
      x.c = x.e;
    }
    for (bool is_signed : {false, true}) {
      std::string spelling =
          std::string("bfe.") + (is_signed ? "s" : "u") + std::to_string(msb + 1);
      expect_rows(spelling, lanes, [&](const Lane& x) {
        int pos = x.b & 0xff, len = x.c & 0xff;
        uint64_t sign = !is_signed || len == 0 ? 0 : x.a >> std::min(pos + len - 1, msb) & 1;
        Result r;
        for (int i = 0; i <= msb; ++i)
          r.d |= (i < len && pos + i <= msb ? x.a >> (pos + i) & 1 : sign) << i;
        return r;
      });
    }
  }
}

TEST(BitRows, BitFieldInsert) {
  for (int bytes : {4, 8}) {
    int msb = 8 * bytes - 1;
    expect_rows("bfi.b" + std::to_string(msb + 1), field_lanes(bytes), [&](const Lane& x) {
      int pos = x.c & 0xff, len = x.e & 0xff;
      Result r{x.b};
      for (int i = 0; i < len && pos + i <= msb; ++i) {
        r.d &= ~(uint64_t(1) << (pos + i));
        r.d |= (x.a >> i & 1) << (pos + i);
      }
      return r;
    });
  }
}

TEST(BitRows, Counting) {
  for (int bytes : {4, 8}) {
    int width = 8 * bytes;
    std::string type = ".b" + std::to_string(width);
    auto lanes = integer_lanes(bytes, 1, 3000);
    expect_rows("popc" + type, lanes,
                [](const Lane& x) { return Result{uint64_t(std::popcount(x.a))}; });
    auto top = [&](uint64_t a) {  // index of the highest one, -1: none
      int i = width - 1;
      while (i >= 0 && !(a >> i & 1)) --i;
      return i;
    };
    expect_rows("clz" + type, lanes,
                [&](const Lane& x) { return Result{uint64_t(width - 1 - top(x.a))}; });
    expect_rows("brev" + type, lanes, [&](const Lane& x) {
      Result r;
      for (int i = 0; i < width; ++i) r.d |= (x.a >> i & 1) << (width - 1 - i);
      return r;
    });
    for (bool is_signed : {false, true}) {
      for (bool amount : {false, true}) {
        std::string spelling = std::string("bfind") + (amount ? ".shiftamt" : "") +
                               (is_signed ? ".s" : ".u") + std::to_string(width);
        expect_rows(spelling, lanes, [&](const Lane& x) {
          bool negative = is_signed && (x.a >> (width - 1) & 1);
          int i = top(negative ? low_bits(~x.a, bytes) : x.a);
          if (i < 0) return Result{0xffffffffu};
          return Result{uint64_t(amount ? width - 1 - i : i)};
        });
      }
    }
  }
}

TEST(BitRows, FindNthSet) {
  auto lanes = integer_lanes(4, 2, 4000);
  Random random{3};
  for (Lane& x : lanes) {
    x.b = random() % 8 ? random() % 32 : random() & 0xffffffffu;
    x.c = random() % 8 ? (random() % 21 - 10) & 0xffffffffu : random() & 0xffffffffu;
  }
  lanes.push_back({~0ull, 0, 0x80000000u});
  lanes.push_back({~0ull, 31, 0x80000000u});
  for (Lane& x : lanes) x.a &= 0xffffffffu;
  expect_rows("fns.b32", lanes, [](const Lane& x) {
    int64_t offset = sign_extend(x.c, 4), position = static_cast<int64_t>(x.b);
    if (offset == 0)
      return Result{position < 32 && (x.a >> position & 1) ? uint64_t(position) : 0xffffffffu};
    int64_t count = std::abs(offset) - 1, step = offset > 0 ? 1 : -1;
    for (; position >= 0 && position < 32; position += step) {
      if (!(x.a >> position & 1)) continue;
      if (count-- == 0) return Result{uint64_t(position)};
    }
    return Result{0xffffffffu};
  });
}

TEST(BitRows, SignOrZeroExtend) {
  auto lanes = integer_lanes(4, 2, 4000);
  for (bool wrap : {false, true}) {
    for (bool is_signed : {false, true}) {
      std::string spelling =
          std::string("szext.") + (wrap ? "wrap" : "clamp") + (is_signed ? ".s32" : ".u32");
      expect_rows(spelling, lanes, [&](const Lane& x) {
        uint64_t len = wrap ? x.b % 32 : std::min<uint64_t>(x.b, 32);
        Result r;
        for (uint64_t i = 0; i < 32; ++i) {
          bool bit = i < len ? x.a >> i & 1 : is_signed && len > 0 && (x.a >> (len - 1) & 1);
          r.d |= uint64_t(bit) << i;
        }
        return r;
      });
    }
  }
}

TEST(BitRows, BitMask) {
  auto lanes = integer_lanes(4, 2, 4000);
  for (bool wrap : {false, true}) {
    expect_rows(wrap ? "bmsk.wrap.b32" : "bmsk.clamp.b32", lanes, [&](const Lane& x) {
      uint64_t start = wrap ? x.a % 32 : std::min<uint64_t>(x.a, 32);
      uint64_t len = wrap ? x.b % 32 : std::min<uint64_t>(x.b, 32);
      Result r;
      for (uint64_t i = start; i < 32 && i < start + len; ++i) r.d |= uint64_t(1) << i;
      return r;
    });
  }
}

TEST(BitRows, Permute) {
  auto lanes = integer_lanes(4, 3, 6000, 4);
  auto byte = [](const Lane& x, int index) {
    return (index < 4 ? x.a >> 8 * index : x.b >> 8 * (index - 4)) & 255;
  };
  expect_rows("prmt.b32", lanes, [&](const Lane& x) {
    Result r;
    for (int k = 0; k < 4; ++k) {
      int select = x.c >> 4 * k & 15;
      uint64_t b = byte(x, select & 7);
      if (select & 8) b = b & 128 ? 255 : 0;
      r.d |= b << 8 * k;
    }
    return r;
  });
  // PTX ISA, table of prmt's modes: source bytes of d.b3 .. d.b0 for selector 0 to 3.
  const std::pair<const char*, std::array<const char*, 4>> modes[] = {
      {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
  for (const auto& [name, rows] : modes) {
    expect_rows(std::string("prmt.b32.") + name, lanes, [&, rows = rows](const Lane& x) {
      Result r;
      for (int k = 0; k < 4; ++k) r.d |= byte(x, rows[x.c & 3][3 - k] - '0') << 8 * k;
      return r;
    });
  }
}

TEST(BitRows, Selections) {
  for (const Width& w : kWidths) {
    auto lanes = integer_lanes(w.bytes, 2, 1000);
    expect_rows("selp" + std::string(w.bits), lanes,
                [](const Lane& x) { return Result{x.pa ? x.a : x.b}; });
    auto by_c = lanes;
    auto words = integer_specials(4);
    auto floats = float_specials(kF32);
    for (size_t i = 0; i < by_c.size(); ++i)
      by_c[i].c = i % 2 ? words[i % words.size()] : floats[i % floats.size()];
    std::string type = w.bits;
    expect_rows("slct" + type + ".s32", by_c,
                [](const Lane& x) { return Result{sign_extend(x.c, 4) >= 0 ? x.a : x.b}; });
    for (bool ftz : {false, true}) {
      expect_rows(std::string("slct") + (ftz ? ".ftz" : "") + type + ".f32", by_c,
                  [&](const Lane& x) {
                    uint64_t magnitude = x.c & 0x7fffffffu;
                    bool zero = ftz ? magnitude < 0x00800000u : magnitude == 0;
                    bool first = magnitude <= 0x7f800000u && (zero || !(x.c >> 31));
                    return Result{first ? x.a : x.b};
                  });
    }
  }
  for (const char* op : {"selp.f32", "selp.u32", "selp.s32"})
    expect_rows(op, integer_lanes(4, 2, 100),
                [](const Lane& x) { return Result{x.pa ? x.a : x.b}; });
}

}  // namespace
}  // namespace assay::ptx
