#include "fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "fuzz/shrink.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

/// Time guard for shrinking inside an engine that watches for slow inputs.
constexpr double kShrinkSeconds = 5;
constexpr std::chrono::milliseconds kPublishEvery{50};

bool take_value(const std::string& argument, const char* option, std::string& value) {
  const std::string prefix = std::string("--") + option + "=";
  if (!argument.starts_with(prefix)) return false;
  value = argument.substr(prefix.size());
  return true;
}

/// "build/fuzz_softmax" names softmax; "fuzz_kernel" and "fuzz_seeded" name none.
std::string kernel_of_program(const std::string& program) {
  const std::string base = base_name(program);
  if (!base.starts_with("fuzz_") || base == "fuzz_kernel" || base == "fuzz_seeded") return "";
  return base.substr(5);
}

ContractPtr load_one(const std::string& kernel) {
  if (kernel.empty()) {
    throw InputError({},
                     "no kernel: give --kernel=NAME or a contract's path, or call the program by "
                     "the name fuzz_NAME");
  }
  return load_kernels({kernel}).front();
}

size_t copy_out(const std::string& text, uint8_t* out, size_t max_size) {
  if (text.size() > max_size) return 0;
  std::memcpy(out, text.data(), text.size());
  return text.size();
}

}  // namespace

TargetSettings take_target_settings(std::vector<std::string>& arguments) {
  TargetSettings settings;
  std::vector<std::string> rest;
  std::string most;
  for (const std::string& argument : arguments) {
    const bool ours = take_value(argument, "kernel", settings.kernel) ||
                      take_value(argument, "findings", settings.findings) ||
                      take_value(argument, "slot", settings.slot) ||
                      take_value(argument, "device", settings.device) ||
                      take_value(argument, "most", most);
    if (!ours) rest.push_back(argument);
  }
  arguments = rest;
  if (!most.empty()) settings.most_cases = std::strtoll(most.c_str(), nullptr, 10);
  if (settings.kernel.empty() && !rest.empty()) settings.kernel = kernel_of_program(rest.front());
  if (const char* given = std::getenv("ASSAY_KERNEL"); settings.kernel.empty() && given) {
    settings.kernel = given;
  }
  return settings;
}

Target::Target(const TargetSettings& settings)
    : settings_(settings),
      contract_(load_one(settings.kernel)),
      bench_(settings.device),
      checker_(bench_.checker(*contract_)) {
  if (!settings_.findings.empty()) make_folder(settings_.findings);
  if (!settings_.slot.empty()) slot_ = std::make_unique<WorkerSlot>(settings_.slot);
}

bool Target::parse(const uint8_t* data, size_t size, Case& c) const {
  try {
    c = parse_case(std::string(reinterpret_cast<const char*>(data), size), "input");
    check_case_against(*contract_, c, "input");
    return true;
  } catch (const InputError&) {
    return false;  // garbage: the engine drops it
  }
}

int Target::run(const uint8_t* data, size_t size, volatile uint8_t* counters) {
  Case c;
  if (!parse(data, size, c)) return -1;
  if (slot_) slot_->begin_case(reinterpret_cast<const char*>(data), size);
  const CheckResult result = checker_.check(c);
  features_ = numbers_.of(result);
  cost_ = result.run.lane_instructions;
  set_counters(features_, counters);
  for (const Finding& finding : result.findings) {
    if (findings_.add(finding, executions_)) file(finding, result);
  }
  ++executions_;
  if (slot_) {
    publish(c, result);
    slot_->end_case(result.run.status == RunStatus::unsupported);
  }
  return 0;
}

/// Tells the parent what was counted: at once when something is new, else now and then.
void Target::publish(const Case& c, const CheckResult& result) {
  tally_.add(c, result, 0);
  const size_t distinct =
      tally_.notes.size() + tally_.skipped.size() + tally_.unjudged.size() + tally_.variants.size();
  const auto now = std::chrono::steady_clock::now();
  if (distinct == told_ && now - published_ < kPublishEvery) return;
  told_ = distinct;
  published_ = now;
  slot_->publish(tally_.tally());
}

void Target::file(const Finding& finding, const CheckResult& result) {
  std::fprintf(stderr, "assay: finding %s: %s\n", finding.identity().c_str(),
               finding.message.c_str());
  if (settings_.findings.empty()) return;
  const std::string path = settings_.findings + "/" + slug(finding) + ".case";
  if (std::filesystem::exists(path)) return;  // another worker, or an earlier run, has it
  Case raw = finding.the_case;
  raw.recorded = recorded_of(finding, result);
  raw.comments = cause_comment(result, finding);
  raw.comments.insert(raw.comments.begin(), "found by the fuzz target, not shrunk");
  raw.comments.push_back(finding.message);
  write_file(path, print_case(raw));  // first of all: shrinking may die
  ShrinkLimits limits{static_cast<int64_t>(settings_.shrink_checks), kShrinkSeconds};
  ShrinkResult smaller = shrink(checker_, finding, limits);
  smaller.the_case.comments = finding_comments(
      std::string("found by the fuzz target") + (smaller.fixpoint ? "" : ", not shrunk fully"),
      smaller.finding);
  for (std::string& line : cause_comment(checker_.check(smaller.the_case), finding)) {
    // Before the message, which stands last.
    smaller.the_case.comments.insert(std::prev(smaller.the_case.comments.end()), std::move(line));
  }
  write_file(path, print_case(smaller.the_case));
}

size_t Target::mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Case c;
  const Seed s{seed};
  // The engine does not tell what the case was kept for: a property may be what it was.
  const MutationHints hints{numbers_.sizes(), seed % 2 == 0};
  const Case changed =
      parse(data, size, c) ? mutate_case(*contract_, c, s, hints) : generate_case(*contract_, s);
  const size_t length = copy_out(print_case(changed), data, max_size);
  return length > 0 ? length : std::min(size, max_size);
}

size_t Target::cross(const std::string& first, const std::string& second, uint8_t* out,
                     size_t max_size, unsigned seed) {
  Case a, b;
  const auto bytes = [](const std::string& s) {
    return reinterpret_cast<const uint8_t*>(s.data());
  };
  if (!parse(bytes(first), first.size(), a) || !parse(bytes(second), second.size(), b)) return 0;
  return copy_out(print_case(cross_cases(*contract_, a, b, Seed{seed})), out, max_size);
}

}  // namespace assay
