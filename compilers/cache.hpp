// Compiled programs by content, on disk.
#pragma once

#include <optional>
#include <string>

#include "compilers/nvrtc.hpp"

namespace assay {

/// The entry of `key` under `folder`, or nullopt: absent, unreadable, or not what was stored (its
/// checksum fails). A bad file is no error: it is compiled again and replaced.
std::optional<CompiledText> read_cached(const std::string& folder, const std::string& key);

/// Stores by a temporary file and a rename, so that readers see the old file, none, or the new one
/// whole. Does nothing when the folder cannot be written or the disk is full.
void write_cached(const std::string& folder, const std::string& key, const CompiledText& compiled);

}  // namespace assay
