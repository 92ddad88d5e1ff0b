// mma and wmma over matrices in memory. wmma's fragments have no documented layout, so a spelling
// of its loads and stores is used together with a product.
#include "devices/ptx/tensor.hpp"
#include "fuzz/conform_matrix.hpp"

namespace assay {

namespace {

using ptx::Layout;
using ptx::Matrix;
using ptx::Op;
using ptx::Type;
using ptx::Wmma;

std::string name(Layout layout) { return layout == Layout::col ? "col" : "row"; }

/// The registers of a fragment, "{%r40, %r41}"; of f32 as %f.
std::string registers(const ptx::Instruction& product, Matrix matrix, int first) {
  const ptx::FragmentRegisters r = ptx::fragment_registers(product, matrix);
  std::string text = "{";
  for (int i = 0; i < r.count; ++i) {
    const bool real = r.type == Type::f32;
    text += std::string(i ? ", " : "") + (real ? "%f" : "%r") +
            std::to_string((real ? first % 16 : first) + i);
  }
  return text + "}";
}
// First registers; those of f32 fall to %f0 (c) and %f8 (d).
constexpr int kA = 32, kB = 48, kC = 64, kD = 88;

int target_of(const ptx::Instruction& product) {
  const bool fp8 = product.source_type == Type::e4m3 || product.source_type == Type::e5m2;
  return fp8 ? 89 : 80;
}

ConformProgram program_of(const std::string& title, const ptx::Instruction& i,
                          const ConformProduct& product) {
  ConformProgram program;
  program.title = title;
  program.instruction = i;
  program.product = product;
  program.target = target_of(product.product);
  const MatrixPlaces places = matrix_places(product);
  program.in_bytes = places.in_bytes;
  program.out_bytes = places.out_bytes;
  program.fill = [product](Random& random, int64_t warp, uint8_t* in) {
    put_matrices(product, make_matrices(product, random, warp), in);
  };
  return program;
}

std::string move_words(const std::string& list, int first, bool loads) {
  std::string text;
  int at = first;
  for (size_t start = 1; start < list.size();) {
    const size_t end = list.find_first_of(",}", start);
    const std::string reg = list.substr(start, end - start);
    const std::string type = reg[1] == 'f' ? ".f32 " : ".b32 ";
    const std::string place = "+" + std::to_string(4 * at++) + "]";
    text += loads ? "ld.global" + type + reg + ", [%d30" + place + ";\n"
                  : "st.global" + type + "[%d31" + place + ", " + reg + ";\n";
    start = end + 2;
  }
  return text;
}

void add_mma(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  const ConformProduct product{i};
  const MatrixPlaces places = matrix_places(product);
  const std::string a = registers(i, Matrix::a, kA), b = registers(i, Matrix::b, kB),
                    c = registers(i, Matrix::c, kC), d = registers(i, Matrix::d, kD);
  sink.add(program_of(spelling, i, product),
           move_words(a, places.a, true) + move_words(b, places.b, true) +
               move_words(c, places.c, true) + spelling + " " + d + ", " + a + ", " + b + ", " + c +
               ";\n" + move_words(d, 0, false));
}

/// The five instructions of a product by wmma; one of them is under test.
struct WmmaPlan {
  std::string shape;
  Layout a = Layout::row, b = Layout::col, c = Layout::row, d = Layout::row;
  Type input = Type::f16, accumulator = Type::f32, result = Type::f32;

