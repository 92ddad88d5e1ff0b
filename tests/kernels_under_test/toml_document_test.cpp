#include "kernels_under_test/toml_document.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string place(const SourceLocation& where) {
  return std::to_string(where.line) + ":" + std::to_string(where.column);
}

TEST(TomlDocument, TablesKeepTheOrderOfTheFile) {
  const TomlValue document = parse_toml("z = 1\na = 2\nm = 3\n[t]\nq = 1\nb = 2\n", "f.toml");
  ASSERT_EQ(document.entries.size(), 4u);
  EXPECT_EQ(document.entries[0].key, "z");
  EXPECT_EQ(document.entries[1].key, "a");
  EXPECT_EQ(document.entries[2].key, "m");
  EXPECT_EQ(document.find("t")->value.entries[0].key, "q");
  EXPECT_EQ(document.find("nothing"), nullptr);
}

TEST(TomlDocument, StringsKnowTheirFirstCharacter) {
  const TomlValue document = parse_toml(
      "a = \"x\"\nb = 'x'\nc = \"\"\"x\"\"\"\nd = \"\"\"\nx\"\"\"\ne = \"\u00e9\" # \nf = "
      "[\"\u00e9\", \"x\"]\n"
      "\"q[i = 1]\" = 1\n",
      "f.toml");
  EXPECT_EQ(place(document.find("a")->value.text_where), "1:6");
  EXPECT_EQ(place(document.find("b")->value.text_where), "2:6");
  EXPECT_EQ(place(document.find("c")->value.text_where), "3:8");
  EXPECT_EQ(place(document.find("d")->value.text_where), "5:1");
  EXPECT_EQ(place(document.find("f")->value.items[1].text_where), "7:12");
  EXPECT_EQ(place(document.find("q[i = 1]")->where), "8:2");
}

TEST(TomlDocument, KindsAndValues) {
  const TomlValue document = parse_toml(
      "s = \"t\"\ni = -3\nr = 1.5\nb = true\nd = 2020-01-01\na = [1]\nt = {}\n", "f.toml");
  EXPECT_EQ(document.find("s")->value.text, "t");
  EXPECT_EQ(document.find("i")->value.integer, -3);
  EXPECT_EQ(document.find("r")->value.real, 1.5);
  EXPECT_TRUE(document.find("b")->value.boolean);
  EXPECT_STREQ(kind_name(document.find("d")->value.kind), "a date or time");
  EXPECT_STREQ(kind_name(document.find("a")->value.kind), "an array");
  EXPECT_STREQ(kind_name(document.find("t")->value.kind), "a table");
}

TEST(TomlDocument, PlainTextIsOfWhatIsSaidNotOfHow) {
  const auto plain = [](const char* text) { return plain_text(parse_toml(text, "f.toml")); };
  const std::string text = plain("a = [1, 'x']\nt = { u = true, v = 1.5 }\n");
  EXPECT_EQ(plain("# c\na = [ 0x1,\n \"x\" ] # d\n[t]\nu=true\nv = 15e-1\n"), text);
  EXPECT_NE(plain("a = [1, 'y']\nt = { u = true, v = 1.5 }\n"), text);
  EXPECT_NE(plain("a = [2, 'x']\nt = { u = true, v = 1.5 }\n"), text);
  EXPECT_NE(plain("a = [1, 'x']\nt = { u = false, v = 1.5 }\n"), text);
  EXPECT_NE(plain("a = [1, 'x']\nt = { w = true, v = 1.5 }\n"), text);
  EXPECT_NE(plain("a = [[1], 'x']\nt = { u = true, v = 1.5 }\n"), text);
  EXPECT_NE(plain("v = 1"), plain("v = 1.0"));
  EXPECT_NE(plain("v = '1'"), plain("v = 1"));
  EXPECT_NE(plain("x = 1\ny = 2"), plain("y = 2\nx = 1")) << "lines of a formula have an order";
}

TEST(TomlDocument, SyntaxErrorsKeepTheirPlace) {
  try {
    parse_toml("a = 1\nb = = 2\n", "f.toml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(place(error.where()), "2:5");
    EXPECT_EQ(error.where().file, "f.toml");
  }
}

}  // namespace
}  // namespace assay
