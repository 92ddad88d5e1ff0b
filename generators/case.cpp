// Parses case text (docs/case.md). One pass over lines; every error names file:line:column.
#include "generators/case.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "generators/case_line.hpp"

namespace assay {
namespace {

using namespace case_text;

constexpr std::string_view kHeader = "assay-case 1";
constexpr size_t kMostBlocks = size_t{1} << 20;  // a subset is meant to be small

class CaseParser {
 public:
  CaseParser(const std::string& text, const std::string& file) : text_(text), file_(file) {}
  Case parse();

 private:
  using Statement = void (CaseParser::*)(Line&);
  struct Keyword {
    const char* name;
    Statement parse;
    bool repeatable;  ///< may stand on several lines
  };
  static const std::array<Keyword, 16> kKeywords;

  void statement(Line& line);
  void note(const std::string& key, const SourceLocation& where, const Line& line);
  void finish(int last_line);

  void kernel(Line& line);
  void types(Line& line);
  void assignments(Line& line, const char* section, std::map<std::string, int64_t>& into);
  void sizes(Line& line) { assignments(line, "sizes", case_.sizes); }
  void knobs(Line& line) { assignments(line, "knobs", case_.knobs); }
  void flags(Line& line) { assignments(line, "flags", case_.flags); }
  void scalars(Line& line) { assignments(line, "scalars", case_.scalars); }
  void alias(Line& line);
  void layout(Line& line);
  void values(Line& line);
  void seeds(Line& line);
  void blocks(Line& line);
  void set(Line& line);
  void property(Line& line);
  void recorded(Line& line);
  void compiler(Line& line) { case_.recorded.compiler = line.rest(); }
  void program(Line& line) { case_.recorded.program = line.name("a digest"); }

  const std::string& text_;
  const std::string& file_;
  Case case_;
  std::set<std::string> seen_;
  std::map<std::string, SourceLocation> places_;
};

const std::array<CaseParser::Keyword, 16> CaseParser::kKeywords = {{
    {"kernel", &CaseParser::kernel, false},
    {"types", &CaseParser::types, false},
    {"sizes", &CaseParser::sizes, false},
    {"knobs", &CaseParser::knobs, false},
    {"flags", &CaseParser::flags, false},
    {"scalars", &CaseParser::scalars, false},
    {"alias", &CaseParser::alias, false},
    {"layout", &CaseParser::layout, true},
    {"values", &CaseParser::values, true},
    {"seeds", &CaseParser::seeds, false},
    {"blocks", &CaseParser::blocks, false},
    {"set", &CaseParser::set, true},
    {"property", &CaseParser::property, false},
    {"recorded", &CaseParser::recorded, false},
    {"compiler", &CaseParser::compiler, false},
    {"program", &CaseParser::program, false},
}};

/// Records where `key` stands; a key that stands twice is an error.
void CaseParser::note(const std::string& key, const SourceLocation& where, const Line& line) {
  const auto [entry, added] = places_.emplace(key, where);
  if (!added) {
    line.fail_at(where, quoted(key) + " is given twice (first in line " +
                            std::to_string(entry->second.line) + ")");
  }
}

void CaseParser::kernel(Line& line) {
  line.skip_space();
  note("kernel", line.here(), line);
  case_.kernel = line.name("the kernel's name");
}

void CaseParser::types(Line& line) {
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string parameter = line.name("a type parameter");
    line.expect('=', "the type parameter");
    const SourceLocation type_at = line.here();
    const std::string type = line.name("a type");
    const auto dtype = parse_dtype(type);
    if (!dtype) line.fail_at(type_at, "unknown type " + quoted(type));
    note("types." + parameter, where, line);
    case_.types[parameter] = *dtype;
  }
}

void CaseParser::assignments(Line& line, const char* section,
                             std::map<std::string, int64_t>& into) {
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string key = line.name("a name");
    line.expect('=', "the name");
    note(std::string(section) + "." + key, where, line);
    const bool is_position = std::string_view(section) == "scalars";
    const SourceLocation value = line.here();
    into[key] = line.integer<int64_t>("an integer");
    if (line.ends_word()) continue;
    line.fail_at(value, is_position
                            ? "expected a whole number: the place, from 0 on, in the list of "
                              "the contract's `value` of '" +
                                  key + "'"
                            : "expected a whole number");
  }
}

void CaseParser::alias(Line& line) {
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string operand = line.name("an operand's name");
    line.expect('=', "the operand's name");
    note("alias." + operand, where, line);
    case_.aliases[operand] = line.name("the name of the input in whose memory it lies");
  }
}

