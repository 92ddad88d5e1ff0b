#include "compilers/toolkit.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace assay {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> toolkits() {
  std::vector<fs::path> found;
  for (const char* name : {"ASSAY_CUDA_HOME", "CUDA_HOME"}) {
    if (const std::string home = environment(name); !home.empty()) found.emplace_back(home);
  }
  found.emplace_back("/usr/local/cuda");
  return found;
}

/// `.venv` beside the working folder or the program, or in a folder above either.
std::vector<fs::path> venvs() {
  std::vector<fs::path> found;
  if (const std::string active = environment("VIRTUAL_ENV"); !active.empty()) {
    found.emplace_back(active);
  }
  std::error_code error;
  for (fs::path folder : {fs::current_path(error), fs::read_symlink("/proc/self/exe", error)}) {
    for (int up = 0; up < 5 && !folder.empty(); ++up) {
      if (is_folder(folder / ".venv")) found.push_back(folder / ".venv");
      if (folder == folder.root_path()) break;
      folder = folder.parent_path();
    }
  }
  return found;
}

/// site-packages/nvidia/* of every venv: nvidia/cu13 today, nvidia/cuda_nvrtc and so on before.
std::vector<fs::path> venv_packages() {
  std::vector<fs::path> found;
  for (const fs::path& venv : venvs()) {
    for (const fs::path& python : entries_of(venv / "lib")) {
      for (const fs::path& package : entries_of(python / "site-packages" / "nvidia")) {
        if (is_folder(package)) found.push_back(package);
      }
    }
  }
  return found;
}

void add_libraries_in(const fs::path& folder, std::vector<std::string>& found) {
  for (const fs::path& file : entries_of(folder)) {
    const std::string name = file.filename().string();
    // libnvrtc.so, libnvrtc.so.13; not libnvrtc-builtins, libnvrtc.alt.so or libnvrtc_static.a.
    if (name.starts_with("libnvrtc.so") && is_file(file)) {
      found.push_back(file.string());
      return;
    }
  }
}

void add_headers_in(const fs::path& include, std::vector<std::string>& found) {
  // CUDA 13 keeps libcu++ (nv/target, cuda/std) in include/cccl.
  for (const fs::path& folder : {include, include / "cccl"}) {
    const bool useful = is_file(folder / "cuda_fp16.h") || is_file(folder / "nv" / "target");
    const std::string text = folder.lexically_normal().string();
    if (useful && std::find(found.begin(), found.end(), text) == found.end()) {
      found.push_back(text);
    }
  }
}

bool complete(const std::vector<std::string>& folders) {
  const auto holds = [&](const char* name) {
    return std::any_of(folders.begin(), folders.end(),
                       [&](const std::string& folder) { return is_file(fs::path(folder) / name); });
  };
  return holds("cuda_fp16.h") && holds("nv/target");
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  const std::string chosen = environment("ASSAY_NVRTC");
  if (chosen == "none") return {};
  if (!chosen.empty()) return {chosen};
  std::vector<std::string> found;
  for (const fs::path& home : toolkits()) {
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      add_libraries_in(home / lib, found);
    }
  }
  for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
    found.emplace_back(name);
  }
  for (const fs::path& package : venv_packages()) add_libraries_in(package / "lib", found);
  return found;
}

std::string find_nvcc() {
  const std::string chosen = environment("ASSAY_NVCC");
  if (chosen == "none") return "";
  if (!chosen.empty()) return is_file(chosen) ? chosen : "";
  for (const fs::path& home : toolkits()) {
    if (is_file(home / "bin" / "nvcc")) return (home / "bin" / "nvcc").string();
  }
  std::string path = environment("PATH") + ":";
  for (size_t at = 0, colon; (colon = path.find(':', at)) != std::string::npos; at = colon + 1) {
    const fs::path file = fs::path(path.substr(at, colon - at)) / "nvcc";
    if (is_file(file)) return file.string();
  }
  for (const fs::path& package : venv_packages()) {
    if (is_file(package / "bin" / "nvcc")) return (package / "bin" / "nvcc").string();
  }
  return "";
}

std::vector<std::string> header_folders(const std::string& library_file) {
  std::vector<std::string> found;
  std::error_code error;
  const fs::path real = fs::canonical(library_file, error);
  for (const fs::path& file : {fs::path(library_file), real}) {
    if (file.is_absolute()) add_headers_in(file.parent_path().parent_path() / "include", found);
  }
  // Older PyPI packages put each part beside the others: nvidia/cuda_runtime/include.
  if (!complete(found) && real.string().find("site-packages") != std::string::npos) {
    for (const fs::path& package : entries_of(real.parent_path().parent_path().parent_path())) {
      add_headers_in(package / "include", found);
    }
  }
  for (const fs::path& home : toolkits()) {
    if (!complete(found)) add_headers_in(home / "include", found);
  }
  for (const fs::path& package : venv_packages()) {
    if (!complete(found)) add_headers_in(package / "include", found);
  }
  return found;
}

std::string toolkit_environment() {
  std::string text;
  for (const char* name :
       {"ASSAY_NVRTC", "ASSAY_NVCC", "ASSAY_CUDA_HOME", "CUDA_HOME", "VIRTUAL_ENV", "PATH"}) {
    text += environment(name);
    text += '\n';
  }
  return text;
}

}  // namespace assay
