// Errors that a user can mend: bad contract, case, PTX, command line, or a missing tool.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace assay {

/// A place in a user's file. `line` and `column` count from 1; 0 means "not known".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  /// "file:line:column", leaving out what is not known.
  std::string text() const;
  bool operator==(const SourceLocation&) const = default;
};

/// Bad input. `what()` is one line: "file:line:column: message". Programs exit with status 2.
class InputError : public std::runtime_error {
 public:
  InputError(SourceLocation where, const std::string& message);
  const SourceLocation& where() const { return where_; }

 private:
  SourceLocation where_;
};

/// A device, compiler or library that is not there. Programs exit with status 3.
class MissingDependency : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The name in `candidates` nearest to `name` by edit distance, or "" when none is near; for
/// "unknown key 'knob' (did you mean 'knobs'?)".
template <typename Container>
std::string nearest_name(const std::string& name, const Container& candidates);

/// "a, b, c"
std::string joined(const std::vector<std::string>& words, const char* separator = ", ");

int edit_distance(const std::string& a, const std::string& b);

template <typename Container>
std::string nearest_name(const std::string& name, const Container& candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 3 + 2;
  for (const auto& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace assay