void CaseParser::layout(Line& line) {
  line.skip_space();
  const SourceLocation where = line.here();
  const std::string operand = line.name("an operand's name");
  note("layout." + operand, where, line);
  Layout layout;
  std::set<std::string> given;
  while (!line.done()) {
    const SourceLocation key_at = line.here();
    const std::string key = line.name("strides=, offset= or misalign=");
    if (!given.insert(key).second) line.fail_at(key_at, quoted(key) + " is given twice");
    line.expect('=', "the name");
    if (key == "strides") {
      do {
        layout.strides.push_back(line.integer<int64_t>("a stride"));
      } while (line.accept(','));
    } else if (key == "offset") {
      layout.offset = line.integer<int64_t>("an offset");
    } else if (key == "misalign") {
      layout.misalign = line.integer<int64_t>("a number of bytes");
    } else {
      line.fail_at(key_at, "unknown layout key " + quoted(key) +
                               "; expected strides=, offset= or misalign=");
    }
  }
  case_.layouts[operand] = std::move(layout);
}

void CaseParser::values(Line& line) {
  line.skip_space();
  const SourceLocation where = line.here();
  const std::string operand = line.name("an operand's name");
  note("values." + operand, where, line);
  ValueRecipe recipe;
  recipe.name = line.name("a value class");
  std::set<std::string> given;
  while (!line.done()) {
    const SourceLocation key_at = line.here();
    const std::string key = line.name("a parameter");
    if (!given.insert(key).second) line.fail_at(key_at, quoted(key) + " is given twice");
    line.expect('=', "the parameter's name");
    recipe.parameters.emplace_back(key, line.real("a number"));
  }
  case_.values[operand] = std::move(recipe);
}

void CaseParser::seeds(Line& line) {
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string key = line.name("values=, blocks= or warps=");
    line.expect('=', "the name");
    uint64_t* const into = key == "values"   ? &case_.value_seed
                           : key == "blocks" ? &case_.block_seed
                           : key == "warps"  ? &case_.warp_seed
                                             : nullptr;
    if (into == nullptr) {
      line.fail_at(where, "unknown seed " + quoted(key) + "; expected values=, blocks= or warps=");
    }
    note("seeds." + key, where, line);
    *into = line.integer<uint64_t>("a seed");
  }
}

void CaseParser::blocks(Line& line) {
  line.skip_space();
  note("blocks", line.here(), line);
  do {
    const SourceLocation where = line.here();
    const int64_t first = line.integer<int64_t>("a block index");
    const int64_t last = line.accept('-') ? line.integer<int64_t>("a block index") : first;
    if (first < 0 || last < first) line.fail_at(where, "a range of blocks runs from low to high");
    if (static_cast<uint64_t>(last - first) >= kMostBlocks - case_.blocks.size()) {
      line.fail_at(where, "more than " + std::to_string(kMostBlocks) + " blocks named");
    }
    for (int64_t block = first;; ++block) {
      case_.blocks.push_back(block);
      if (block == last) break;
    }
  } while (line.accept(','));
  std::sort(case_.blocks.begin(), case_.blocks.end());
  case_.blocks.erase(std::unique(case_.blocks.begin(), case_.blocks.end()), case_.blocks.end());
}

/// True for text that is a number: decimal integer or real, inf, nan, with a sign.
bool is_number(const std::string& text) {
  std::string_view body = text;
  if (!body.empty() && (body[0] == '-' || body[0] == '+')) body.remove_prefix(1);
  if (body.empty() || body[0] == '-' || body[0] == '+') return false;
  double value = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  return error != std::errc::invalid_argument && end == body.data() + body.size();
}

void CaseParser::set(Line& line) {
  line.skip_space();
  const SourceLocation where = line.here();
  PointOverride point;
  point.operand = line.name("an operand's name");
  line.expect('[', "the operand's name");
  line.skip_space();
  if (!line.accept(']')) {
    do {
      line.skip_space();
      point.at.push_back(line.integer<int64_t>("a coordinate"));
      line.skip_space();
    } while (line.accept(','));
    line.expect(']', "the coordinates");
  }
  line.skip_space();
  line.expect('=', "']'");
  line.skip_space();
  const SourceLocation value_at = line.here();
  const std::string value = line.word("a value");
  if (value.starts_with("0x") || value.starts_with("0X")) {
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data() + 2, end, point.bits, 16);
    if (error != std::errc() || stop != end) {
      line.fail_at(value_at, "expected at most 16 hex digits, got " + quoted(value));
    }
  } else if (is_number(value)) {
    point.text = value;
  } else {
    line.fail_at(value_at, "expected a number, inf, nan or hex bits, got " + quoted(value));
  }
  note("set." + std::to_string(case_.overrides.size()), where, line);
  case_.overrides.push_back(std::move(point));
}

