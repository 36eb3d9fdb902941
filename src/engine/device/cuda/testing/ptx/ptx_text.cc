/*
 * ptx_text.cc - parses PTX text, as LLVM's NVPTX back end writes it.
 *
 * A recursive descent over tokens. Names of registers and parameters are looked up in scopes, since a name may be
 * declared again in the braces of a call or of inline assembly.
 */
#include "engine/device/cuda/testing/ptx/ptx_text.h"

#include <cctype>
#include <cstdlib>
#include <utility>

namespace turbine::ptx {

namespace {

struct Token {
  enum Kind : uint8_t { NAME, NUMBER, STRING, SIGN, END };
  Kind kind = END;
  std::string_view text;
  uint32_t line = 0;
  uint64_t number = 0;
};

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

/* Cuts the text into tokens; comments are dropped. */
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  uint32_t line = 1;
  size_t at = 0;
  const auto take = [&](Token::Kind kind, size_t end, uint64_t number) {
    tokens.push_back({kind, text.substr(at, end - at), line, number});
    at = end;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') line++;
    if (std::isspace(static_cast<unsigned char>(c))) {
      at++;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = std::min(text.find("*/", at), text.size());
      for (; at < end; at++) line += text[at] == '\n';
      at = std::min(at + 2, text.size());
    } else if (c == '"') {
      take(Token::STRING, std::min(text.find('"', at + 1), text.size() - 1) + 1, 0);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t end = at;
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) end++;
      const std::string digits(text.substr(at, end - at));
      // 0f and 0d: the bits of a float or a double.
      const bool bits = digits.size() > 2 && digits[0] == '0' &&
                        std::string_view("fFdD").find(digits[1]) != std::string_view::npos;
      take(Token::NUMBER, end,
           bits ? std::strtoull(digits.c_str() + 2, nullptr, 16) : std::strtoull(digits.c_str(), nullptr, 0));
    } else if (starts_name(c)) {
      size_t end = at;
      while (end < text.size() && in_name(text[end])) end++;
      take(Token::NAME, end, 0);
    } else {
      take(Token::SIGN, at + 1, 0);
    }
  }
  tokens.push_back({Token::END, {}, line, 0});
  return tokens;
}

