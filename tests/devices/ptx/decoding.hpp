// Helpers of the decoder's tests: files of tests/data, and one kernel around a few lines of PTX.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::filesystem::path data_folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "data";
}

/// The PTX files of a folder of tests/data, sorted.
inline std::vector<std::filesystem::path> ptx_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder() / folder)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline const std::string kHeader = ".version 9.0\n.target sm_80\n.address_size 64\n";

/// A module with one kernel `k(.param .u64 a, .param .u32 n)` with registers of many types; `body`
/// starts at line 12.
inline std::string kernel(const std::string& body) {
  return kHeader +
         ".global .align 16 .b8 gv[64];\n"
         ".visible .entry k(.param .u64 a, .param .u32 n)\n"
         "{\n"
         ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
         ".reg .f32 %f<9>; .reg .f64 %d<9>; .reg .u32 %u<9>; .reg .s16 %s<9>;\n"
         ".reg .f16 %hh<9>; .reg .f16x2 %x<9>; .reg .u8 %b<9>;\n"
         ".shared .align 16 .b8 sv[64];\n"
         ".local .align 16 .b8 lv[64];\n" +
         body + "\nret;\n}\n";
}

/// The first instruction of `kernel(body)`.
inline Instruction first_instruction(const std::string& body) {
  const Module module = decode(kernel(body), "test.ptx");
  return module.functions.at(0).code.at(0);
}

}  // namespace assay::ptx