  std::string load(char matrix, Layout layout, Type type) const {
    return std::string("wmma.load.") + matrix + ".sync.aligned." + name(layout) + "." + shape +
           ".global." + std::string(ptx::name_of(type));
  }
  std::string store() const {
    return "wmma.store.d.sync.aligned." + name(d) + "." + shape + ".global." +
           std::string(ptx::name_of(result));
  }
  std::string mma() const {
    const std::string r(ptx::name_of(result)), s(ptx::name_of(input)), x(ptx::name_of(accumulator));
    return "wmma.mma.sync.aligned." + name(a) + "." + name(b) + "." + shape + "." + r +
           (input == Type::f16 ? "" : "." + s + "." + s) + "." + x;
  }
};

std::string shape_of(const ptx::Instruction& i) {
  return "m" + std::to_string(i.shape.m) + "n" + std::to_string(i.shape.n) + "k" +
         std::to_string(i.shape.k);
}

WmmaPlan plan_for(const ptx::Instruction& i) {
  WmmaPlan plan;
  plan.shape = shape_of(i);
  if (i.wmma == Wmma::load || i.wmma == Wmma::store) {
    const bool input = i.matrix == Matrix::a || i.matrix == Matrix::b;
    if (input) plan.input = i.type;
    if (!input && i.type == Type::s32) plan.input = Type::s8;
    if (!input && plan.shape == "m16n16k8") plan.input = Type::tf32;
    if (plan.input == Type::s8 || plan.input == Type::u8) {
      plan.accumulator = plan.result = Type::s32;
    }
    if (!input) plan.accumulator = plan.result = i.type;
    if (i.matrix == Matrix::a) plan.a = i.a_layout;
    if (i.matrix == Matrix::b) plan.b = i.a_layout;
    if (i.matrix == Matrix::c) plan.c = i.a_layout;
    if (i.matrix == Matrix::d) plan.d = i.a_layout;
    return plan;
  }
  plan.a = i.a_layout;
  plan.b = i.b_layout;
  plan.input = i.source_type;
  plan.accumulator = i.c_type;
  plan.result = i.type;
  return plan;
}

void add_wmma(ProgramSink& sink, const std::string& spelling, const ptx::Instruction& i) {
  const WmmaPlan plan = plan_for(i);
  std::string load_a = plan.load('a', plan.a, plan.input),
              load_b = plan.load('b', plan.b, plan.input),
              load_c = plan.load('c', plan.c, plan.accumulator), store = plan.store(),
              mma = plan.mma();
  if (i.wmma == Wmma::store) {
    store = spelling;
  } else if (i.wmma != Wmma::load) {
    mma = spelling;
  } else {
    (i.matrix == Matrix::a ? load_a : i.matrix == Matrix::b ? load_b : load_c) = spelling;
  }
  ConformProduct product;
  product.product = ptx::match_spelling(mma).prototype;
  product.c_layout = plan.c;
  product.d_layout = plan.d;
  if (product.product.row < 0) return;
  const MatrixPlaces places = matrix_places(product);
  const std::string bytes = std::to_string(places.in_bytes);
  const bool shared = i.space == ptx::Space::shared;
  // %d32: the warp's matrices; %d33: its result; %d34 and %d35: where the spelling under test
  // reads.
  std::string body = "mul.wide.u32 %d26, %r27, " + bytes + ";\nsub.u64 %d32, %d30, %d26;\n" +
                     "mul.wide.u32 %d26, %r27, " + std::to_string(places.out_bytes) +
                     ";\nsub.u64 %d33, %d31, %d26;\nmov.u64 %d34, %d32;\nmov.u64 %d35, %d33;\n";
  if (shared) {
    body += ".shared .align 32 .b8 tile[" + std::to_string(128 * places.in_bytes) +
            "];\nmov.u64 %d24, tile;\nmad.wide.u32 %d25, %r28, " + bytes + ", %d24;\n";
    for (int at = 0; at < places.in_bytes; at += 8) {
      const std::string place = "+" + std::to_string(at) + "]";
      body += "ld.global.b64 %d23, [%d30" + place + ";\nst.shared.b64 [%d25" + place + ", %d23;\n";
    }
    body += "mul.wide.u32 %d26, %r27, " + bytes +
            ";\nsub.u64 %d34, %d25, %d26;\nmov.u64 %d35, %d34;\nbar.sync 0;\n";
  }
  const ptx::Instruction& p = product.product;
  const auto address = [&](const std::string& line, int at) {
    const bool tested = line == spelling;
    return std::string(" [") + (tested ? "%d34" : "%d32") + "+" + std::to_string(at) + "]";
  };
  const std::string a = registers(p, Matrix::a, kA), b = registers(p, Matrix::b, kB),
                    c = registers(p, Matrix::c, kC), d = registers(p, Matrix::d, kD);
  const auto leading = [](int elements) { return ", " + std::to_string(elements) + ";\n"; };
  body += load_a + " " + a + "," + address(load_a, places.a) + leading(places.leading_a);
  body += load_b + " " + b + "," + address(load_b, places.b) + leading(places.leading_b);
  body += load_c + " " + c + "," + address(load_c, places.c) + leading(places.leading_c);
  body += mma + " " + d + ", " + a + ", " + b + ", " + c + ";\n";
  const bool through_tile = shared && store == spelling;
  if (through_tile) body += "bar.sync 0;\n";
  body += store + std::string(through_tile ? " [%d35]" : " [%d33]") + ", " + d +
          leading(places.leading_d);
  if (through_tile) {
    body += "bar.sync 0;\nmul.wide.u32 %d26, %r27, " + std::to_string(places.out_bytes) +
            ";\nadd.u64 %d25, %d35, %d26;\n";
    for (int at = 0; at < places.out_bytes; at += 8) {
      const std::string place = "+" + std::to_string(at) + "]";
      body += "ld.shared.b64 %d23, [%d25" + place + ";\nst.global.b64 [%d31" + place + ", %d23;\n";
    }
  }
  sink.add(program_of(spelling, i, product), body);
}

}  // namespace

void add_matrix_programs(ProgramSink& sink) {
  for (const ptx::Row& row : ptx::table()) {
    if (row.op != Op::mma && row.op != Op::wmma) continue;
    for (const std::string& spelling : spellings_of(row)) {
      const ptx::Instruction i = ptx::match_spelling(spelling).prototype;
      if (!sink.wants(spelling) || i.row < 0) continue;
      row.op == Op::mma ? add_mma(sink, spelling, i) : add_wmma(sink, spelling, i);
    }
  }
}

}  // namespace assay
