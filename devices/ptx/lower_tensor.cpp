// Lowering of matrix instructions, asynchronous copies and mbarrier.
#include "devices/ptx/lower.hpp"

namespace assay::ptx {

/// A fragment's registers; address and stride apart.
void Lowering::emit_tensor(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  std::vector<Place> rows;
  for (const Value& v : ins.dst) rows.push_back(reg(v.index));
  const bool has_address = ins.op == Op::ldmatrix || ins.op == Op::stmatrix ||
                           ins.wmma == Wmma::load || ins.wmma == Wmma::store;
  size_t next = has_address ? 1 : 0;
  size_t values = ins.src.size() - next;
  const bool is_transfer = ins.wmma == Wmma::load || ins.wmma == Wmma::store;
  if (is_transfer) {  // all that is left over is the stride
    const int registers = fragment_registers(ins, ins.matrix).count;
    values = ins.wmma == Wmma::store ? static_cast<size_t>(registers) : 0;
  }
  for (size_t i = 0; i < values; ++i) rows.push_back(source(ins, ins.src[next++], 4));
  Place stride;
  if (next < ins.src.size()) stride = source(ins, ins.src[next], 4);
  const Slot everybody = constant(~uint64_t{0}, 4);
  MicroOp& op = emit(ins, Kind::tensor);
  op.b = stride.slot;
  op.fb = stride.flag;
  op.e = everybody;
  op.width = 4;
  op.target = static_cast<int32_t>(code_->fragments.size());
  FragmentRows registers;
  registers.results = ins.dst.size();
  for (const Place& p : rows) {
    registers.rows.push_back(p.slot);
    registers.flags.push_back(p.flag);
  }
  code_->fragments.push_back(std::move(registers));
  if (has_address) set_address(ins, ins.src[0], ins.space, op);
}

/// A copy is two micro-ops: where it reads, where it writes.
void Lowering::emit_copy_async(const Instruction& ins) {
  const Value& size = ins.src[2];
  const bool known =
      size.kind == Value::Kind::immediate && (size.bits == 4 || size.bits == 8 || size.bits == 16);
  if (!known) return refuse(ins, "a size that is not 4, 8 or 16");
  const uint8_t bytes = static_cast<uint8_t>(size.bits);
  Place source_bytes{constant(bytes, 4), 0, 4}, ignored;
  if (ins.src.size() > 3) {
    const Value& v = ins.src[3];
    const bool is_predicate = v.kind == Value::Kind::reg && reg(v.index).width == 0;
    if (is_predicate) {
      ignored = predicate(v);
    } else {
      source_bytes = source(ins, v, 4);
    }
  }
  MicroOp& from = emit(ins, Kind::async_source);
  from.b = source_bytes.slot;
  from.fb = source_bytes.flag;
  from.pa = ignored.slot;
  from.fpa = ignored.flag;
  code_->sites[from.site].element_bytes = bytes;
  set_address(ins, ins.src[1], Space::global, from);
  MicroOp& to = emit(ins, Kind::async_copy);
  code_->sites[to.site].element_bytes = bytes;
  set_address(ins, ins.src[0], Space::shared, to);
}

void Lowering::emit_async(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  if (ins.async == Async::copy) return emit_copy_async(ins);
  const bool groups = ins.async == Async::commit_group || ins.async == Async::wait_group ||
                      ins.async == Async::wait_all;
  if (groups) {
    Place allowed{constant(0, 4), 0, 4};
    if (ins.async == Async::wait_group) allowed = source(ins, ins.src[0], 4);
    MicroOp& op = emit(ins, Kind::async_group);
    op.b = allowed.slot;
    op.fb = allowed.flag;
    return;
  }
  if (ins.async == Async::pending_count) {
    const Place state = source(ins, ins.src[0], 8);
    MicroOp& op = emit(ins, Kind::mbarrier);
    op.a = state.slot;
    op.fa = state.flag;
    op.d = reg(ins.dst[0].index).slot;
    op.fd = reg(ins.dst[0].index).flag;
    op.width = 4;
    return;
  }
  // Behind the address: a count, a parity or a state.
  const bool waits = ins.async == Async::test_wait || ins.async == Async::try_wait;
  Place operand;
  if (ins.src.size() > 1) operand = source(ins, ins.src[1], waits && !ins.parity ? 8 : 4);
  MicroOp& op = emit(ins, Kind::mbarrier);
  op.b = operand.slot;
  op.fb = operand.flag;
  op.b_width = operand.width;
  op.width = 8;
  set_address(ins, ins.src[0], ins.space, op);
  if (ins.dst.empty() || ins.dst[0].kind != Value::Kind::reg) return;
  const Place d = reg(ins.dst[0].index);
  (d.width == 0 ? op.p1 : op.d) = d.slot;
  (d.width == 0 ? op.fp1 : op.fd) = d.flag;
}

}  // namespace assay::ptx
