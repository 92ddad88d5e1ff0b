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
  std::array<int64_t, 3> ctaid{}, nctaid{1, 1, 1}, ntid{256, 1, 1}, tid{};
  uint32_t value = 0;        ///< what every load below X + 128 gives
  uint32_t value_above = 0;  ///< and above
  bool is_bug = false;
};

const std::vector<Launch>& launches() {
  static const std::vector<Launch> list = {
      {.name = "b1_row_stride", .params = {Y, X, 65536, 8}, .ctaid = {32768, 0, 0}, .is_bug = true},
      {.name = "b2_gid", .params = {Y, X, 8589934592ull}, .ctaid = {8388608, 0, 0}, .is_bug = true},
      {.name = "b3_unsigned", .params = {Y, X, 65536, 8}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b4_three", .params = {Y, X, 1, 1024, 2048}, .ctaid = {1024, 5, 0}, .is_bug = true},
      {.name = "b5_cast_late", .params = {Y, X, 65536}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b6_sizet_late", .params = {Y, X, 65536}, .ctaid = {65537, 0, 0}, .is_bug = true},
      {.name = "b7_loop_off rows=6 str=2^29", .params = {Y, X, 536870912, 6}, .is_bug = true},
      {.name = "b7_loop_off rows=3 (64-bit ptr induction)", .params = {Y, X, 1073741824, 3}},
      {.name = "b8_grid_stride", .params = {Y, X, 2147483647}, .ctaid = {8388606, 0, 0},
       .nctaid = {8388607, 1, 1}, .is_bug = true},
      {.name = "b9_scan_count", .params = {Y, X, 309504, 1, 16384}, .nctaid = {1024, 1, 1},
       .is_bug = true},
      {.name = "b10_doubled", .params = {Y, X, 2147483647}, .ctaid = {4194309, 0, 0},
       .is_bug = true},
      {.name = "b11_gather", .params = {Y, X, X, 8192}, .ctaid = {3, 0, 0}, .value = 0x493e0u,
       .value_above = 0x493e0u, .is_bug = true},
      {.name = "b12_float4", .params = {Y, X, 65536}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b13_bytes", .params = {Y, X, 65536}, .ctaid = {32768, 0, 0}, .is_bug = true},
      {.name = "b14_pow2", .params = {Y, X}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b16_divmod", .params = {Y, X, 2147483647, 1000}, .ctaid = {4194309, 0, 0},
       .is_bug = true},
      {.name = "b21_odd", .params = {Y, X}, .ctaid = {4194304, 0, 0}, .is_bug = true},
      {.name = "b22_f4lane", .params = {Y, X, 8192}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b23_pow2", .params = {Y, X}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "b24_divpow2", .params = {Y, X}, .ctaid = {1048576, 0, 0}, .is_bug = true},
      {.name = "h6_half_index", .params = {Y, X, 0}, .ctaid = {8388609, 0, 0}, .is_bug = true},
      {.name = "h7_div_row", .params = {Y, X, 100, 0}, .ctaid = {4194305, 0, 0}, .is_bug = true},
      {.name = "h8_dim3_prod", .params = {Y, X, 65536, 64}, .ctaid = {0, 5, 65535}},
      {.name = "h10_loop_const", .params = {Y, X, 9, 536870912}, .is_bug = true},
      {.name = "h11_loop_step", .params = {Y, X, 9, 536870912}, .ntid = {32, 1, 1}, .is_bug = true},
      {.name = "h12_two_offsets", .params = {Y, X, 65536, 7}, .ctaid = {65537, 0, 0},
       .is_bug = true},
      {.name = "h15_smem_idx", .params = {Y, X, 65536}, .ctaid = {32768, 0, 0}, .tid = {16, 0, 0},
       .is_bug = true},
      {.name = "h16_shfl_idx", .params = {Y, X, 65536}, .ctaid = {65536, 0, 0}, .is_bug = true},
      {.name = "h19_size_t_total", .params = {Y, X, 65536, 65537}, .is_bug = true},
      {.name = "h20_end_ptr", .params = {Y, X, 65536, 32768}, .is_bug = true},
      {.name = "b15_guarded (guard skips it)", .params = {Y, X, 65536, 1099511627776ull},
       .ctaid = {32768, 0, 0}},
      {.name = "g1_row_stride", .params = {Y, X, 65536, 8}, .ctaid = {65536, 0, 0}},
      {.name = "g2_gid", .params = {Y, X, 8589934592ull}, .ctaid = {8388608, 0, 0}},
      {.name = "g3_neg_unsigned", .params = {Y, X, 5}},
      {.name = "g4_unsigned_minus", .params = {Y, X, 5}},
      {.name = "g4_unsigned_minus t1", .params = {Y, X, 5}, .tid = {1, 0, 0}},
      {.name = "g5_hash", .params = {Y, X, 1000}, .tid = {77, 0, 0}},
      {.name = "g6_hash_mask", .params = {Y, X, 1000}, .tid = {77, 0, 0}},
      {.name = "g7_hash_shift", .params = {Y, X}, .tid = {77, 0, 0}},
      {.name = "g8_ring", .params = {Y, X, 3}, .tid = {77, 0, 0}},
      {.name = "g9_conv", .params = {Y, X, 1000, 5, 2}},
      {.name = "g9_conv k3", .params = {Y, X, 1000, 3, 1}},
      {.name = "g10_fastdiv", .params = {Y, X, 1048576, 613566757, 3, 7}, .tid = {77, 0, 0}},
      {.name = "g11_const_mod", .params = {Y, X, 4294967295ull}, .ctaid = {8388608, 0, 0},
       .tid = {77, 0, 0}},
      {.name = "g12_reverse_loop", .params = {Y, X, 600}, .tid = {7, 0, 0}},
      {.name = "g13_blockreduce", .params = {Y, X, 200}, .tid = {3, 0, 0}},
      {.name = "g14_swizzle", .params = {Y, X}, .tid = {3, 9, 0}},
      {.name = "g15_neg_stride", .params = {Y, X, 0xfffffffdull, 1000}, .tid = {77, 0, 0}},
      {.name = "g15_neg_stride pos", .params = {Y, X, 3, 1000}, .tid = {77, 0, 0}},
      {.name = "g16_radix", .params = {Y, X, 1000}, .tid = {7, 0, 0}, .value = 0xbf800000u,
       .value_above = 0xbf800000u},
      {.name = "g17_float_bits", .params = {Y, X, 1000}, .tid = {7, 0, 0}, .value = 0xbf800000u,
       .value_above = 0xbf800000u},
      {.name = "g18_grid_tail", .params = {Y, X, 100000}, .ctaid = {3, 0, 0}, .nctaid = {16, 1, 1}},
      {.name = "g19_pack64", .params = {Y, X, 1000}, .tid = {7, 0, 0}, .value = 0x80000001u,
       .value_above = 0x80000001u},
      {.name = "g20_lcg_table", .params = {Y, X, 12345, 1000}, .tid = {7, 0, 0}},
      {.name = "h1_uconv", .params = {Y, X, 1000, 5, 2}},
      {.name = "h1_uconv k3 i0", .params = {Y, X, 1000, 3, 1}},
      {.name = "h1_uconv i1 wraps back", .params = {Y, X, 1000, 5, 2}, .tid = {1, 0, 0}},
      {.name = "h2_nonneg_guard", .params = {Y, X, X, 1000, 5}, .tid = {1, 0, 0},
       .value = 0xfffffffdu, .value_above = 0xfffffffdu},
      {.name = "h3_u_big base=3e9", .params = {Y, X, 3000000000ull}, .tid = {1, 0, 0}},
      {.name = "h4_sel", .params = {Y, X, 10, 4, 0}, .ctaid = {3, 0, 0}},
      {.name = "h5_tail_wrap", .params = {Y, X, 10}, .tid = {2, 0, 0}},
      {.name = "h9_ptr_step", .params = {Y, X, 536870912, 6}},
      {.name = "h13_minus_plus", .params = {Y, X, 5, 9}, .tid = {3, 0, 0}},
      {.name = "h14_minus_plus_mem", .params = {Y, X, X, 9}, .tid = {3, 0, 0}, .value = 0x5u,
       .value_above = 0x9u},
      {.name = "h17_philox_table", .params = {Y, X, 1234567, 1000}, .tid = {3, 0, 0}},
      {.name = "h18_fnv_open", .params = {Y, X, 3735928559ull, 1000}, .tid = {3, 0, 0},
       .value = 0x1u, .value_above = 0x1u},
      {.name = "g22_ring_guard", .params = {Y, X, 5, 100}, .tid = {9, 0, 0}},
      {.name = "g22_ring_guard in", .params = {Y, X, 50, 100}, .tid = {9, 0, 0}},
      {.name = "g23_masked_sel", .params = {Y, X, 100}},
      {.name = "g24_bloom", .params = {Y, X, 1023}, .tid = {9, 0, 0}, .value = 0xdeadbeefu,
       .value_above = 0xdeadbeefu},
      {.name = "g25_lemire", .params = {Y, X, 1000, 99}, .tid = {9, 0, 0}},
      {.name = "g26_morton", .params = {Y, X}, .tid = {900, 0, 0}},
      {.name = "g27_mul_shift_hash", .params = {Y, X, X, 10}, .tid = {9, 0, 0},
       .value = 0xdeadbeefu, .value_above = 0xdeadbeefu},
      {.name = "g28_kv_u32 base3e9 delta-5", .params = {Y, X, 3000000000ull, 4294967291ull}},
      {.name = "g28_kv_u32 base10 delta-5", .params = {Y, X, 10, 4294967291ull}},
      {.name = "g29_wrapback_sub", .params = {Y, X, 100, 10, 0}, .tid = {9, 0, 0}},
      {.name = "g30_perm_lcg", .params = {Y, X, 1664525, 1013904223, 10}, .tid = {900, 0, 0}},
      {.name = "g31_clamp", .params = {Y, X, 100, 5}},
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
