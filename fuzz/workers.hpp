// What a worker thread keeps between cases, and how threads are run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "fuzz/check_case.hpp"

namespace assay {

/// A device and one checker a contract. One a thread; contracts must outlive it.
class Workbench {
 public:
  explicit Workbench(const std::string& device);
  Checker& checker(const Contract& contract);
  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
  std::map<const Contract*, std::unique_ptr<Checker>> checkers_;
};

/// Runs `body(0)` ... `body(count - 1)`, each on a thread of its own (body(0) on the caller's), and
/// throws the first exception again when all have ended.
void run_workers(int count, const std::function<void(int)>& body);

/// Seed of case number `number` of a kernel in a run; independent of other kernels and of threads.
uint64_t case_seed(uint64_t run_seed, const std::string& kernel, uint64_t number);

}  // namespace assay
