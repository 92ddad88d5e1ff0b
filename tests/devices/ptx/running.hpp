// Runs small kernels of inline PTX on the machine, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/ptx/machine.hpp"
#include "tests/devices/ptx/decoding.hpp"

namespace assay::ptx {

/// A machine with one module, arrays at fixed addresses and a list of parameters.
class Runner {
 public:
  explicit Runner(const std::string& ptx, bool avx2 = use_avx2())
      : module_(decode(ptx, "test.ptx")), avx2_(avx2), machine_(avx2) {}

  /// Wraps a body into a kernel `k` with 64-bit parameters a, b, c, d and common registers.
  static std::string kernel(const std::string& body, const std::string& before = "") {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
           "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
           ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<64>;\n"
           ".reg .f32 %f<32>; .reg .f64 %fd<8>;\n" +
           body + "\nret;\n}\n";
  }

  /// An array of elements; returns its address.
  template <class T>
  uint64_t array(const std::string& name, std::vector<T> values, bool writable = true,
                 bool undefined = false, bool judged = false) {
    RegionSpec spec;
    spec.name = name;
    const auto known = arrays_.find(name);
    spec.base = known != arrays_.end() ? known->second.base
                                       : (static_cast<uint64_t>(arrays_.size()) + 1) << 44;
    spec.bytes = static_cast<int64_t>(values.size() * sizeof(T));
    spec.element_bytes = sizeof(T);
    spec.writable = writable;
    spec.undefined = undefined;
    spec.judged = judged;
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    auto data = std::make_shared<std::vector<uint8_t>>(bytes, bytes + spec.bytes);
    spec.fill = [data](int64_t first, int64_t count, uint8_t* out) {
      std::memcpy(out, data->data() + first, static_cast<size_t>(count));
    };
    arrays_[name] = spec;
    return spec.base;
  }

  /// Any region.
  void region(const RegionSpec& spec) { arrays_[spec.name] = spec; }

  RunStatus run(const std::vector<uint64_t>& params, LaunchConfig config = {},
                const std::string& entry = "k") {
    code_ = lower(module_, entry, avx2_);
    if (!code_->unsupported.empty()) {
      ADD_FAILURE() << code_->unsupported[0].text();
      return RunStatus::unsupported;
    }
    machine_.renew_memory();
    regions_.clear();
    for (const auto& [name, spec] : arrays_) regions_[name] = machine_.memory().add(spec);
    machine_.begin(module_, options);
    machine_.add_variables(*code_);
    const Function& f = *code_->entry;
    int64_t bytes = 0;
    for (const Parameter& p : f.params) bytes = std::max(bytes, p.offset + p.bytes);
    config.params.assign(static_cast<size_t>(bytes), 0);
    for (size_t i = 0; i < params.size() && i < f.params.size(); ++i) {
      std::memcpy(config.params.data() + f.params[i].offset, &params[i],
                  static_cast<size_t>(std::min<int64_t>(8, f.params[i].bytes)));
    }
    return machine_.launch(*code_, config);
  }

  template <class T>
  std::vector<T> read(const std::string& name) const {
    const RegionSpec& spec = arrays_.at(name);
    std::vector<uint8_t> bytes(static_cast<size_t>(spec.bytes)), written(bytes.size());
    machine_.memory().read(regions_.at(name), 0, spec.bytes, bytes.data(), written.data());
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

  std::vector<Diagnostic>& diagnostics() { return machine_.diagnostics(); }
  /// Findings of one kind, notes aside.
  int count(DiagnosticKind kind) {
    int n = 0;
    for (const Diagnostic& d : diagnostics()) n += d.kind == kind && !d.note;
    return n;
  }
  std::string all_messages() {
    std::string text;
    for (const Diagnostic& d : diagnostics()) {
      text += std::string(name(d.kind)) + ": " + d.message + "\n";
    }
    return text;
  }
  Machine& machine() { return machine_; }
  const Module& module() const { return module_; }

  RunOptions options;

 private:
  Module module_;
  bool avx2_;
  mutable Machine machine_;
  std::unique_ptr<Code> code_;
  std::map<std::string, RegionSpec> arrays_;
  std::map<std::string, int> regions_;
};

inline LaunchConfig threads(int64_t x, int64_t blocks = 1) {
  LaunchConfig config;
  config.block = {x, 1, 1};
  config.grid = {blocks, 1, 1};
  return config;
}

}  // namespace assay::ptx
