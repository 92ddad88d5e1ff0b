// tests/data/hard_cases/wrap*.cu: index arithmetic with and without 32-bit bugs, and the launches
// that tell them apart. Bugs that only reach a comparison or pass a reset (`and`, shr.u) are known
// misses.
#include <algorithm>
#include <set>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

constexpr uint64_t Y = 0x700000000000, X = 0x710000000000;

struct Launch {
  const char* name;  ///< the kernel's name is its first word
  std::vector<uint64_t> params;
  std::array<int64_t, 3> ctaid, nctaid, ntid, tid;
  uint32_t value;        ///< what every load below X + 128 gives
  uint32_t value_above;  ///< and above
  bool is_bug;
};

const std::vector<Launch>& launches() {
  static const std::vector<Launch> list = {
      {"b1_row_stride",
       {Y, X, 65536, 8},
       {32768, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b2_gid",
       {Y, X, 8589934592ull},
       {8388608, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b3_unsigned",
       {Y, X, 65536, 8},
       {65536, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b4_three",
       {Y, X, 1, 1024, 2048},
       {1024, 5, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b5_cast_late", {Y, X, 65536}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b6_sizet_late",
       {Y, X, 65536},
       {65537, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b7_loop_off rows=6 str=2^29",
       {Y, X, 536870912, 6},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b7_loop_off rows=3 (64-bit ptr induction)",
       {Y, X, 1073741824, 3},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"b8_grid_stride",
       {Y, X, 2147483647},
       {8388606, 0, 0},
       {8388607, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b9_scan_count",
       {Y, X, 309504, 1, 16384},
       {0, 0, 0},
       {1024, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b10_doubled",
       {Y, X, 2147483647},
       {4194309, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b11_gather",
       {Y, X, X, 8192},
       {3, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0x493e0u,
       0x493e0u,
       true},
      {"b12_float4", {Y, X, 65536}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b13_bytes", {Y, X, 65536}, {32768, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b14_pow2", {Y, X}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b16_divmod",
       {Y, X, 2147483647, 1000},
       {4194309, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b21_odd", {Y, X}, {4194304, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b22_f4lane", {Y, X, 8192}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b23_pow2", {Y, X}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"b24_divpow2", {Y, X}, {1048576, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"h6_half_index", {Y, X, 0}, {8388609, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"h7_div_row",
       {Y, X, 100, 0},
       {4194305, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"h8_dim3_prod",
       {Y, X, 65536, 64},
       {0, 5, 65535},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"h10_loop_const",
       {Y, X, 9, 536870912},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"h11_loop_step",
       {Y, X, 9, 536870912},
       {0, 0, 0},
       {1, 1, 1},
       {32, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"h12_two_offsets",
       {Y, X, 65536, 7},
       {65537, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"h15_smem_idx",
       {Y, X, 65536},
       {32768, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {16, 0, 0},
       0,
       0,
       true},
      {"h16_shfl_idx", {Y, X, 65536}, {65536, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, true},
      {"h19_size_t_total",
       {Y, X, 65536, 65537},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"h20_end_ptr",
       {Y, X, 65536, 32768},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       true},
      {"b15_guarded (guard skips it)",
       {Y, X, 65536, 1099511627776ull},
       {32768, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"g1_row_stride",
       {Y, X, 65536, 8},
       {65536, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"g2_gid",
       {Y, X, 8589934592ull},
       {8388608, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"g3_neg_unsigned", {Y, X, 5}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g4_unsigned_minus", {Y, X, 5}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g4_unsigned_minus t1",
       {Y, X, 5},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {1, 0, 0},
       0,
       0,
       false},
      {"g5_hash", {Y, X, 1000}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {77, 0, 0}, 0, 0, false},
      {"g6_hash_mask", {Y, X, 1000}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {77, 0, 0}, 0, 0, false},
      {"g7_hash_shift", {Y, X}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {77, 0, 0}, 0, 0, false},
      {"g8_ring", {Y, X, 3}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {77, 0, 0}, 0, 0, false},
      {"g9_conv", {Y, X, 1000, 5, 2}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g9_conv k3", {Y, X, 1000, 3, 1}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g10_fastdiv",
       {Y, X, 1048576, 613566757, 3, 7},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {77, 0, 0},
       0,
       0,
       false},
      {"g11_const_mod",
       {Y, X, 4294967295ull},
       {8388608, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {77, 0, 0},
       0,
       0,
       false},
      {"g12_reverse_loop", {Y, X, 600}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {7, 0, 0}, 0, 0, false},
      {"g13_blockreduce", {Y, X, 200}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {3, 0, 0}, 0, 0, false},
      {"g14_swizzle", {Y, X}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {3, 9, 0}, 0, 0, false},
      {"g15_neg_stride",
       {Y, X, 0xfffffffdull, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {77, 0, 0},
       0,
       0,
       false},
      {"g15_neg_stride pos",
       {Y, X, 3, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {77, 0, 0},
       0,
       0,
       false},
      {"g16_radix",
       {Y, X, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {7, 0, 0},
       0xbf800000u,
       0xbf800000u,
       false},
      {"g17_float_bits",
       {Y, X, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {7, 0, 0},
       0xbf800000u,
       0xbf800000u,
       false},
      {"g18_grid_tail", {Y, X, 100000}, {3, 0, 0}, {16, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g19_pack64",
       {Y, X, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {7, 0, 0},
       0x80000001u,
       0x80000001u,
       false},
      {"g20_lcg_table",
       {Y, X, 12345, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {7, 0, 0},
       0,
       0,
       false},
      {"h1_uconv", {Y, X, 1000, 5, 2}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"h1_uconv k3 i0",
       {Y, X, 1000, 3, 1},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"h1_uconv i1 wraps back",
       {Y, X, 1000, 5, 2},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {1, 0, 0},
       0,
       0,
       false},
      {"h2_nonneg_guard",
       {Y, X, X, 1000, 5},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {1, 0, 0},
       0xfffffffdu,
       0xfffffffdu,
       false},
      {"h3_u_big base=3e9",
       {Y, X, 3000000000ull},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {1, 0, 0},
       0,
       0,
       false},
      {"h4_sel", {Y, X, 10, 4, 0}, {3, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"h5_tail_wrap", {Y, X, 10}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {2, 0, 0}, 0, 0, false},
      {"h9_ptr_step",
       {Y, X, 536870912, 6},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"h13_minus_plus", {Y, X, 5, 9}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {3, 0, 0}, 0, 0, false},
      {"h14_minus_plus_mem",
       {Y, X, X, 9},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {3, 0, 0},
       0x5u,
       0x9u,
       false},
      {"h17_philox_table",
       {Y, X, 1234567, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {3, 0, 0},
       0,
       0,
       false},
      {"h18_fnv_open",
       {Y, X, 3735928559ull, 1000},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {3, 0, 0},
       0x1u,
       0x1u,
       false},
      {"g22_ring_guard", {Y, X, 5, 100}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {9, 0, 0}, 0, 0, false},
      {"g22_ring_guard in",
       {Y, X, 50, 100},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {9, 0, 0},
       0,
       0,
       false},
      {"g23_masked_sel", {Y, X, 100}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
      {"g24_bloom",
       {Y, X, 1023},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {9, 0, 0},
       0xdeadbeefu,
       0xdeadbeefu,
       false},
      {"g25_lemire", {Y, X, 1000, 99}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {9, 0, 0}, 0, 0, false},
      {"g26_morton", {Y, X}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {900, 0, 0}, 0, 0, false},
      {"g27_mul_shift_hash",
       {Y, X, X, 10},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {9, 0, 0},
       0xdeadbeefu,
       0xdeadbeefu,
       false},
      {"g28_kv_u32 base3e9 delta-5",
       {Y, X, 3000000000ull, 4294967291ull},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"g28_kv_u32 base10 delta-5",
       {Y, X, 10, 4294967291ull},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {0, 0, 0},
       0,
       0,
       false},
      {"g29_wrapback_sub",
       {Y, X, 100, 10, 0},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {9, 0, 0},
       0,
       0,
       false},
      {"g30_perm_lcg",
       {Y, X, 1664525, 1013904223, 10},
       {0, 0, 0},
       {1, 1, 1},
       {256, 1, 1},
       {900, 0, 0},
       0,
       0,
       false},
      {"g31_clamp", {Y, X, 100, 5}, {0, 0, 0}, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0, 0, false},
  };
  return list;
}

class Judge {
 public:
  Judge() {
    for (const char* file : {"wrap", "wrap2", "wrap3"}) {
      const auto path = data_folder() / "hard_cases" / (std::string(file) + ".ptx");
      modules_.push_back(std::make_unique<Module>(decode(read_file(path), path.string())));
    }
  }

  /// Findings of wrap (no notes) that a launch makes.
  std::vector<Diagnostic> wraps(const Launch& launch) {
    const std::string entry = launch.name;
    const std::string kernel = entry.substr(0, entry.find(' '));
    for (const auto& module : modules_) {
      if (module->find(kernel) == nullptr) continue;
      const auto code = lower(*module, kernel, use_avx2());
      EXPECT_TRUE(code->unsupported.empty()) << kernel;
      run(*module, *code, launch, kernel);
      std::vector<Diagnostic> found;
      for (const Diagnostic& d : machine_.diagnostics()) {
        if (d.kind == DiagnosticKind::wrap && !d.note) found.push_back(d);
        EXPECT_TRUE(launch.is_bug || d.kind != DiagnosticKind::race)
            << launch.name << ": " << d.message;
      }
      return found;
    }
    ADD_FAILURE() << "no kernel " << kernel;
    return {};
  }

 private:
  void run(const Module& module, const Code& code, const Launch& launch,
           const std::string& kernel) {
    machine_.renew_memory();
    RegionSpec spec;  // all memory that an index, right or wrong, may reach
    spec.name = "memory";
    spec.base = 0x600000000000;
    spec.bytes = int64_t{1} << 45;
    spec.element_bytes = 4;
    spec.fill = [&launch](int64_t first, int64_t count, uint8_t* out) {
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t address = 0x600000000000 + static_cast<uint64_t>(first + i);
        const uint32_t value = address < X + 128 ? launch.value : launch.value_above;
        out[i] = static_cast<uint8_t>(value >> (8 * (address % 4)));
      }
    };
    machine_.memory().add(spec);
    RunOptions options;
    options.instruction_budget = 20000;  // wrapped loops need not end
    machine_.begin(module, options);
    machine_.add_variables(code);
    LaunchConfig config;
    config.grid = launch.nctaid;
    config.block = launch.ntid;
    config.only_block = launch.ctaid;
    if (kernel == "h15_smem_idx") {
      config.block = {32, 1, 1};  // its threads exchange indices: all of them run
    } else {
      config.only_thread = launch.tid;
    }
    config.params.assign(256, 0);
    for (size_t i = 0; i < launch.params.size() && i < code.entry->params.size(); ++i) {
      const Parameter& p = code.entry->params[i];
      std::memcpy(config.params.data() + p.offset, &launch.params[i], static_cast<size_t>(p.bytes));
    }
    status_ = machine_.launch(code, config);
  }

  std::vector<std::unique_ptr<Module>> modules_;
  Machine machine_{use_avx2()};
  RunStatus status_ = RunStatus::completed;
};

TEST(WrapKernels, FindsTheBugsAndLeavesCorrectIndexingAlone) {
  const std::set<std::string> known_misses = {"b9_scan_count", "h6_half_index", "h19_size_t_total",
                                              "h20_end_ptr"};
  const std::set<std::string> known_alarms = {"g28_kv_u32 base3e9 delta-5"};
  Judge judge;
  int bugs = 0, found = 0, correct = 0;
  std::set<std::string> missed, alarms;
  for (const Launch& launch : launches()) {
    const std::vector<Diagnostic> wraps = judge.wraps(launch);
    (launch.is_bug ? bugs : correct) += 1;
    if (launch.is_bug && !wraps.empty()) ++found;
    if (launch.is_bug && wraps.empty()) missed.insert(launch.name);
    if (!launch.is_bug && !wraps.empty()) {
      alarms.insert(launch.name);
      std::printf("false alarm: %s: %s\n", launch.name, wraps[0].message.c_str());
    }
    for (const Diagnostic& d : wraps) EXPECT_GT(d.line, 0) << launch.name;
  }
  for (const std::string& name : missed) std::printf("missed: %s\n", name.c_str());
  std::printf("wrap: %d of %d bugs found, %zu false alarms in %d correct launches\n", found, bugs,
              alarms.size(), correct);
  EXPECT_EQ(bugs, 28);
  EXPECT_EQ(correct, 50);
  EXPECT_GE(found, 24);
  EXPECT_LE(alarms.size(), 1u);
  EXPECT_TRUE(
      std::includes(known_misses.begin(), known_misses.end(), missed.begin(), missed.end()));
  EXPECT_TRUE(
      std::includes(known_alarms.begin(), known_alarms.end(), alarms.begin(), alarms.end()));
}

TEST(WrapKernels, MessageShowsFactorsAndProduct) {
  Judge judge;
  const std::vector<Diagnostic> wraps = judge.wraps(launches()[0]);
  ASSERT_FALSE(wraps.empty());
  EXPECT_NE(wraps[0].message.find("65536"), std::string::npos) << wraps[0].message;
  EXPECT_NE(wraps[0].message.find("32768"), std::string::npos) << wraps[0].message;
  EXPECT_NE(wraps[0].message.find("2147483648"), std::string::npos) << wraps[0].message;
  EXPECT_EQ(wraps[0].line, 4);
  EXPECT_EQ(wraps[0].file, "wrap.cu");
}

}  // namespace
}  // namespace assay::ptx
