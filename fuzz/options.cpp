// The only file that knows CLI11.
#include "fuzz/options.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <sstream>

#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

struct CommandRow {
  Command command;
  const char* name;
  const char* about;
  const char* options;  ///< those that mean something to it, besides its kernels or its file
};
constexpr std::array<CommandRow, 12> kCommands{{
    {Command::list, "list", "List the kernels and what their contracts admit", "--device --json"},
    {Command::smoke, "smoke", "Check every kernel for a short time; for CI",
     "--device --seed --cases --for --jobs --json --format --out"},
    {Command::cover, "cover", "Show which lines of a kernel its cases reach, and how",
     "--seed --cases --for --jobs --json --html"},
    {Command::fuzz, "fuzz", "Search for hours in worker processes; resumes in the same folder",
     "--device --seed --cases --for --jobs --json --format --out --max-disk"},
    {Command::repro, "repro", "Run one case file and explain what it shows",
     "--contract --device --json --format --adversarial --fmad"},
    {Command::shrink, "shrink", "Make a failing case smaller while the same failure stays",
     "--contract --device --cases --for --out"},
    {Command::score, "score", "Search for the planted bugs and count what is found",
     "--device --seed --cases --for --jobs --json --format --planted"},
    {Command::conform, "conform", "Compare the emulator's instructions with a GPU's",
     "--seed --cases"},
    {Command::exhaust, "exhaust", "Run an elementwise kernel on every input of its narrow types",
     "--device --for --jobs --json --format --out --only --mantissas --whole"},
    {Command::init, "init", "Write a starter contract from a kernel's compiled signature", "--out"},
    {Command::check, "check", "Read a contract critically and show three of its cases",
     "--json --format"},
    {Command::calibrate, "calibrate",
     "Check the judge from both sides: kernels that err as they may, and planted defects",
     "--seed --cases --for --jobs --json --out"},
}};
constexpr const char* kVersion = "assay 0.1.0";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandRow& row : kCommands) names.push_back(row.name);
  return names;
}

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
  std::string seed, cases, duration, jobs, format, max_disk, mantissas, adversarial, fmad;
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

uint64_t parse_seed(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  if (parse_whole(text, value)) return value;
  throw InputError({}, option + ": expected a whole number from 0 to 2^64 - 1, not '" + text + "'");
}

void settle(const RawOptions& raw, Options& o) {
  if (std::find(kDevices.begin(), kDevices.end(), o.device) == kDevices.end()) {
    throw InputError({}, "unknown device '" + o.device + "'" + did_you_mean(o.device, kDevices) +
                             "; there are ptx, cuda, torch");
  }
  const auto format = kFormats.find(raw.format.empty() ? "text" : raw.format);
  if (format == kFormats.end()) {
    throw InputError({}, "unknown format '" + raw.format + "'; there are text, github, junit");
  }
  if (o.json && !raw.format.empty()) {
    throw InputError({}, "--json and --format " + raw.format + " are two ways to print: give one");
  }
  if (o.command == Command::check && format->second == Format::junit)
    throw InputError({}, "unknown format 'junit'; check prints text, github");
  o.format = format->second;
  if (!raw.seed.empty()) o.seed = parse_seed("--seed", raw.seed);
  if (!raw.adversarial.empty()) o.adversarial = parse_seed("--adversarial", raw.adversarial);
  if (o.adversarial != 0 && o.device != "ptx") {
    throw InputError({}, "--adversarial: only the emulator errs on purpose (--device ptx)");
  }
  if (!raw.fmad.empty()) {
    if (raw.fmad != "on" && raw.fmad != "off")
      throw InputError({}, "--fmad: expected on or off, not '" + raw.fmad + "'");
    o.contraction = raw.fmad == "on";
  }
  if (!raw.cases.empty()) o.cases = parse_count("--cases", raw.cases, 1, INT64_MAX);
  if (!raw.jobs.empty()) o.jobs = static_cast<int>(parse_count("--jobs", raw.jobs, 1, kMostJobs));
  if (!raw.duration.empty()) o.seconds = parse_duration(raw.duration);
  if (!raw.mantissas.empty()) o.mantissas = parse_count("--mantissas", raw.mantissas, 1, 1 << 20);
  if (o.whole && o.mantissas != 0)
    throw InputError({}, "--whole runs every input, --mantissas a sample: give one of them");
  if (!raw.max_disk.empty()) o.max_disk_bytes = parse_bytes(raw.max_disk);
}

const char* out_help(Command command) {
  if (command == Command::fuzz)
    return "Where corpus, findings and state are kept (out/fuzz when not given)";
  if (command == Command::init) return "File of the contract; standard output when not given";
  if (command == Command::exhaust) return "Where results are kept; continues what is there";
  if (command == Command::shrink) return "File for the smaller case (printed when not given)";
  return "Where findings are written (out when not given)";
}

