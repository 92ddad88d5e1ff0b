#include "fuzz/workers.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "fuzz/program.hpp"

namespace assay {

Workbench::Workbench(const std::string& device) : device_(make_device(device)) {}

Checker& Workbench::checker(const Contract& contract) {
  std::unique_ptr<Checker>& checker = checkers_[&contract];
  if (!checker) checker = std::make_unique<Checker>(contract, *device_);
  return *checker;
}

void run_workers(int count, const std::function<void(int)>& body) {
  std::exception_ptr first;
  std::mutex mutex;
  const auto guarded = [&](int worker) {
    try {
      body(worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int worker = 1; worker < count; ++worker) threads.emplace_back(guarded, worker);
  guarded(0);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

uint64_t case_seed(uint64_t run_seed, const std::string& kernel, uint64_t number) {
  // FNV-1a over the name, then SplitMix64's finaliser (Steele, Lea and Flood, 2014) over all.
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : kernel) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  uint64_t z = hash ^ (run_seed * 0x9e3779b97f4a7c15) ^ (number * 0xd1b54a32d192ed03);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace assay
