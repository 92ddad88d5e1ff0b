// SHA-256 (FIPS 180-4), for content keys of the compile cache.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view data);

}  // namespace assay
