#include "fuzz/program.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>
#include <thread>

#include "fuzz/log.hpp"
#include "fuzz/text_table.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

Exit run_command(const Options& options, Streams streams) {
  switch (options.command) {
    case Command::list:
      return run_list(options, streams);
    case Command::smoke:
      return run_smoke(options, streams);
    case Command::cover:
      return run_cover(options, streams);
    case Command::fuzz:
      return run_fuzz(options, streams);
    case Command::repro:
      return run_repro(options, streams);
    case Command::shrink:
      return run_shrink(options, streams);
    case Command::score:
      return run_score(options, streams);
    case Command::conform:
      return run_conform(options, streams);
    case Command::exhaust:
      return run_exhaust(options, streams);
    case Command::init:
      return run_init(options, streams);
    case Command::check:
      return run_check(options, streams);
    case Command::calibrate:
      return run_calibrate(options, streams);
  }
  return Exit::bad_input;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, Streams streams) {
  const LogTo log_to(streams.err);
  try {
    const ParsedOptions parsed = parse_options(arguments);
    if (parsed.help) {
      streams.out << parsed.text;
      return static_cast<int>(Exit::clean);
    }
    Exit status = run_command(parsed.options, streams);
    streams.out.flush();
    if (!streams.out) throw InputError({}, "cannot write the results: is the disk full?");
    return static_cast<int>(status);
  } catch (const InputError& error) {
    streams.err << "assay: " << error.what() << "\n";
    return static_cast<int>(Exit::bad_input);
  } catch (const MissingDependency& error) {
    streams.err << "assay: " << error.what() << "\n";
    return static_cast<int>(Exit::missing);
  } catch (const std::bad_alloc&) {
    streams.err << "assay: out of memory\n";
    return static_cast<int>(Exit::missing);
  } catch (const std::filesystem::filesystem_error& error) {
    streams.err << "assay: " << error.path1().string() << ": " << error.code().message() << "\n";
    return static_cast<int>(Exit::bad_input);
  } catch (const std::system_error& error) {
    // Threads and processes that the machine does not give.
    streams.err << "assay: " << error.what() << "\n";
    return static_cast<int>(Exit::missing);
  }
}

std::unique_ptr<Device> make_device(const std::string& name) {
  if (name == "ptx") return make_ptx_device();
  if (name == "cuda") return make_cuda_device();
  throw MissingDependency("device '" + name +
                          "' is not built yet; --device ptx runs without a GPU");
}

void print_report(const Report& report, const Options& options, Streams streams) {
  if (options.json) {
    streams.out << json_report(report);
  } else if (options.format == Format::github) {
    streams.out << text_report(report) << github_report(report);
  } else if (options.format == Format::junit) {
    streams.out << junit_report(report);
  } else {
    streams.out << text_report(report);
  }
}

std::string opening(const Options& options, const char* command, size_t kernels) {
  return std::string("assay ") + command + ": seed " + std::to_string(options.seed) + ", " +
         counted(static_cast<int64_t>(kernels), "kernel");
}

Exit conclude(const Report& report, const Options& options, Streams streams) {
  const std::vector<InputError> errors = report.errors();
  const bool none_ran = std::all_of(report.kernels.begin(), report.kernels.end(),
                                    [](const auto& k) { return k.error && k.cases == 0; });
  const bool is_text = !options.json && options.format == Format::text;
  // An empty table above one error would hide it.
  if (!is_text || !none_ran || report.kernels.empty()) print_report(report, options, streams);
  for (const InputError& error : errors) streams.err << "assay: " << error.what() << "\n";
  if (!errors.empty() || report.exit() != Exit::bad_input) return report.exit();
  std::string names;
  for (const std::string& name : unproven(report)) names += (names.empty() ? "" : ", ") + name;
  throw InputError({}, "no element of " + names +
                           " was judged: nothing is proven; more time (--for) or cases (--cases) "
                           "may do");
}

int worker_count(const Options& options) {
  if (options.jobs > 0) return options.jobs;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace assay
