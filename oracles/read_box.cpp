// Reads boxes of operands and turns their bits into numbers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oracles/evaluate.hpp"

namespace assay {

void read_held(const OutputReader& outputs, const Tensor& tensor, int64_t first, int64_t count,
               uint8_t* bits, uint8_t* written) {
  outputs.read(tensor, first, count, bits, written);
  if (tensor.held_values()) std::fill_n(written, count, uint8_t{1});
}

void read_box(const Instance& instance, const OutputReader* outputs, const Tensor& tensor,
              const std::vector<int64_t>& low, const std::vector<int64_t>& extent, uint8_t* bits,
              uint8_t* written) {
  int64_t total = 1;
  for (const int64_t e : extent) total *= e;
  if (total == 0) return;
  // Trailing dimensions that are read whole make one run together with the next one out.
  size_t outer = extent.size();
  int64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= extent[outer];
    if (extent[outer] != tensor.shape[outer]) break;
  }
  if (extent.empty()) outer = 0;
  std::vector<int64_t> at = low;
  const int bytes = byte_size(tensor.dtype);
  for (int64_t done = 0; done < total; done += run) {
    const int64_t first = tensor.linear(at);
    if (outputs == nullptr)
      logical_values(instance, tensor, first, run, bits + done * bytes);
    else
      read_held(*outputs, tensor, first, run, bits + done * bytes, written + done);
    for (size_t k = outer; k-- > 0;) {
      if (++at[k] < low[k] + extent[k]) break;
      at[k] = low[k];
    }
  }
}

uint64_t packed_bits(const uint8_t* bits, int64_t index, int byte_size) {
  uint64_t out = 0;
  std::memcpy(&out, bits + index * byte_size, static_cast<size_t>(byte_size));
  return out;
}

void to_doubles(const rows::Kernels& kernels, DType type, int64_t count, const uint8_t* bits,
                double* out) {
  switch (type) {
    case DType::f64:
      std::memcpy(out, bits, static_cast<size_t>(count) * 8);
      return;
    case DType::f32:
      return kernels.from_f32(count, bits, out);
    case DType::f16:
      return kernels.from_f16(count, bits, out);
    case DType::bf16:
      return kernels.from_bf16(count, bits, out);
    default:
      for (int64_t i = 0; i < count; ++i)
        out[i] = to_double(type, packed_bits(bits, i, byte_size(type)));
  }
}

rows::Rounding rounding_of(DType type, bool flush) {
  const FloatFormat format = format_of(type);
  rows::Rounding r{};
  r.u = format.unit_roundoff();
  r.smallest = flush ? 0 : format.smallest_subnormal();
  r.min_normal = std::ldexp(1.0, format.min_exponent);
  r.eta = flush ? r.min_normal : format.smallest_subnormal() / 2;
  r.split = std::ldexp(1.0, 53 - format.precision) + 1;
  r.largest = format.largest;
  r.native_double = type == DType::f64;
  // Half of double's smallest subnormal is no double; an allowance is rounded outward.
  if (r.native_double && !flush) r.eta = format.smallest_subnormal();
  return r;
}

}  // namespace assay