std::vector<std::string_view> split_at_dots(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool space_of(std::string_view word, Space* space) {
  static const std::map<std::string_view, Space> kSpaces = {
      {".global", Space::GLOBAL}, {".const", Space::CONSTANT}, {".shared", Space::SHARED},
      {".local", Space::LOCAL},   {".param", Space::PARAM},
  };
  const auto found = kSpaces.find(word);
  if (found == kSpaces.end()) return false;
  *space = found->second;
  return true;
}

class PtxParser {
 public:
  explicit PtxParser(std::string text) {
    module_.text = std::move(text);
    tokens_ = tokens_of(module_.text);
  }

  ParsedModule parse() {
    while (peek().kind != Token::END) directive();
    return std::move(module_);
  }

 private:
  struct Scope {
    std::map<std::string, int, std::less<>> registers;  // "%r<" for a numbered family: the index of its first
    std::map<std::string, uint64_t, std::less<>> counts;
    std::map<std::string, int, std::less<>> variables;
  };

  const Token& peek() const { return tokens_[at_]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view text) {
    if (peek().kind == Token::STRING || peek().text != text) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected " + std::string(text));
  }
  std::string name() {
    if (peek().kind != Token::NAME) fail("expected a name");
    return std::string(next().text);
  }
  uint64_t number() {
    const bool negative = accept("-");
    if (peek().kind != Token::NUMBER) fail("expected a number");
    const uint64_t value = next().number;
    return negative ? 0 - value : value;
  }
  [[noreturn]] void fail(const std::string& why) const { throw PtxError(module_.line_text(peek().line) + ": " + why); }

  /* One directive at the level of the module. */
  void directive() {
    Space space;
    if (accept(".version") || accept(".target") || accept(".address_size")) {
      const uint32_t line = peek().line;
      while (peek().line == line && peek().kind != Token::END) next();
    } else if (accept(".visible") || accept(".weak") || accept(".common") || accept(";")) {
      // Nothing is linked to it.
    } else if (peek().text == ".entry" || peek().text == ".func") {
      function();
    } else if (peek().kind == Token::NAME && space_of(peek().text, &space)) {
      module_.variables.push_back(variable());
      expect(";");
    } else {
      fail("unknown directive");
    }
  }

  /* `.global .align 8 .b8 name[16] = {1, 2}`, without what ends it. */
  Variable variable() {
    Variable variable;
    if (!space_of(peek().text, &variable.space)) fail("expected a state space");
    next();
    uint32_t element = 0;
    while (peek().kind == Token::NAME && peek().text[0] == '.') {
      if (accept(".align")) {
        variable.alignment = number();
        continue;
      }
      const uint32_t bytes = type_bytes(peek().text.substr(1));
      if (bytes != 0)
        element = bytes;
      else if (peek().text != ".ptr" && peek().text != ".global" && peek().text != ".shared" && peek().text != ".const")
        fail("unknown attribute of a variable");
      next();
    }
    if (element == 0) fail("a variable without a type");
    variable.name = name();
    variable.alignment = std::max<uint64_t>(variable.alignment, element);
    variable.bytes = element;
    while (accept("[")) {
      if (peek().kind == Token::NUMBER) variable.bytes *= number();
      expect("]");
    }
    if (accept("=")) {
      uint64_t offset = 0;
      initializer(&variable, element, &offset);
    }
    return variable;
  }

  void initializer(Variable* variable, uint32_t element, uint64_t* offset) {
    if (accept("{")) {
      while (!accept("}")) {
        initializer(variable, element, offset);
        accept(",");
      }
      return;
    }
    Initializer value{*offset, 0, element, {}};
    if (peek().kind == Token::NUMBER || peek().text == "-") {
      value.value = number();
    } else {
      const bool generic = accept("generic");
      if (generic) expect("(");
      value.symbol = name();
      if (generic) expect(")");
      if (accept("+")) value.value = number();
    }
    variable->values.push_back(std::move(value));
    *offset += element;
  }

  /* A function or kernel, its declaration too, which is passed over. */
  void function() {
    ParsedFunction parsed;
    parsed.is_entry = next().text == ".entry";
    function_ = &parsed;
    scopes_.assign(1, Scope{});
    if (peek().text == "(") parsed.results = parameters();
    parsed.name = name();
    if (peek().text == "(") parsed.parameters = parameters();
    while (peek().text != "{" && peek().text != ";") {
      // .maxntid 256, 1, 1 and the like promise something to the driver's compiler.
      if (peek().kind == Token::END) fail("a function without an end");
      next();
    }
    if (accept(";")) return;
    expect("{");
    body();
    module_.functions.push_back(std::move(parsed));
    function_ = nullptr;
  }

  std::vector<int> parameters() {
    std::vector<int> found;
    expect("(");
    while (!accept(")")) {
      found.push_back(declare(variable()));
      accept(",");
    }
    return found;
  }

  int declare(Variable variable) {
    const int index = static_cast<int>(function_->variables.size());
    scopes_.back().variables[variable.name] = index;
    function_->variables.push_back(std::move(variable));
    return index;
  }

  void body() {
    for (size_t depth = scopes_.size(); scopes_.size() >= depth;) {
      Space space;
      if (accept("{")) {
        scopes_.emplace_back();
      } else if (accept("}")) {
        if (scopes_.size() == depth) return;
        scopes_.pop_back();
      } else if (accept(".reg")) {
        registers();
      } else if (accept(".pragma")) {
        next();
        expect(";");
      } else if (peek().kind == Token::NAME && space_of(peek().text, &space)) {
        declare(variable());
        expect(";");
      } else if (peek().kind == Token::NAME && tokens_[at_ + 1].text == ":") {
        label();
      } else {
        statement();
      }
    }
  }

  void label() {
    const std::string label = name();
    expect(":");
    if (accept(".branchtargets")) {
      std::vector<std::string>& targets = function_->branch_targets[label];
      do targets.push_back(name());
      while (accept(","));
      expect(";");
      return;
    }
    function_->labels[label] = static_cast<uint32_t>(function_->statements.size());
  }

  /* `.reg .b32 %r<12>, %x;` */
  void registers() {
    const std::string type = name().substr(1);
    if (type != "pred" && type_bytes(type) == 0) fail("unknown type of registers");
    do {
      const std::string prefix = name();
      const int first = static_cast<int>(function_->registers.size());
      uint64_t count = 1;
      if (accept("<")) {
        count = number();
        expect(">");
        scopes_.back().registers[prefix + "<"] = first;
        scopes_.back().counts[prefix + "<"] = count;
      } else {
        scopes_.back().registers[prefix] = first;
      }
      function_->registers.resize(function_->registers.size() + count, Register{type});
    } while (accept(","));
    expect(";");
  }

  int find_register(std::string_view name) const {
    size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) digits--;
    const std::string family = std::string(name.substr(0, digits)) + "<";
    for (size_t i = scopes_.size(); i-- > 0;) {
      const Scope& scope = scopes_[i];
      if (const auto found = scope.registers.find(name); found != scope.registers.end()) return found->second;
      const auto found = digits < name.size() ? scope.registers.find(family) : scope.registers.end();
      if (found == scope.registers.end()) continue;
      const uint64_t index = std::strtoull(std::string(name.substr(digits)).c_str(), nullptr, 10);
      if (index < scope.counts.at(family)) return found->second + static_cast<int>(index);
    }
    return -1;
  }

  int find_variable(std::string_view name) const {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].variables.find(name); found != scopes_[i].variables.end()) return found->second;
    return -1;
  }

  void statement() {
    Statement statement;
    statement.line = peek().line;
    if (accept("@")) {
      statement.guard_negated = accept("!");
      statement.guard = find_register(name());
      if (statement.guard < 0) fail("unknown predicate");
    }
    if (peek().kind != Token::NAME) fail("expected an instruction");
    statement.opcode = split_at_dots(next().text);
    // `ld.global.L1::evict_last.u32`
    while (accept(":")) {
      expect(":");
      if (peek().kind != Token::NAME) fail("expected an instruction");
      for (std::string_view part : split_at_dots(next().text)) statement.opcode.push_back(part);
    }
    while (!accept(";")) {
      statement.operands.push_back(operand());
      if (peek().text != ";") expect(",");
    }
    function_->statements.push_back(std::move(statement));
  }

  /* A register, a special register, or the name of something. */
  Operand named() {
    Operand operand;
    operand.name = name();
    operand.reg = find_register(operand.name);
    if (operand.reg >= 0) {
      operand.kind = Operand::REGISTER;
    } else if (operand.name[0] == '%') {
      operand.kind = Operand::SPECIAL;
    } else {
      operand.kind = Operand::SYMBOL;
      operand.variable = find_variable(operand.name);
    }
    return operand;
  }

  Operand operand() {
    Operand operand;
    if (accept("[")) {
      if (peek().kind == Token::NAME)
        operand = named();
      else
        operand.number = number();
      operand.kind = Operand::ADDRESS;
      if (accept("+")) operand.number = number();
      expect("]");
    } else if (peek().text == "{" || peek().text == "(") {
      const std::string_view end = next().text == "{" ? "}" : ")";
      operand.kind = Operand::GROUP;
      while (!accept(end)) {
        operand.elements.push_back(this->operand());
        accept(",");
      }
    } else if (peek().kind == Token::NUMBER || peek().text == "-") {
      operand.number = number();
    } else {
      const bool negated = accept("!");
      operand = named();
      operand.negated = negated;
      if (accept("|"))
        operand.second = find_register(name());
      else if (operand.kind == Operand::SYMBOL && accept("+"))
        operand.number = number();
    }
    return operand;
  }

  ParsedModule module_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  ParsedFunction* function_ = nullptr;
  std::vector<Scope> scopes_;
};

}  // namespace

std::string ParsedModule::line_text(uint32_t line) const {
  size_t begin = 0;
  for (uint32_t i = 1; i < line && begin != std::string::npos; i++) begin = text.find('\n', begin) + 1;
  std::string found = text.substr(begin, text.find('\n', begin) - begin);
  for (char& c : found)
    if (c == '\t') c = ' ';
  found.erase(0, found.find_first_not_of(' '));
  return "line " + std::to_string(line) + ": " + found;
}

ParsedModule parse_ptx(std::string text) { return PtxParser(std::move(text)).parse(); }

uint32_t type_bytes(std::string_view type) {
  static const std::map<std::string_view, uint32_t> kTypes = {
      {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"b32", 4},
      {"u32", 4}, {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8},
  };
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? 0 : found->second;
}

}  // namespace turbine::ptx
