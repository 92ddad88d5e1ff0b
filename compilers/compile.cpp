// compile(): memory, then disk, then the compiler.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "compilers/cache.hpp"
#include "compilers/nvcc.hpp"
#include "compilers/nvrtc.hpp"
#include "compilers/prelude.hpp"
#include "compilers/program.hpp"
#include "compilers/request.hpp"
#include "compilers/sha256.hpp"
#include "compilers/toolkit.hpp"

namespace assay {
namespace {

/// A file as it was when a program was made from it.
struct Stamp {
  std::string path;
  int64_t modified_ns = 0;
  int64_t bytes = -1;  ///< -1: not there

  static Stamp of(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return {path};
    return {path, int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
            int64_t{info.st_size}};
  }
  bool current() const {
    const Stamp now = of(path);
    return now.modified_ns == modified_ns && now.bytes == bytes;
  }
};

struct Remembered {
  Program program;
  std::vector<Stamp> files;
  bool current() const {
    for (const Stamp& file : files) {
      if (!file.current()) return false;
    }
    return true;
  }
};

/// What each request gave in this process; checked against the files' stamps on each use.
class Memory {
 public:
  std::shared_ptr<const Remembered> find(const std::string& request) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(request);
    return found == programs_.end() ? nullptr : found->second;
  }
  void store(const std::string& request, Remembered remembered) {
    const std::lock_guard lock(mutex_);
    programs_[request] = std::make_shared<const Remembered>(std::move(remembered));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Remembered>> programs_;
};

Memory& memory() {
  static Memory instance;
  return instance;
}

/// NVRTC or nvcc, ready to use.
struct Backend {
  std::shared_ptr<const Nvrtc> nvrtc;
  std::string nvcc;
  std::string version;

  static Backend open(CudaCompiler compiler) {
    Backend backend;
    if (compiler == CudaCompiler::nvrtc) {
      backend.nvrtc = Nvrtc::load();
      backend.version = backend.nvrtc->version();
      return backend;
    }
    backend.nvcc = find_nvcc();
    if (backend.nvcc.empty()) {
      throw MissingDependency(
          "nvcc is not here: install a CUDA toolkit, put nvcc on PATH, name it in ASSAY_NVCC, or "
          "use compiler = \"nvrtc\"");
    }
    backend.version = nvcc_version(backend.nvcc);
    return backend;
  }
  std::vector<std::string> options(const CompileRequest& request) const {
    return nvrtc ? nvrtc->options(request) : nvcc_options(request);
  }
  CompiledText compile(const CompileRequest& request, const std::string& source_text) const {
    return nvrtc ? nvrtc->compile(request, source_text)
                 : compile_with_nvcc(nvcc, request, source_text);
  }
};

/// Length-prefixed, so that no two lists of fields give the same text.
void append_field(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

std::string request_text(const Backend& backend, const CompileRequest& request) {
  std::string text;
  append_field(text, backend.version);
  append_field(text, request.source);
  append_field(text, request.entry);
  append_field(text, std::to_string(request.entries.size()));
  for (const std::string& entry : request.entries) append_field(text, entry);
  for (const std::string& option : backend.options(request)) append_field(text, option);
  return text;
}

std::string content_key(const std::string& request_text, const std::string& source_text,
                        const std::vector<IncludedFile>& included) {
  std::string text = request_text;
  for (const PreludeHeader& header : prelude_headers()) append_field(text, header.text);
  append_field(text, source_text);
  for (const IncludedFile& file : included) {
    append_field(text, file.path);
    append_field(text, file.text);
  }
  return sha256_hex(text);
}

Program compile_cuda(const Contract& contract, const Variant& variant, int launch) {
  const Backend backend = Backend::open(contract.source.compiler);
  const CompileRequest request = make_request(contract, variant, launch);
  const std::string asked = request_text(backend, request);
  if (const auto known = memory().find(asked); known && known->current()) return known->program;

  // One compilation at a time: another thread may have made the same program meanwhile.
  static std::mutex compiling;
  const std::lock_guard lock(compiling);
  if (const auto known = memory().find(asked); known && known->current()) return known->program;

  Remembered made;
  made.files.push_back(Stamp::of(request.source));  // before reading: a later change shows
  const std::string source_text = read_text(request.source, request.where);
  const std::vector<IncludedFile> included =
      included_files(request.source, source_text, request.include);
  for (const IncludedFile& file : included) made.files.push_back(Stamp::of(file.path));

  const std::string key = content_key(asked, source_text, included);
  const std::string folder = cache_folder();
  std::optional<CompiledText> compiled = read_cached(folder, key);
  if (!compiled) {
    compiled = backend.compile(request, source_text);
    write_cached(folder, key, *compiled);
  }
  Program& program = made.program;
  program.ptx = std::move(compiled->ptx);
  program.entry = std::move(compiled->entry);
  program.display = request.entry;
  program.compiler = backend.version + " " + request.target;
  program.key = key;
  program.source = request.source;
  memory().store(asked, made);
  return program;
}

/// PTX that somebody else compiled: the entry is a name in it.
Program take_ptx(const Contract& contract, const Variant& variant, int launch) {
  const CompileRequest request = make_request(contract, variant, launch);
  const std::string asked = "ptx" + request.source + "\n" + request.entry;
  if (const auto known = memory().find(asked); known && known->current()) return known->program;
  Remembered made;
  made.files.push_back(Stamp::of(request.source));
  Program& program = made.program;
  program.ptx = read_text(request.source, request.where);
  program.entry = program.display = request.entry;
  program.source = request.source;
  program.compiler = "prebuilt";
  const size_t target = program.ptx.find(".target ");
  if (target != std::string::npos) {
    const size_t begin = target + 8;
    program.compiler +=
        " " + program.ptx.substr(begin, program.ptx.find_first_of(", \t\r\n/", begin) - begin);
  }
  const std::vector<std::string> names = ptx_entries(program.ptx);
  if (std::find(names.begin(), names.end(), request.entry) == names.end()) {
    std::string known;
    for (const std::string& entry : names) known += (known.empty() ? "" : ", ") + entry;
    throw InputError(request.where,
                     "entry '" + request.entry + "' is not in " +
                         std::filesystem::path(request.source).filename().string() +
                         (known.empty() ? "; it defines no .entry" : "; its entries: " + known));
  }
  program.key = sha256_hex(program.ptx + "\n" + program.entry);
  memory().store(asked, made);
  return program;
}

}  // namespace

Program compile(const Contract& contract, const Variant& variant, int launch) {
  switch (contract.source.language) {
    case Language::cuda:
      return compile_cuda(contract, variant, launch);
    case Language::ptx:
      return take_ptx(contract, variant, launch);
    case Language::triton:
      throw MissingDependency("'" + contract.source.path +
                              "': Triton sources are not supported yet");
    case Language::torch:
      throw MissingDependency("'" + contract.source.path +
                              "': torch operators are not supported yet");
  }
  throw InputError(contract.source.where, "unknown source language");
}

std::string compiler_version(CudaCompiler compiler) { return Backend::open(compiler).version; }

}  // namespace assay
