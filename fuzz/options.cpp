// The only file that knows CLI11.
#include "fuzz/options.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <map>

#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

struct CommandRow {
  Command command;
  const char* name;
  const char* about;
};
constexpr std::array<CommandRow, 10> kCommands{{
    {Command::list, "list", "List the kernels and what their contracts admit"},
    {Command::smoke, "smoke", "Check every kernel for a short time; for CI"},
    {Command::fuzz, "fuzz", "Search for hours in worker processes; resumes in the same folder"},
    {Command::repro, "repro", "Run one case file and explain what it shows"},
    {Command::shrink, "shrink", "Make a failing case smaller while the same failure stays"},
    {Command::score, "score", "Search for the planted bugs and count what is found"},
    {Command::conform, "conform", "Compare the emulator's instructions with a GPU's"},
    {Command::exhaust, "exhaust", "Run an elementwise kernel on every input of its narrow types"},
    {Command::init, "init", "Write a starter contract from a kernel's compiled signature"},
    {Command::check, "check", "Read a contract critically and show three of its cases"},
}};

constexpr int kMostJobs = 1024;  // far above any machine's cores: a slip of the hand
const std::vector<std::string> kDevices{"ptx", "cuda", "torch"};
const std::map<std::string, Format> kFormats{
    {"text", Format::text}, {"github", Format::github}, {"junit", Format::junit}};

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
}