void add_options(CLI::App& app, const CommandRow& row, Options& o, RawOptions& raw) {
  const Command command = row.command;
  const bool one_file = command == Command::repro || command == Command::shrink;
  if (one_file) {
    app.add_option("file", o.file, "Case file, artifact or corpus entry")->required();
  } else if (command == Command::init) {
    app.add_option("source", o.file, "The source and the kernel in it: FILE.cu:kernel")->required();
  } else {
    CLI::Option* kernels = app.add_option(
        "kernels", o.kernels,
        command == Command::conform ? "How the spellings start: add, cvt.rn (all when not given)"
                                    : "Kernel names, or paths of contract files anywhere");
    if (command == Command::exhaust || command == Command::cover) kernels->required();
  }
  for (const std::string& option : words(row.options)) {
    if (option == "--contract")
      app.add_option(option, o.contract, "Contract of the case (a path or a kernel's name)");
    if (option == "--device")
      app.add_option(option, o.device, "ptx, or cuda for a GPU (torch: not built yet)");
    if (option == "--seed") app.add_option(option, raw.seed, "Seed of the run");
    if (option == "--cases") app.add_option(option, raw.cases, "Stop after this many cases");
    if (option == "--for")
      app.add_option(option, raw.duration, "Stop after this long: 30s, 5m, 8h");
    if (option == "--jobs") app.add_option(option, raw.jobs, "Workers; one a core when not given");
    if (option == "--json") app.add_flag(option, o.json, "Print one JSON object");
    if (option == "--html") app.add_option(option, o.html, "File for one page of the same");
    if (option == "--format")
      app.add_option(option, raw.format,
                     command == Command::check ? "text or github (annotations)"
                                               : "text, github (annotations) or junit (XML)");
    if (option == "--out") app.add_option(option, o.out, out_help(command));
    if (option == "--max-disk") app.add_option(option, raw.max_disk, "Cap for --out: 500M, 10G");
    if (option == "--only")
      app.add_option(option, o.only, "Only variants with this choice: T=f16, OP=3");
    if (option == "--mantissas")
      app.add_option(option, raw.mantissas, "Numbers of each exponent and sign of a wide type");
    if (option == "--whole")
      app.add_flag(option, o.whole, "All 2^32 inputs of a 32-bit type, as --device cuda does");
    if (option == "--adversarial")
      app.add_option(option, raw.adversarial,
                     "Let the emulator err on purpose, as far as a correct device may: a seed");
    if (option == "--fmad")
      app.add_option(option, raw.fmad, "on, off: compile with or without contraction to fma");
    if (option == "--planted") app.add_option(option, o.planted, "Folder of planted pairs");
  }
}

/// Options that the command does not take, each with what may have been meant.
[[noreturn]] void refuse_extras(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : chosen.front()->get_name();
  const auto row = std::find_if(kCommands.begin(), kCommands.end(),
                                [&](const CommandRow& r) { return r.name == command; });
  std::vector<std::string> extras = app.remaining(true);
  const auto flag = std::find_if(extras.begin(), extras.end(),
                                 [](const std::string& word) { return word.starts_with("-"); });
  if (row == kCommands.end() || flag == extras.end())
    throw InputError({}, "not expected: " + joined(extras));
  const std::string name = flag->substr(0, flag->find('='));
  const std::vector<std::string> allowed = words(row->options);
  throw InputError({}, "'" + command + "' takes no " + name + did_you_mean(name, allowed) +
                           "; it takes " + joined(allowed));
}

void check_command(const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = command_names();
  if (arguments.empty())
    throw InputError({}, "no command; there are " + joined(names) + " (--help)");
  const std::string& given = arguments.front();
  if (given.starts_with("-") || std::find(names.begin(), names.end(), given) != names.end()) return;
  throw InputError({}, "unknown command '" + given + "'" + did_you_mean(given, names) +
                           "; there are " + joined(names));
}

/// `assay help` and `assay help smoke` are --help.
void take_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  arguments.resize(std::min<size_t>(arguments.size(), 1));
  arguments.push_back("--help");
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
  take_help(arguments);
  check_command(arguments);
  ParsedOptions parsed;
  RawOptions raw;
  CLI::App app{"Assay finds the wrong answers that GPU kernels give.", "assay"};
  app.require_subcommand(1);
  app.set_version_flag("--version", kVersion);
  for (const CommandRow& row : kCommands) {
    CLI::App* sub = app.add_subcommand(row.name, row.about);
    add_options(*sub, row, parsed.options, raw);
    sub->callback([&parsed, &row] { parsed.options.command = row.command; });
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes its arguments from the back
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    parsed.help = true;
    const auto chosen = app.get_subcommands();
    // The whole command line: "Usage: assay smoke [OPTIONS] [kernels...]".
    parsed.text = chosen.empty() ? app.help() : chosen.front()->help("assay");
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.help = true;
    parsed.text = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app);
  } catch (const CLI::ParseError& error) {
    throw InputError({}, one_line(error.what()));
  }
  settle(raw, parsed.options);
  return parsed;
}

}  // namespace assay
