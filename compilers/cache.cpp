#include "compilers/cache.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "compilers/program.hpp"
#include "compilers/sha256.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic = "assay-ptx 1\n";

fs::path file_of(const std::string& folder, const std::string& key) {
  return fs::path(folder) / (key + ".ptx");
}

std::string payload(const CompiledText& compiled) { return compiled.entry + "\n" + compiled.ptx; }

/// The first of the usual places that can be made and written; "" when none can.
std::string choose_folder(const char* own, const char* xdg, const char* home) {
  fs::path folder;
  if (own && *own)
    folder = own;
  else if (xdg && *xdg)
    folder = fs::path(xdg) / "assay";
  else if (home && *home)
    folder = fs::path(home) / ".cache" / "assay";
  else
    return "";
  std::error_code error;
  fs::create_directories(folder, error);
  return access(folder.c_str(), W_OK | X_OK) == 0 && fs::is_directory(folder, error)
             ? folder.string()
             : "";
}

}  // namespace

std::string cache_folder() {
  return choose_folder(std::getenv("ASSAY_CACHE"), std::getenv("XDG_CACHE_HOME"),
                       std::getenv("HOME"));
}

// File: magic, SHA-256 of the rest, newline; mangled entry, newline; PTX.
std::optional<CompiledText> read_cached(const std::string& folder, const std::string& key) {
  if (folder.empty()) return std::nullopt;
  std::ifstream in(file_of(folder, key), std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const size_t head = kMagic.size() + 65;
  if (text.size() <= head || !text.starts_with(kMagic)) return std::nullopt;
  const std::string rest = text.substr(head);
  if (text.substr(kMagic.size(), 65) != sha256_hex(rest) + "\n") return std::nullopt;
  const size_t newline = rest.find('\n');
  if (newline == std::string::npos) return std::nullopt;
  return CompiledText{rest.substr(newline + 1), rest.substr(0, newline)};
}

void write_cached(const std::string& folder, const std::string& key, const CompiledText& compiled) {
  if (folder.empty()) return;
  static std::atomic<int> counter{0};
  const fs::path file = file_of(folder, key);
  const fs::path temporary = file.string() + "." + std::to_string(getpid()) + "." +
                             std::to_string(counter.fetch_add(1)) + ".part";
  const std::string rest = payload(compiled);
  std::error_code error;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << kMagic << sha256_hex(rest) << '\n' << rest;
    out.close();
    if (!out) {
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, file, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace assay
