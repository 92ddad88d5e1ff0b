// Where the CUDA compilers and their headers lie: a toolkit, or PyPI packages in a venv.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// Files to try for NVRTC, best first; the last ones are bare names for the loader's own path.
/// ASSAY_NVRTC names one file and excludes all others ("none" hides NVRTC). Then the `lib` folders
/// of ASSAY_CUDA_HOME, CUDA_HOME and /usr/local/cuda, the loader's path, and the venvs'
/// site-packages/nvidia/*/lib.
std::vector<std::string> nvrtc_candidates();

/// The nvcc to use, "" when there is none: ASSAY_NVCC (a file, or "none"), then bin/ of the same
/// toolkits, then PATH, then the venvs' site-packages/nvidia/*/bin.
std::string find_nvcc();

/// Folders that hold the headers that belong to a library file (cuda_fp16.h, nv/target, cuda/std):
/// those beside it in its toolkit or site-packages, else those of any toolkit or venv found.
std::vector<std::string> header_folders(const std::string& library_file);

/// Everything in the environment that the three above depend on, as one string.
std::string toolkit_environment();

}  // namespace assay
