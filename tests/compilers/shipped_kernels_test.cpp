// Every contract that ships compiles in every variant, and a planted bug survives its compilation.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/compilers/sources.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> contracts_in(const char* folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ASSAY_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".toml") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Variant> variants_of(const Contract& contract) {
  std::vector<Variant> all = {{}};
  const auto widen = [&](const auto& values, const auto& assign) {
    std::vector<Variant> wider;
    for (const Variant& v : all) {
      for (const auto& value : values) {
        wider.push_back(v);
        assign(wider.back(), value);
      }
    }
    all = std::move(wider);
  };
  for (const TypeParameter& type : contract.types) {
    widen(type.kinds, [&](Variant& v, DType kind) { v.types[type.name] = kind; });
  }
  for (const Knob& knob : contract.knobs) {
    widen(knob.values, [&](Variant& v, int64_t value) { v.knobs[knob.name] = value; });
  }
  for (const std::string& flag : contract.flags) {
    widen(std::vector<int64_t>{0, 1}, [&](Variant& v, int64_t value) { v.flags[flag] = value; });
  }
  return all;
}

TEST(ShippedKernels, EveryVariantCompiles) {
  const std::vector<fs::path> contracts = contracts_in("kernels_under_test/kernels");
  ASSERT_GE(contracts.size(), 8u);
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  for (const fs::path& path : contracts) {
    const Contract contract = load_contract(path.string());
    EXPECT_EQ(contract.name, path.stem().string());
    std::set<std::string> keys;
    const std::vector<Variant> variants = variants_of(contract);
    for (const Variant& v : variants) {
      for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
        keys.insert(compile(contract, v, static_cast<int>(launch)).key);
      }
    }
    std::set<std::string> entries;  // launches may share one
    for (const LaunchSpec& launch : contract.launches) entries.insert(launch.entry);
    EXPECT_EQ(keys.size(), variants.size() * entries.size()) << contract.name;
  }
}

/// PTX without what differs between any two compilations: comments, lines and line table.
std::string instructions(const std::string& ptx) {
  std::string kept;
  for (size_t at = 0, end; at < ptx.size(); at = end + 1) {
    end = std::min(ptx.find('\n', at), ptx.size());
    const std::string line = ptx.substr(at, end - at);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line.compare(first, 2, "//") == 0) continue;
    if (line.compare(first, 4, ".loc") == 0 || line.compare(first, 5, ".file") == 0) continue;
    kept += line + "\n";
  }
  return kept;
}

/// A contract's text without its name and source; without its launch too where that is the fault.
std::string text_in_common(const fs::path& path, bool launch_differs) {
  std::ifstream in(path);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("name") || line.starts_with("source")) continue;
    if (!launch_differs || !line.starts_with("launch")) kept += line + "\n";
  }
  return kept;
}

/// Whether the pair's fault is a launch, which its contracts state.
bool is_fault_of_launch(const fs::path& folder) {
  std::ifstream in(folder / "fault.pair");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.find("launch_limit") != std::string::npos;
}

TEST(PlantedBugs, PairsDifferInNameAndSourceOnly) {
  const std::vector<fs::path> contracts = contracts_in("kernels_under_test/planted");
  // Pairs are added, never lost. A folder holds two contracts.
  ASSERT_GE(contracts.size(), 2u * 176);
  const auto of_stem = [&](const char* stem) {
    return std::count_if(contracts.begin(), contracts.end(),
                         [&](const fs::path& path) { return path.stem() == stem; });
  };
  EXPECT_EQ(of_stem("buggy"), of_stem("twin"));
  EXPECT_EQ(of_stem("buggy") + of_stem("twin"), static_cast<ptrdiff_t>(contracts.size()));
  for (const fs::path& path : contracts) {
    const std::string pair = path.parent_path().filename().string();
    const Contract contract = load_contract(path.string());
    EXPECT_EQ(contract.name, pair + "_" + path.stem().string());
    EXPECT_TRUE(fs::exists(path.parent_path() / "witness.case")) << pair;
    if (path.stem() != "buggy") continue;
    const bool of_launch = is_fault_of_launch(path.parent_path());
    EXPECT_EQ(text_in_common(path, of_launch),
              text_in_common(path.parent_path() / "twin.toml", of_launch));
  }
}

TEST(PlantedBugs, SurviveCompilation) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  for (const fs::path& path : contracts_in("kernels_under_test/planted")) {
    if (path.stem() != "buggy") continue;
    const Contract buggy = load_contract(path.string());
    const Contract twin = load_contract((path.parent_path() / "twin.toml").string());
    for (const Variant& v : variants_of(buggy)) {
      // A template stands in the program of its own launch alone.
      bool differs = false;
      for (int launch = 0; !differs && launch < static_cast<int>(buggy.launches.size()); ++launch) {
        differs = instructions(compile(buggy, v, launch).ptx) !=
                  instructions(compile(twin, v, launch).ptx);
      }
      EXPECT_TRUE(differs) << buggy.name << " " << v.text();
    }
  }
}

}  // namespace
}  // namespace assay
