// The program `assay`: one function a command.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "fuzz/options.hpp"
#include "fuzz/report.hpp"

namespace assay {

/// Where a command prints: results go to `out`, progress and logs to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// Parses `arguments` (without the program's name), runs the command and returns the exit status;
/// throws only what is a fault of Assay itself. One line on `err` for bad input and for what is
/// missing.
int run_program(const std::vector<std::string>& arguments, Streams streams);

Exit run_list(const Options& options, Streams streams);
Exit run_smoke(const Options& options, Streams streams);
Exit run_cover(const Options& options, Streams streams);
Exit run_fuzz(const Options& options, Streams streams);
Exit run_repro(const Options& options, Streams streams);
Exit run_shrink(const Options& options, Streams streams);
Exit run_score(const Options& options, Streams streams);
Exit run_conform(const Options& options, Streams streams);
Exit run_exhaust(const Options& options, Streams streams);
Exit run_init(const Options& options, Streams streams);
Exit run_check(const Options& options, Streams streams);
Exit run_calibrate(const Options& options, Streams streams);

/// The device of that name; throws MissingDependency for one that is not there or not built yet.
std::unique_ptr<Device> make_device(const std::string& name);

/// Prints a report in the format that the options ask for.
void print_report(const Report& report, const Options& options, Streams streams);

/// "assay smoke: seed 7, 3 kernels": what a run says first.
std::string opening(const Options& options, const char* command, size_t kernels);

/// Prints the report; its exit status. Throws InputError naming the kernels of which no element was
/// judged where that proves nothing.
Exit conclude(const Report& report, const Options& options, Streams streams);

/// Number of workers: as asked, else one a core.
int worker_count(const Options& options);

}  // namespace assay