void CaseParser::property(Line& line) {
  line.skip_space();
  note("property", line.here(), line);
  PropertyCheck& property = case_.property;
  property.name = line.name("a property");
  if (line.accept('(')) {
    property.of = line.name("a dimension or an operand");
    line.expect(')', "the property's argument");
  }
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string key = line.name("what the other run changes");
    line.expect('=', "the name");
    note("property." + key, where, line);
    if (key == "poison") {
      property.poison = line.name("a kind of poison");
    } else {
      property.numbers[key] = line.integer<int64_t>("an integer");
    }
  }
}

void CaseParser::recorded(Line& line) {
  while (!line.done()) {
    const SourceLocation where = line.here();
    const std::string key = line.name("kind=, rule= or at=");
    line.expect('=', "the name");
    if (key == "kind") {
      case_.recorded.kind = line.name("a kind");
    } else if (key == "rule") {
      case_.recorded.rule = line.name("a rule");
    } else if (key == "at") {
      const std::string place = line.rest();
      const size_t colon = place.rfind(':');
      const char* const end = place.data() + place.size();
      int number = 0;
      if (colon == std::string::npos || colon == 0 ||
          std::from_chars(place.data() + colon + 1, end, number).ptr != end || number < 0) {
        line.fail_at(where, "expected at=FILE:LINE");
      }
      case_.recorded.file = place.substr(0, colon);
      case_.recorded.line = number;
    } else {
      line.fail_at(where, "unknown key " + quoted(key) + "; expected kind=, rule= or at=");
    }
  }
}

void CaseParser::statement(Line& line) {
  const SourceLocation where = line.here();
  const std::string keyword = line.name("a keyword");
  std::vector<std::string> known = {"end"};
  for (const Keyword& entry : kKeywords) {
    if (keyword == entry.name) {
      if (!entry.repeatable && !seen_.insert(keyword).second) {
        line.fail_at(where, quoted(keyword) + " is given twice");
      }
      (this->*entry.parse)(line);
      line.expect_end();
      return;
    }
    known.emplace_back(entry.name);
  }
  const std::string near = nearest_name(keyword, known);
  line.fail_at(where, "unknown keyword " + quoted(keyword) +
                          (near.empty() ? "" : " (did you mean '" + near + "'?)"));
}

void CaseParser::finish(int last_line) {
  if (case_.kernel.empty()) {
    throw InputError({file_, last_line, 1}, "a case needs a line 'kernel NAME'");
  }
  case_.places.at =
      std::make_shared<const std::map<std::string, SourceLocation>>(std::move(places_));
}

Case CaseParser::parse() {
  bool header = false;
  bool ended = false;
  int number = 0;
  for (size_t start = 0; start < text_.size();) {
    const size_t stop = std::min(text_.find('\n', start), text_.size());
    std::string_view body(text_.data() + start, stop - start);
    start = stop + 1;
    ++number;
    while (!body.empty() && is_space(body.back())) body.remove_suffix(1);
    Line line(body, file_, number);
    if (!header) {
      if (body.starts_with("assay-case ") && body != kHeader) {
        line.fail("case format " + quoted(body.substr(11)) + " is not known; this build reads 1");
      }
      if (body != kHeader) line.fail("not a case: the first line must be 'assay-case 1'");
      header = true;
      continue;
    }
    if (body.empty()) continue;
    if (ended) line.fail("text after 'end'");
    if (body[0] == '#') {
      body.remove_prefix(1);
      if (!body.empty() && body[0] == ' ') body.remove_prefix(1);
      case_.comments.emplace_back(body);
    } else if (body == "end") {
      ended = true;
    } else {
      if (line.done()) continue;
      statement(line);
    }
  }
  if (!header) throw InputError({file_, 1, 1}, "not a case: the file is empty");
  if (!ended) throw InputError({file_, number, 1}, "the case has no 'end' line: it is cut short");
  finish(number);
  return std::move(case_);
}

}  // namespace

SourceLocation CasePlaces::find(const std::string& key, const std::string& file) const {
  if (at != nullptr) {
    const auto found = at->find(key);
    if (found != at->end()) return found->second;
  }
  return {file, 0, 0};
}

Case parse_case(const std::string& text, const std::string& file) {
  return CaseParser(text, file).parse();
}

Case load_case(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError({path, 0, 0}, std::string("cannot read: ") + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad() || text.bad()) throw InputError({path, 0, 0}, "cannot read the file");
  return parse_case(text.str(), path);
}

}  // namespace assay
