// A kernel's counts as text: how a worker process tells its parent what smoke knows by itself.
#include <algorithm>
#include <sstream>

#include "fuzz/report.hpp"

namespace assay {

namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void add_counts(const char* key, const std::map<std::string, int64_t>& counts, std::string& out) {
  for (const auto& [name, count] : counts)
    out += std::string(key) + " " + std::to_string(count) + " " + one_line(name) + "\n";
}

}  // namespace

std::string KernelReport::tally() const {
  std::string out = "judged " + std::to_string(judged) + "\nordinary " + std::to_string(ordinary) +
                    "\nweak " + std::to_string(weak) + "\nno_bound " + std::to_string(no_bound) +
                    "\nwrong_memory " + std::to_string(wrong_memory) + "\nmismatches " +
                    std::to_string(mismatches) + "\n";
  add_counts("skipped", skipped, out);
  add_counts("unjudged", unjudged, out);
  add_counts("property", properties, out);
  add_counts("size", largest_sizes, out);
  add_counts("operand", largest_operands, out);
  for (const std::string& note : notes) out += "note 0 " + one_line(note) + "\n";
  for (const std::string& variant : variants) out += "variant 0 " + variant + "\n";
  return out;
}

void KernelReport::read_tally(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, name;
    int64_t count = 0;
    words >> key >> count;
    words.get();  // the space before the name
    std::getline(words, name);
    if (key == "judged") judged += count;
    if (key == "ordinary") ordinary += count;
    if (key == "weak") weak += count;
    if (key == "no_bound") no_bound += count;
    if (key == "wrong_memory") wrong_memory += count;
    if (key == "mismatches") mismatches += count;
    if (key == "skipped") skipped[name] += count;
    if (key == "unjudged") unjudged[name] += count;
    if (key == "property") properties[name] += count;
    if (key == "size") largest_sizes[name] = std::max(largest_sizes[name], count);
    if (key == "operand") largest_operands[name] = std::max(largest_operands[name], count);
    if (key == "note") notes.insert(name);
    if (key == "variant") variants.insert(name);
  }
  withdraw_subnormals();
}

}  // namespace assay