int64_t parse_bytes(const std::string& text) {
  size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  static const std::map<std::string, double> units{
      {"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
  const auto unit = units.find(text.substr(end));
  if (end == 0 || unit == units.end() || !(value > 0) || value > 0x1p20) {
    throw InputError({}, "--max-disk: bad size '" + text + "' (write 500M, 10G)");
  }
  return static_cast<int64_t>(value * unit->second);
}

/// Options as text, before they are checked one by one for a message in our own words.
struct RawOptions {
  std::string seed, cases, duration, jobs, format = "text", max_disk, mantissas;
};

/// Digits only; nothing before or after them.
template <typename Integer>
bool parse_whole(const std::string& text, Integer& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stopped == end;
}

int64_t parse_count(const std::string& option, const std::string& text, int64_t least,
                    int64_t most) {
  int64_t value = 0;
  if (parse_whole(text, value) && value >= least && value <= most) return value;
  const std::string limit = most == INT64_MAX ? "" : " and at most " + std::to_string(most);
  throw InputError({}, option + ": expected a whole number of at least " + std::to_string(least) +
                           limit + ", not '" + text + "'");
}

uint64_t parse_seed(const std::string& text) {
  uint64_t value = 0;
  if (parse_whole(text, value)) return value;
  throw InputError({}, "--seed: expected a whole number from 0 to 2^64 - 1, not '" + text + "'");
}

void settle(const RawOptions& raw, Options& o) {
  if (std::find(kDevices.begin(), kDevices.end(), o.device) == kDevices.end()) {
    throw InputError({}, "unknown device '" + o.device + "'" + did_you_mean(o.device, kDevices) +
                             "; there are ptx, cuda, torch");
  }
  const auto format = kFormats.find(raw.format);
  if (format == kFormats.end()) {
    throw InputError({}, "unknown format '" + raw.format + "'; there are text, github, junit");
  }
  o.format = format->second;
  if (!raw.seed.empty()) o.seed = parse_seed(raw.seed);
  if (!raw.cases.empty()) o.cases = parse_count("--cases", raw.cases, 1, INT64_MAX);
  if (!raw.jobs.empty()) o.jobs = static_cast<int>(parse_count("--jobs", raw.jobs, 1, kMostJobs));
  if (!raw.duration.empty()) o.seconds = parse_duration(raw.duration);
  if (!raw.mantissas.empty()) o.mantissas = parse_count("--mantissas", raw.mantissas, 1, 1 << 20);
  if (!raw.max_disk.empty()) o.max_disk_bytes = parse_bytes(raw.max_disk);
}

void add_options(CLI::App& app, Command command, Options& o, RawOptions& raw) {
  const bool one_file = command == Command::repro || command == Command::shrink;
  if (one_file) {
    app.add_option("file", o.file, "Case file, artifact or corpus entry")->required();
    app.add_option("--contract", o.contract, "Contract of the case (a path or a kernel's name)");
  } else if (command == Command::init) {
    app.add_option("source", o.file, "The source and the kernel in it: FILE.cu:kernel")->required();
    app.add_option("--out", o.out, "File of the contract; standard output when not given");
    return;
  } else {
    CLI::Option* kernels = app.add_option(
        "kernels", o.kernels,
        command == Command::conform ? "How the spellings start: add, cvt.rn (all when not given)"
                                    : "Kernel names, or paths of contract files anywhere");
    if (command == Command::exhaust) kernels->required();
  }
  app.add_flag("--json", o.json, "Print one JSON object");
  app.add_option("--format", raw.format, "text, github (annotations) or junit (XML)");
  if (command == Command::check) return;
  app.add_option("--device", o.device, "ptx, or cuda for a GPU (torch: not built yet)");
  app.add_option("--for", raw.duration, "Stop after this long: 30s, 5m, 8h");
  app.add_option("--jobs", raw.jobs, "Workers; one a core when not given");
  app.add_option("--out", o.out,
                 command == Command::exhaust ? "Where results are kept; continues what is there"
                                             : "Where findings are written");
  if (command == Command::exhaust) {
    app.add_option("--only", o.only, "Only variants with this choice: T=f16, OP=3");
    app.add_option("--mantissas", raw.mantissas,
                   "Numbers of each exponent and sign of a wide type");
    return;
  }
  app.add_option("--seed", raw.seed, "Seed of the run");
  app.add_option("--cases", raw.cases, "Stop after this many cases");
  if (command == Command::fuzz)
    app.add_option("--max-disk", raw.max_disk, "Cap for --out: 500M, 10G");
  if (command == Command::score) app.add_option("--planted", o.planted, "Folder of planted pairs");
}

void check_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  std::string all;
  for (const CommandRow& row : kCommands) {
    all += (names.empty() ? "" : ", ") + std::string(row.name);
    names.push_back(row.name);
  }
  if (arguments.empty()) throw InputError({}, "no command; there are " + all + " (--help)");
  if (arguments.front().starts_with("-")) return;
  if (std::find(names.begin(), names.end(), arguments.front()) == names.end()) {
    throw InputError({}, "unknown command '" + arguments.front() + "'" +
                             did_you_mean(arguments.front(), names) + "; there are " + all);
  }
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

double parse_duration(const std::string& text) {
  size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  static const std::map<std::string, double> units{{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  const auto unit = units.find(text.substr(end));
  if (end == 0 || unit == units.end() || !(value > 0) || value > 1e6) {
    throw InputError({}, "--for: bad duration '" + text + "' (write 500ms, 30s, 5m or 8h)");
  }
  return value * unit->second;
}

ParsedOptions parse_options(std::vector<std::string> arguments) {
  check_command(arguments);
  ParsedOptions parsed;
  RawOptions raw;
  CLI::App app{"Assay finds the wrong answers that GPU kernels give.", "assay"};
  app.require_subcommand(1);
  for (const CommandRow& row : kCommands) {
    CLI::App* sub = app.add_subcommand(row.name, row.about);
    add_options(*sub, row.command, parsed.options, raw);
    sub->callback([&parsed, &row] { parsed.options.command = row.command; });
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes its arguments from the back
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    parsed.help = true;
    const auto chosen = app.get_subcommands();
    parsed.text = chosen.empty() ? app.help() : chosen.front()->help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw InputError({}, one_line(error.what()));
  }
  settle(raw, parsed.options);
  return parsed;
}

}  // namespace assay
