// What the files that make a property's other runs share. Private to generators.
#pragma once

#include "generators/variation.hpp"

namespace assay {

/// No other run, and why.
inline Variations none(const std::string& why) { return {{}, why}; }

/// The case's own experiment, without its property.
Case plain_case(const Instance& base);

/// The run with values shifted or scaled, and what is scaled along (changed_values.cpp).
Variations vary_values(const Instance& base, const Property& stated);

}  // namespace assay
