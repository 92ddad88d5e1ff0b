// Bad input of every kind that we could think of: one clear line on stderr, with its place, and the
// right exit status. Each row is a mistake that a user makes.
#include <functional>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

struct Mistake {
  const char* name;
  int status;
  std::vector<std::string> says;  ///< what the line must contain
  std::function<Outcome(const Project&)> make;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

std::string quoted(const std::string& path) { return "'" + path + "'"; }

/// Smoke over the project's contract after one change in it.
Outcome with_contract(const Project& p, const std::string& from, const std::string& to) {
  p.folder.write("scale_rows.toml", replaced(kScaleContract, from, to));
  return run_assay({"smoke", p.contract, "--cases", "3", "--jobs", "1", "--out", p.out});
}

Outcome with_source(const Project& p, const std::string& from, const std::string& to) {
  p.folder.write("scale_rows.cu", replaced(kScaleSource, from, to));
  return run_assay({"smoke", p.contract, "--cases", "3", "--jobs", "1", "--out", p.out});
}

/// Repro of the project's case after one change in it.
Outcome with_case(const Project& p, const std::string& from, const std::string& to) {
  p.folder.write("good.case", replaced(kScaleCase, from, to));
  return run_assay({"repro", p.case_file});
}

Outcome with_ptx(const Project& p, const std::string& body) {
  p.folder.write("scale_rows.ptx",
                 ".version 8.0\n.target sm_80\n.address_size 64\n"
                 ".visible .entry scale(.param .u64 y, .param .u64 x, .param .u32 n)\n{\n" +
                     body + "\nret;\n}\n");
  std::string contract =
      replaced(kScaleContract, "cuda = \"scale_rows.cu\", entry = \"scale_rows<{T}>\"",
               "ptx = \"scale_rows.ptx\", entry = \"scale\"");
  p.folder.write("scale_rows.toml", contract);
  return run_assay({"smoke", p.contract, "--cases", "3", "--jobs", "1", "--out", p.out});
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      // --- command line
      {"no_command", 2, {"no command", "smoke"}, [](auto&) { return run_assay({}); }},
      {"unknown_command",
       2,
       {"unknown command 'smok'", "did you mean 'smoke'"},
       [](auto&) { return run_assay({"smok"}); }},
      {"unknown_option",
       2,
       {"--kases"},
       [](auto&) {
         return run_assay({"smoke", "--kases", "3"});
       }},
      {"unknown_device",
       2,
       {"unknown device 'ptz'", "did you mean 'ptx'"},
       [](auto&) {
         return run_assay({"smoke", "--device", "ptz"});
       }},
      {"device_torch",
       3,
       {"device 'torch' is not built yet"},
       [](auto&) {
         return run_assay({"smoke", "--device", "torch"});
       }},
      {"bad_duration",
       2,
       {"--for", "'5 bananas'", "30s"},
       [](auto&) {
         return run_assay({"smoke", "--for", "5 bananas"});
       }},
      {"duration_zero",
       2,
       {"--for"},
       [](auto&) {
         return run_assay({"smoke", "--for", "0s"});
       }},
      {"jobs_zero",
       2,
       {"--jobs", "at least 1"},
       [](auto&) {
         return run_assay({"smoke", "--jobs", "0"});
       }},
      {"jobs_beyond_an_int",
       2,
       {"--jobs", "at most 1024"},
       [](auto&) {
         return run_assay({"smoke", "--jobs", "4294967297"});
       }},
      {"cases_zero",
       2,
       {"--cases", "at least 1"},
       [](auto&) {
         return run_assay({"smoke", "--cases", "0"});
       }},
      {"cases_no_number",
       2,
       {"--cases", "'many'"},
       [](auto&) {
         return run_assay({"smoke", "--cases", "many"});
       }},
      {"seed_negative",
       2,
       {"--seed"},
       [](auto&) {
         return run_assay({"smoke", "--seed=-1"});
       }},
      {"seed_beyond_64_bits",
       2,
       {"--seed", "18446744073709551616"},
       [](auto&) {
         return run_assay({"smoke", "--seed", "18446744073709551616"});
       }},
      {"unknown_format",
       2,
       {"unknown format 'xml'", "junit"},
       [](auto&) {
         return run_assay({"smoke", "--format", "xml"});
       }},
      {"json_and_a_format",
       2,
       {"--json and --format junit are two ways to print"},
       [](auto& p) {
         return run_assay({"repro", p.case_file, "--json", "--format", "junit"});
       }},
      {"bad_disk_cap",
       2,
       {"--max-disk", "'lots'"},
       [](auto&) {
         return run_assay({"fuzz", "--max-disk", "lots"});
       }},
      {"init_without_source", 2, {"source"}, [](auto&) { return run_assay({"init"}); }},
      {"init_of_no_file",
       2,
       {"none.cu: no such source file"},
       [](const Project& p) {
         return run_assay({"init", p.folder / "none.cu:kernel"});
       }},
      {"init_of_an_unknown_kernel",
       2,
       {"has no kernel 'scale_row'", "did you mean 'scale_rows'", "its kernels: scale_rows"},
       [](const Project& p) {
         return run_assay({"init", p.source + ":scale_row"});
       }},
      {"init_of_one_of_several",
       2,
       {"two.cu: has several kernels: a, b"},
       [](const Project& p) {
         return run_assay({"init", p.folder.write("two.cu",
                                                  "__global__ void a(int* x) {}\n"
                                                  "__global__ void b(int* x) {}\n")});
       }},
      {"init_of_an_overload",
       2,
       {"two.cu:2", "'a' is overloaded (lines 1, 2)"},
       [](const Project& p) {
         const std::string file = p.folder.write(
             "two.cu", "__global__ void a(int* x) {}\n__global__ void a(float* x) {}\n");
         return run_assay({"init", file + ":a"});
       }},
      {"init_of_a_structure",
       2,
       {"s.cu:2", "takes 'p' of type 'Params'", "cannot pass it"},
       [](const Project& p) {
         return run_assay({"init", p.folder.write("s.cu",
                                                  "struct Params { int n; };\n__global__ "
                                                  "void k(float* y, Params p) {}\n")});
       }},
      {"init_of_what_does_not_compile",
       2,
       {"s.cu", "undeclared_name"},
       [](const Project& p) {
         return run_assay({"init", p.folder.write("s.cu",
                                                  "__global__ void k(float* y, int n) {\n"
                                                  "  y[0] = undeclared_name;\n}\n")});
       }},
      {"init_of_a_kernel_that_writes_nothing",
       2,
       {"s.cu:1", "there is nothing to judge"},
       [](const Project& p) {
         return run_assay({"init", p.folder.write("s.cu", "__global__ void k(const int* y) {}\n")});
       }},
      {"check_as_junit",
       2,
       {"unknown format 'junit'; check prints text, github"},
       [](const Project& p) {
         return run_assay({"check", p.contract, "--format", "junit"});
       }},
      {"check_of_a_broken_contract",
       2,
       {"scale_rows.toml:", "unknown key"},
       [](const Project& p) {
         p.folder.write("scale_rows.toml", replaced(kScaleContract, "sizes =", "sices ="));
         return run_assay({"check", p.contract});
       }},
      {"exhaust_without_kernel", 2, {"kernels"}, [](auto&) { return run_assay({"exhaust"}); }},
      {"exhaust_of_a_reduction",
       2,
       {"softmax.toml:", "is not elementwise", "reduces over 'cols'"},
       [](auto&) {
         return run_assay({"exhaust", "softmax"});
       }},
      {"exhaust_of_a_wide_integer",
       2,
       {"int_divide.toml:", "of type i32 has too many values"},
       [](auto&) {
         return run_assay({"exhaust", "int_divide", "--only", "T=i32"});
       }},
      {"exhaust_only_an_unknown_name",
       2,
       {"--only", "'S' is no type, knob or flag of 'scale_rows'", "T"},
       [](const Project& p) {
         return run_assay({"exhaust", p.contract, "--only", "S=f16"});
       }},
      {"exhaust_only_an_unknown_value",
       2,
       {"--only", "'T' of 'scale_rows' is never 'f16'", "f32"},
       [](const Project& p) {
         return run_assay({"exhaust", p.contract, "--only", "T=f16"});
       }},
      {"exhaust_of_too_many_mantissas",
       2,
       {"--mantissas", "at most 2048"},
       [](const Project& p) {
         return run_assay({"exhaust", p.contract, "--mantissas", "4096"});
       }},
      {"repro_without_file", 2, {"file"}, [](auto&) { return run_assay({"repro"}); }},
      // --- which kernel
      {"unknown_kernel",
       2,
       {"unknown kernel 'sofmax'", "did you mean 'softmax'"},
       [](auto&) {
         return run_assay({"smoke", "sofmax"});
       }},
      {"missing_contract",
       2,
       {"none.toml", "no such contract file"},
       [](const Project& p) {
         return run_assay({"smoke", p.folder / "none.toml"});
       }},
      {"folder_as_contract",
       2,
       {"is a folder"},
       [](const Project& p) {
         return run_assay({"smoke", p.folder.path()});
       }},
      {"kernel_twice",
       2,
       {"given twice"},
       [](const Project& p) {
         return run_assay({"smoke", p.contract, p.contract});
       }},
      {"two_kernels_of_one_name",
       2,
       {"given twice"},
       [](const Project& p) {
         p.folder.write("other/scale_rows.cu", kScaleSource);
         const std::string other = p.folder.write("other/scale_rows.toml", kScaleContract);
         return run_assay({"fuzz", p.contract, other, "--cases", "3", "--out", p.out});
       }},
      {"loop_of_links",
       2,
       {"a.toml", "no such contract file"},
       [](const Project& p) {
         fs::create_symlink(p.folder / "b.toml", p.folder / "a.toml");
         fs::create_symlink(p.folder / "a.toml", p.folder / "b.toml");
         return run_assay({"smoke", p.folder / "a.toml"});
       }},
      {"no_pairs",
       2,
       {"holds no pair"},
       [](const Project& p) {
         return run_assay({"score", "--planted", p.folder.path()});
       }},
      // --- contracts
      {"binary_contract",
       2,
       {"scale_rows.toml:1:"},
       [](const Project& p) {
         p.folder.write("scale_rows.toml", std::string("\x7f"
                                                       "ELF\x02\x01\x00\x00\xff\xfe",
                                                       10));
         return run_assay({"smoke", p.contract});
       }},
      {"wrong_key",
       2,
       {"scale_rows.toml:5:1", "lunch", "launch"},
       [](auto& p) { return with_contract(p, "launch = {", "lunch = {"); }},
      {"bad_expression",
       2,
       {"scale_rows.toml:5:"},
       [](auto& p) { return with_contract(p, "ceil_div(n, 64)", "ceil_div(n, 64"); }},
      {"unknown_name_in_launch",
       2,
       {"scale_rows.toml:5:", "m"},
       [](auto& p) { return with_contract(p, "ceil_div(n, 64)", "ceil_div(m, 64)"); }},
      {"unknown_dimension_in_formula",
       2,
       {"scale_rows.toml:12:", "cols"},
       [](auto& p) { return with_contract(p, "x + x", "sum(x, cols)"); }},
      {"unknown_operand_in_formula",
       2,
       {"scale_rows.toml:12:", "z"},
       [](auto& p) { return with_contract(p, "x + x", "x + z"); }},
      {"unknown_dtype",
       2,
       {"scale_rows.toml:3:", "float32"},
       [](auto& p) { return with_contract(p, "\"f32\"", "\"float32\""); }},
      {"contract_without_args",
       2,
       {"scale_rows.toml", "args"},
       [](const Project& p) {
         const std::string text = kScaleContract;
         const size_t from = text.find("args");
         const size_t to = text.find("[formula]");
         p.folder.write("scale_rows.toml", text.substr(0, from) + text.substr(to));
         return run_assay({"smoke", p.contract});
       }},
      {"negative_size_in_contract",
       2,
       {"scale_rows.toml:4:"},
       [](auto& p) { return with_contract(p, "min = 0, max = 5000", "min = -3, max = -1"); }},
      {"all_sizes_zero",
       2,
       {"nothing is proven"},
       [](auto& p) { return with_contract(p, "min = 0, max = 5000", "min = 0, max = 0"); }},
      // --- sources
      {"source_missing",
       2,
       {"scale_rows.cu"},
       [](const Project& p) {
         fs::remove(p.source);
         return run_assay({"smoke", p.contract});
       }},
      {"compile_error",
       2,
       {"scale_rows.cu", "4", "undeclared"},
       [](auto& p) { return with_source(p, "x[i] + x[i]", "undeclared[i]"); }},
      {"entry_not_found",
       2,
       {"scale_cols"},
       [](auto& p) {
         return with_contract(p, "entry = \"scale_rows<{T}>\"", "entry = \"scale_cols<{T}>\"");
       }},
      {"entry_with_more_parameters",
       2,
       {"scale_rows.toml:5:", "3 arguments", "takes 4"},
       [](auto& p) { return with_source(p, "int n)", "int n, int k)"); }},
      {"entry_with_fewer_parameters",
       2,
       {"scale_rows.toml:5:", "3 arguments", "takes 2"},
       [](auto& p) {
         p.folder.write("scale_rows.cu", R"(template <typename T>
__global__ void scale_rows(T* y, const T* x) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }
)");
         return with_contract(p, "max = 5000", "max = 64");
       }},
      {"scalar_narrower_than_the_parameter",
       2,
       {"scale_rows.toml:9:", "'n' is i32, of 4 bytes", "parameter 3", "8"},
       [](auto& p) { return with_source(p, "int n)", "long long n)"); }},
      {"scalar_wider_than_the_parameter",
       2,
       {"scale_rows.toml:9:", "'n' is i64, of 8 bytes", "parameter 3", "4"},
       [](auto& p) {
         return with_contract(p, "dtype = \"i32\", value", "dtype = \"i64\", value");
       }},
      {"pointer_for_a_scalar",
       2,
       {"scale_rows.toml:8:", "'x' is a pointer", "parameter 2"},
       [](auto& p) { return with_source(p, "const T* x, int n", "int n, const T* x"); }},
      {"nvrtc_absent",
       3,
       {"NVRTC"},
       [](const Project& p) {
         return run_shell("ASSAY_NVRTC=none ASSAY_CACHE=" + quoted(p.folder / "cache") + " " +
                          ASSAY_PROGRAM + " smoke " + quoted(p.contract) + " --cases 3");
       }},
      {"broken_ptx",
       2,
       {"scale_rows.ptx:6:"},
       [](auto& p) { return with_ptx(p, "add.s32 %r1 5"); }},
      {"unknown_instruction",
       4,
       {"frobnicate"},
       [](auto& p) { return with_ptx(p, ".reg .b32 %r<9>;\nfrobnicate.b32 %r1, %r2;"); }},
      {"shared_memory_over_the_limit",
       1,
       {"/scale_rows.toml:5: scale_rows: launch_limit"},
       [](auto& p) {
         return with_contract(p, "block = [64] }", "block = [64], shared = 300000 }");
       }},
      // --- cases
      {"missing_case",
       2,
       {"none.case", "cannot read"},
       [](const Project& p) {
         return run_assay({"repro", p.folder / "none.case"});
       }},
      {"folder_as_case",
       2,
       {"is a folder"},
       [](const Project& p) {
         return run_assay({"repro", p.folder.path()});
       }},
      {"binary_case",
       2,
       {"good.case:1:"},
       [](const Project& p) {
         p.folder.write("good.case", std::string("\x00\x01\x02\xff\n\xfe", 6));
         return run_assay({"repro", p.case_file});
       }},
      {"empty_case",
       2,
       {"good.case"},
       [](const Project& p) {
         p.folder.write("good.case", "");
         return run_assay({"repro", p.case_file});
       }},
      {"truncated_case",
       2,
       {"good.case:", "end"},
       [](auto& p) { return with_case(p, "end\n", ""); }},
      {"case_of_another_kernel",
       2,
       {"good.case", "scale_rows", "softmax"},
       [](const Project& p) {
         p.folder.write("good.case", replaced(kScaleCase, "scale_rows", "softmax"));
         return run_assay({"repro", p.case_file, "--contract", p.contract});
       }},
      {"case_of_unknown_kernel",
       2,
       {"unknown kernel 'scale_rowz'"},
       [](auto& p) { return with_case(p, "scale_rows", "scale_rowz"); }},
      {"dtype_that_the_kernel_lacks",
       2,
       {"good.case", "bf16"},
       [](auto& p) { return with_case(p, "T=f32", "T=bf16"); }},
      {"negative_size",
       2,
       {"good.case", "-5"},
       [](auto& p) { return with_case(p, "n=100", "n=-5"); }},
      {"size_above_the_limit",
       2,
       {"good.case", "5001"},
       [](auto& p) { return with_case(p, "n=100", "n=5001"); }},
      {"unknown_size",
       2,
       {"good.case", "rows"},
       [](auto& p) { return with_case(p, "n=100", "n=100 rows=3"); }},
      {"unknown_value_class",
       2,
       {"good.case", "exotic"},
       [](auto& p) { return with_case(p, "values x exact", "values x exotic"); }},
      {"block_outside_the_grid",
       2,
       {"good.case"},
       [](auto& p) { return with_case(p, "end\n", "blocks 99\nend\n"); }},
      {"override_outside_the_operand",
       2,
       {"good.case"},
       [](auto& p) { return with_case(p, "end\n", "set x[100] = 1\nend\n"); }},
      {"shrink_of_a_passing_case",
       2,
       {"good.case", "passes"},
       [](const Project& p) {
         return run_assay({"shrink", p.case_file});
       }},
      // --- where results go
      {"unwritable_folder",
       2,
       {"cannot make this folder"},
       [](const Project& p) {
         return run_assay({"fuzz", p.contract, "--cases", "3", "--out", p.case_file + "/below"});
       }},
      {"unwritable_findings",
       2,
       {"cannot write here"},
       [](const Project& p) {
         p.folder.write("scale_rows.cu", buggy_source());
         return run_assay({"smoke", p.contract, "--cases", "9", "--out", p.case_file});
       }},
      {"full_disk_for_a_case",
       2,
       {"/dev/full", "No space left"},
       [](const Project& p) {
         p.folder.write("scale_rows.cu", buggy_source());
         return run_assay({"shrink", p.case_file, "--out", "/dev/full"});
       }},
      {"full_disk_for_results",
       2,
       {"cannot write the results"},
       [](auto&) { return run_shell(std::string(ASSAY_PROGRAM) + " list >/dev/full"); }},
      {"file_size_limit",
       2,
       {"cannot write", "too large"},
       [](const Project& p) {
         return run_shell("ulimit -f 8; " + std::string(ASSAY_PROGRAM) + " fuzz " +
                          quoted(p.contract) + " --cases 3 --out " + quoted(p.out));
       }},
      {"damaged_state",
       2,
       {"state.txt:1:1"},
       [](const Project& p) {
         p.folder.write("out/state.txt", "something else\n");
         return run_assay({"fuzz", p.contract, "--cases", "3", "--out", p.out});
       }},
      {"a_relation_that_no_case_satisfies",
       2,
       {"scale_rows.toml:4:13: no case was found that satisfies this: n > 5000 does not hold for "
        "n=",
        "expected a relation"},
       [](auto& p) { return with_contract(p, "sizes =", "require = [\"n > 5000\"]\nsizes ="); }},
      {"a_case_without_a_size",
       2,
       {"good.case:2:8: the case gives no size n: expected 'sizes n=0'"},
       [](auto& p) { return with_case(p, "sizes n=100\n", ""); }},
      {"a_shape_that_is_too_large",
       2,
       {"scale_rows.toml:7:61: operand 'y' is larger than 64 TiB with the extent "
        "4611686018427387904"},
       [](auto& p) { return with_contract(p, "[\"n\"]", "[\"n\", 4611686018427387904]"); }},
      {"a_shape_that_overflows",
       2,
       {"scale_rows.toml:7:", "'*' overflows 64-bit integers"},
       [](auto& p) {
         return with_contract(p, "[\"n\"]", "[\"n\", \"2 * n * 4611686018427387904\"]");
       }},
      {"a_contract_that_cannot_be_read",
       2,
       {"/proc/self/mem:1:1: cannot read it (", "expected a contract, TOML text"},
       [](auto&) {
         return run_assay({"smoke", "/proc/self/mem"});
       }},
  };
  return all;
}

