// Kernels on a real card: results, faults, hangs and bad PTX, each followed by a call that works.
#include "devices/cuda/process.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "devices/device.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay::cuda {
namespace {

class CudaProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      process_ = std::make_unique<Process>();
    } catch (const MissingDependency&) {
      GTEST_SKIP() << "no CUDA device";
    }
  }

  static std::string kernel(const std::string& body) {
    return ".version 7.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n"
           "ld.param.u64 %d0, [out];\n" +
           body + "\nret;\n}\n";
  }

  /// The code of the error that one thread of this kernel makes; 0: none.
  int code_of(const std::string& body, double seconds = 20) {
    try {
      const std::string text = kernel(body);
      const uint64_t module = process_->module(text, text);
      process_->release();
      const uint64_t out = process_->allocate(4096);
      GpuLaunch launch;
      launch.parameters.resize(8);
      std::memcpy(launch.parameters.data(), &out, 8);
      process_->launch(module, "k", launch, seconds);
      uint32_t word = 0;
      process_->download(
          out, 4, [&](int64_t, int64_t, const uint8_t* data) { std::memcpy(&word, data, 4); });
      word_ = word;
      return 0;
    } catch (const CudaError& error) {
      message_ = error.what();
      return error.code();
    }
  }

  void expect_alive() {
    EXPECT_EQ(code_of("mov.u32 %r0, 77;\nst.global.u32 [%d0], %r0;"), 0) << message_;
    EXPECT_EQ(word_, 77u);
  }

  std::unique_ptr<Process> process_;
  std::string message_;
  uint32_t word_ = 0;
};

TEST_F(CudaProcess, RunsAKernel) {
  EXPECT_FALSE(process_->card().name.empty());
  EXPECT_GE(process_->card().capability, 80);
  EXPECT_GT(process_->free_memory(), 1 << 20);
  expect_alive();
}

TEST_F(CudaProcess, AFaultTakesOnlyTheChild) {
  EXPECT_EQ(code_of("mov.u64 %d0, 16;\nst.global.u32 [%d0], 1;"), kIllegalAddress);
  EXPECT_NE(message_.find("cuLaunchKernel(k, grid 1 x 1 x 1"), std::string::npos) << message_;
  expect_alive();
  EXPECT_EQ(code_of("st.global.u32 [%d0+2], 1;"), kMisalignedAddress) << message_;
  expect_alive();
  EXPECT_NE(code_of("trap;"), 0);
  expect_alive();
}

TEST_F(CudaProcess, AHangIsKilled) {
  EXPECT_EQ(code_of("again:\nld.volatile.global.u32 %r0, [%d0];\nadd.u32 %r0, %r0, 1;\n"
                    "st.volatile.global.u32 [%d0], %r0;\nbra again;",
                    2),
            kTimedOut);
  expect_alive();
}

TEST_F(CudaProcess, BadPtxBringsTheCompilersWords) {
  EXPECT_EQ(code_of("frobnicate.u32 %r0, 1;"), kInvalidPtx);
  EXPECT_NE(message_.find("ptxas"), std::string::npos) << message_;
  expect_alive();
}

TEST_F(CudaProcess, ALaunchBeyondALimitIsRefused) {
  const std::string text = kernel("");
  const uint64_t module = process_->module(text, text);
  GpuLaunch launch;
  launch.parameters.resize(8);
  launch.grid = {1, 65536, 1};
  try {
    process_->launch(module, "k", launch, 20);
    ADD_FAILURE();
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), kInvalidValue) << error.what();
  }
  expect_alive();
}

TEST(CudaDevice, WithoutACardItIsAMissingDependency) {
  try {
    make_cuda_device();
    GTEST_SKIP() << "there is a CUDA device";
  } catch (const MissingDependency& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("no CUDA device: ")) << error.what();
  }
}

}  // namespace
}  // namespace assay::cuda
