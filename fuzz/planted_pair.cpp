#include "fuzz/planted_pair.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "fuzz/findings.hpp"
#include "kernels_under_test/contract_reader.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, kFaultClasses> kClassNames{
    "int32 offsets",
    "grid limits",
    "tails and sizes 0 and 1",
    "NaN, infinities, masked rows",
    "range",
    "accumulation and cancellation",
    "integer and cast semantics",
    "what threads and blocks share",
    "specialisation on values",
    "strides, alignment, layouts, aliasing",
    "ties and signed zero",
    "configuration",
    "differences between runs"};

std::string base_name(const std::string& path) { return fs::path(path).filename(); }

/// What finds by comparing runs is no checker of one run, nor a rule of the judge.
constexpr const char* kProperty = "property";

/// "wrap", "property" or "R14"; which rules there are stands in oracles/RULES.md.
std::string expect_check(const TomlValue& value) {
  const std::string& name = expect_string(value, "a check");
  const bool is_rule =
      name.size() >= 2 && name[0] == 'R' && name[1] != '0' &&
      std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
  const std::vector<std::string>& checkers = checker_kinds();
  if (is_rule || name == kProperty ||
      std::find(checkers.begin(), checkers.end(), name) != checkers.end()) {
    return name;
  }
  throw InputError(value.text_where, "no check '" + name +
                                         "': expected a rule (R4), a property or a checker" +
                                         suggestion(name, checkers));
}

std::string expect_report(const TomlValue& value) {
  const std::string& text = expect_string(value, "a report");
  const size_t slash = text.find('/'), hash = text.find('#');
  const bool shaped =
      slash != std::string::npos && slash > 0 && hash != std::string::npos && hash > slash + 1 &&
      hash + 1 < text.size() &&
      std::all_of(text.begin() + static_cast<ptrdiff_t>(hash) + 1, text.end(),
                  [](unsigned char c) { return std::isdigit(c); });
  if (shaped) return text;
  throw InputError(value.text_where, "a report is named as owner/repository#number");
}

/// Checkers and properties go by their kind, whatever finer rule one may give; the judge by its
/// rules.
const std::string& check_of(const Finding& finding) {
  const std::vector<std::string>& checkers = checker_kinds();
  const bool by_checker =
      std::find(checkers.begin(), checkers.end(), finding.kind) != checkers.end();
  return by_checker || finding.kind == kProperty ? finding.kind : finding.rule;
}

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

/// Numbers of the lines that read so, blanks at their ends aside.
std::vector<int> lines_that_read(const std::string& file, const std::string& wanted) {
  std::istringstream in(read_text(file));
  std::vector<int> numbers;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (trimmed(line) == wanted) numbers.push_back(number);
  }
  return numbers;
}

/// One entry of `seen`: what sees the fault, and at which line of the bug's source.
void read_seen(const TomlValue& entry, const PlantedPair& pair, std::vector<ExpectedFinding>& out) {
  const TableReader reader(entry, "an entry of 'seen'", {"by", "at", "in"});
  const TomlValue& by = reader.need("by");
  std::vector<std::string> checks;
  if (by.kind == TomlValue::Kind::array) {
    for (const TomlValue& one : by.items) checks.push_back(expect_check(one));
  } else {
    checks.push_back(expect_check(by));
  }
  if (checks.empty()) throw InputError(by.where, "names no check");
  const std::string source = pair.bug->source.path;
  const std::string in = reader.text("in");
  const std::string file =
      in.empty() ? source : (fs::path(pair.bug->path).parent_path() / in).string();
  const TomlValue& at = reader.need("at");
  const std::vector<int> lines = lines_that_read(file, expect_string(at, "'at'"));
  if (lines.empty()) {
    throw InputError(at.text_where, "no line of " + base_name(file) + " reads so");
  }
  for (const std::string& check : checks) {
    for (const int line : lines) out.push_back({check, base_name(file), line});
  }
}

