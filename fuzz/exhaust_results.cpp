// What the variants of an `assay exhaust` add up to, and its exit status.
#include <algorithm>

#include "fuzz/exhaust.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

template <typename Count>
int64_t least_of(const std::vector<ErrorStats>& outputs, const Count& count) {
  int64_t least = outputs.empty() ? 0 : count(outputs.front());
  for (const ErrorStats& stats : outputs) least = std::min(least, count(stats));
  return least;
}

template <typename Count>
int64_t sum_of(const std::vector<VariantResult>& variants, const Count& count) {
  int64_t sum = 0;
  for (const VariantResult& variant : variants) sum += static_cast<int64_t>(count(variant));
  return sum;
}

}  // namespace

int64_t VariantResult::done() const {
  return least_of(outputs, [](const ErrorStats& stats) { return stats.inputs; });
}

int64_t VariantResult::judged() const {
  return least_of(outputs, [](const ErrorStats& stats) { return stats.judged(); });
}

int64_t VariantResult::outside() const {
  return least_of(outputs, [](const ErrorStats& stats) { return stats.outside_domain; });
}

int64_t VariantResult::lost() const {
  return -least_of(outputs, [](const ErrorStats& stats) {
    return -(stats.faulted + stats.not_alone + stats.unwritten);
  });
}

size_t VariantResult::finding_count() const {
  size_t count = 0;
  for (const UnitResult& unit : with_findings) count += unit.findings.size();
  return count;
}

int64_t ExhaustReport::finding_count() const {
  return sum_of(variants, [](const VariantResult& v) { return v.finding_count(); });
}

int64_t ExhaustReport::cases() const {
  return sum_of(variants, [](const VariantResult& v) { return v.cases; });
}

int64_t ExhaustReport::inputs_done() const {
  return sum_of(variants, [](const VariantResult& v) { return v.done(); });
}

int64_t ExhaustReport::inputs_judged() const {
  return sum_of(variants, [](const VariantResult& v) { return v.judged(); });
}

int64_t ExhaustReport::inputs_outside() const {
  return sum_of(variants, [](const VariantResult& v) { return v.outside(); });
}

int64_t ExhaustReport::inputs_lost() const {
  return sum_of(variants, [](const VariantResult& v) { return v.lost(); });
}

int64_t ExhaustReport::inputs_left() const {
  return sum_of(variants, [](const VariantResult& v) {
    return v.skipped.empty() ? v.space.size - v.ran : 0;
  });
}

int64_t ExhaustReport::inputs_total() const {
  return sum_of(variants,
                [](const VariantResult& v) { return v.skipped.empty() ? v.space.size : 0; });
}

int64_t ExhaustReport::variants_ran() const {
  return sum_of(variants, [](const VariantResult& v) { return v.skipped.empty() && v.ran > 0; });
}

int64_t ExhaustReport::variants_skipped() const {
  return sum_of(variants, [](const VariantResult& v) { return !v.skipped.empty(); });
}

Exit ExhaustReport::exit() const {
  if (finding_count() > 0) return Exit::findings;
  const bool any = std::any_of(variants.begin(), variants.end(), [](const VariantResult& variant) {
    return std::any_of(variant.outputs.begin(), variant.outputs.end(),
                       [](const ErrorStats& stats) { return stats.judged() > 0; });
  });
  // As elsewhere: what the device does not support explains why nothing was judged.
  if (!any && variants_skipped() == 0) return Exit::bad_input;
  return variants_skipped() > 0 ? Exit::skipped : Exit::clean;
}

std::string ExhaustReport::nothing_judged() const {
  if (inputs_done() + inputs_outside() + inputs_lost() == 0) {
    return std::string("no input was run before ") +
           (interrupted ? "the interruption" : "the time was over") + ": nothing is proven";
  }
  return "no input of '" + kernel + "' was judged, nothing is proven: of " +
         counted(inputs_total(), "input") + ", " + std::to_string(inputs_outside()) +
         " are outside what the contract admits and " +
         std::to_string(inputs_done() - inputs_judged()) +
         " where nothing is documented (rule R10)";
}

FiledFinding ExhaustReport::filed(const UnitResult& unit, size_t finding) const {
  FiledFinding filed;
  filed.finding = unit.findings[finding];
  filed.case_file = unit.case_files[finding];
  filed.contract = contract;
  filed.device = device;
  return filed;
}

Report ci_report(const std::vector<ExhaustReport>& reports) {
  Report out;
  out.command = Command::exhaust;
  for (const ExhaustReport& report : reports) {
    KernelReport kernel;
    kernel.kernel = report.kernel;
    kernel.contract = report.contract;
    kernel.variants_total = report.variants_total;
    for (const VariantResult& variant : report.variants) {
      // A variant that was left out is a case skipped; one that the device does not support ran
      // one.
      kernel.cases += variant.cases + (variant.left_out ? 1 : 0);
      if (!variant.skipped.empty()) ++kernel.skipped[variant.skipped];
      kernel.judged += variant.judged();
      if (variant.skipped.empty() && variant.ran > 0) {
        kernel.variants.insert(variant.space.variant.text());
      }
      kernel.seconds += variant.seconds;
      for (const UnitResult& unit : variant.with_findings) {
        for (size_t i = 0; i < unit.findings.size(); ++i) {
          out.findings.push_back(report.filed(unit, i));
        }
      }
    }
    out.seconds += report.seconds;
    out.kernels.push_back(std::move(kernel));
  }
  return out;
}

Exit exit_of(const std::vector<ExhaustReport>& reports) {
  Exit worst = Exit::clean;
  const auto rank = [](Exit exit) {
    return exit == Exit::findings ? 3 : exit == Exit::bad_input ? 2 : exit == Exit::skipped ? 1 : 0;
  };
  for (const ExhaustReport& report : reports) {
    if (rank(report.exit()) > rank(worst)) worst = report.exit();
  }
  return worst;
}

}  // namespace assay