/// Lines of stderr that report a problem. Runs that reach their cases print their seed before. The
/// CUDA compiler's own text follows its line "assay: FILE:LINE: error: ..." as it was written.
std::vector<std::string> problem_lines(const std::string& err) {
  std::vector<std::string> lines;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);) {
    if (line.find(".cu:") != std::string::npos) return {line};
    if (!line.starts_with("assay smoke: seed") && !line.starts_with("assay fuzz: seed") &&
        !line.starts_with("assay score: seed")) {
      lines.push_back(line);
    }
  }
  return lines;
}

class BadInput : public ::testing::TestWithParam<Mistake> {};

TEST_P(BadInput, IsReportedInOneLine) {
  const Mistake& mistake = GetParam();
  const Project project;
  const Outcome outcome = mistake.make(project);
  EXPECT_EQ(outcome.status, mistake.status) << outcome.out << outcome.err;
  const std::string all = outcome.out + outcome.err;
  for (const std::string& text : mistake.says) {
    EXPECT_NE(all.find(text), std::string::npos) << "should say " << text << ":\n" << all;
  }
  if (mistake.status == 1 || mistake.status == 4) return;  // these end in a report
  EXPECT_EQ(problem_lines(outcome.err).size(), 1u) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(All, BadInput, ::testing::ValuesIn(mistakes()),
                         [](const auto& info) { return info.param.name; });

TEST(BadInput, HasAtLeast25Kinds) { EXPECT_GE(mistakes().size(), 25u); }

}  // namespace
}  // namespace assay::testing