void read_origin(const TableReader& reader, PlantedFault& fault) {
  if (const TomlValue* reports = reader.find("reports")) {
    for (const TomlValue& one : expect_array(*reports, reader.label("reports")).items) {
      fault.reports.push_back(expect_report(one));
    }
  }
  fault.mutation_of = reader.text("mutation_of");
  fault.form = reader.text("form");
  const int given = !fault.reports.empty() + !fault.mutation_of.empty() + !fault.form.empty();
  if (given != 1) {
    throw InputError(reader.table().where,
                     "a fault comes from one of 'reports', 'mutation_of' and 'form'");
  }
}

PlantedFault read_fault(const std::string& file, const PlantedPair& pair) {
  const TomlValue document = parse_toml(read_text(file), file);
  const TableReader reader(document, "a planted fault",
                           {"class", "reports", "mutation_of", "form", "fault", "seen"});
  PlantedFault fault;
  const TomlValue& number = reader.need("class");
  const int64_t value = expect_integer(number, reader.label("class"));
  if (value < 1 || value > kFaultClasses) {
    throw InputError(number.where, "classes are 1 to " + std::to_string(kFaultClasses));
  }
  fault.fault_class = static_cast<int>(value);
  read_origin(reader, fault);
  fault.text = expect_string(reader.need("fault"), reader.label("fault"));
  const TomlValue& seen = reader.need("seen");
  for (const TomlValue& entry : expect_array(seen, reader.label("seen")).items) {
    read_seen(entry, pair, fault.expected);
  }
  if (fault.expected.empty()) throw InputError(seen.where, "names no check that sees the fault");
  return fault;
}

}  // namespace

const char* fault_class_name(int fault_class) {
  return kClassNames.at(static_cast<size_t>(fault_class - 1));
}

std::string PlantedFault::origin() const {
  if (!reports.empty()) return reports.front();
  return mutation_of.empty() ? "form of " + form : "mutation of " + mutation_of;
}

std::string PlantedFault::checks() const {
  std::vector<std::string> distinct;
  for (const ExpectedFinding& one : expected) {
    if (std::find(distinct.begin(), distinct.end(), one.check) == distinct.end())
      distinct.push_back(one.check);
  }
  return joined(distinct);
}

bool PlantedFault::expects_check(const Finding& finding) const {
  return std::any_of(expected.begin(), expected.end(),
                     [&](const ExpectedFinding& one) { return one.check == check_of(finding); });
}

bool PlantedFault::expects(const Finding& finding) const {
  return std::any_of(expected.begin(), expected.end(), [&](const ExpectedFinding& one) {
    return one.check == check_of(finding) && one.line == finding.shown_line() &&
           one.file == base_name(finding.shown_file());
  });
}

std::vector<std::string> pair_folders(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (fs::exists(entry.path() / "twin.toml")) folders.push_back(entry.path());
  }
  if (error) throw InputError({root}, "cannot read this folder: " + error.message());
  if (folders.empty()) throw InputError({root}, "holds no pair (a folder with twin.toml)");
  std::sort(folders.begin(), folders.end());
  return folders;
}

PlantedPair load_pair(const std::string& folder) {
  PlantedPair pair;
  pair.name = base_name(folder);
  for (const std::string& file : contract_files(folder)) {
    const bool is_twin = base_name(file) == "twin.toml";
    ContractPtr& place = is_twin ? pair.twin : pair.bug;
    if (place) throw InputError({file}, "a pair holds twin.toml and one other contract, no third");
    place = load_kernels({file}).front();
  }
  if (!pair.bug || !pair.twin) {
    throw InputError({folder}, "a pair needs twin.toml and one other contract, the planted bug");
  }
  pair.witness = parse_case(read_text(folder + "/witness.case"), folder + "/witness.case");
  pair.fault = read_fault(folder + "/fault.pair", pair);
  return pair;
}

}  // namespace assay
