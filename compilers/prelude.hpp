// Headers supplied to NVRTC from memory: what a compiler without host headers lacks.
#pragma once

#include <string_view>
#include <vector>

namespace assay {

struct PreludeHeader {
  const char* name;  ///< as in #include <name>
  const char* text;
};

/// Every header of ours, in a fixed order.
const std::vector<PreludeHeader>& prelude_headers();

/// The one that is included before the source: what nvcc declares without any #include.
inline constexpr const char* kImplicitPrelude = "assay_prelude.h";

}  // namespace assay
