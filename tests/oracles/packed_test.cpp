// Packed 4-bit operands: the judge reads elements, in either order and with either sign.
#include <gtest/gtest.h>

#include "oracles/number_text.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay::testing {
namespace {

struct Form {
  const char* type;
  const char* word;
  bool low_first;
  int64_t n;                   ///< no multiple of a word's elements: the last word has other bits
  std::vector<uint64_t> words;
  std::vector<int> elements;
};

Contract contract(const Form& form) {
  return parse_contract(
      std::string("name = \"k\"\nsource = { ptx = \"pool.cu\", entry = \"k\" }\n"
                  "sizes = { n = { min = 0, max = 99 } }\nlaunch = { grid = 1, block = 32 }\n"
                  "args = [\n  { name = \"y\", kind = \"output\", dtype = \"i32\", shape = [\"n\"] },\n"
                  "  { name = \"w\", kind = \"input\", dtype = \"") +
          form.type + "\", shape = [\"n\"], pack = { along = \"n\", word = \"" + form.word +
          "\", low_first = " + (form.low_first ? "true" : "false") +
          " } },\n]\n[formula]\ny = \"w\"\n",
      std::string(ASSAY_SOURCE_DIR) + "/tests/data/contracts/k.toml");
}

TEST(Packed, ElementsAreReadOutOfWords) {
  const Form forms[] = {
      {"u4", "u32", true, 11, {0x87654321, 0xfffffba9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"u4", "u32", false, 11, {0x87654321, 0x9abfffff}, {8, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11}},
      {"i4", "i32", true, 10, {0xfedcba98, 0xffffff70}, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 7}},
      {"i4", "u8", false, 5, {0x18, 0xf7, 0x8f}, {1, -8, -1, 7, -8}},
      {"u4", "u64", true, 17, {0xfedcba9876543210, 0xfffffffffffffff5},
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 5}},
  };
  for (const Form& form : forms) {
    Experiment e(contract(form));
    e.the_case.sizes["n"] = form.n;
    const auto words = static_cast<int64_t>(form.words.size());
    for (int64_t k = 0; k < words; ++k)
      e.put_bits("w", {words}, k, *parse_dtype(form.word), form.words[static_cast<size_t>(k)]);
    const Instance instance = e.instance();
    ASSERT_EQ(instance.find("w")->elements(), words) << form.type << form.word;
    FakeRun run(instance);
    for (int64_t k = 0; k < form.n; ++k)
      run.set("y", k, static_cast<uint32_t>(form.elements[static_cast<size_t>(k)]));
    const Judge judge(e.contract);
    EXPECT_EQ(judge.judge(instance, run).outcome, Outcome::pass) << form.type << form.word;
    for (int64_t k = 0; k < form.n; ++k) {
      run.set("y", k, static_cast<uint32_t>(form.elements[static_cast<size_t>(k)] ^ 1));
      const Verdict v = judge.judge(instance, run);
      EXPECT_EQ(v.wrong, 1) << form.type << form.word << " " << k;
      run.set("y", k, static_cast<uint32_t>(form.elements[static_cast<size_t>(k)]));
    }
  }
}

TEST(Packed, AWordsElementsAreShownInTheirOrder) {
  Packing pack;
  EXPECT_EQ(packed_text(pack, 0x87654321), "1 2 3 4 5 6 7 8");
  pack.low_first = false;
  EXPECT_EQ(packed_text(pack, 0x87654321), "8 7 6 5 4 3 2 1");
  pack.element = DType::i4;
  pack.word = DType::u8;
  EXPECT_EQ(packed_text(pack, 0x8f), "-8 -1");
}

}  // namespace
}  // namespace assay::testing
