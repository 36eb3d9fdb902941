/*
 * ptx_text.h - PTX as text, parsed: variables, functions, statements with their operands.
 *
 * Knows the grammar, and which register, variable or label a name means. It does not know what an instruction does:
 * that is program.cc, which makes instructions of statements. For tests only.
 */
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace turbine::ptx {

/* PTX that this interpreter cannot run. The message has the line's number and text. */
class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Space : uint8_t { GENERIC, GLOBAL, CONSTANT, SHARED, LOCAL, PARAM };

struct Register {
  std::string type;  // "pred", "b32", "u64", "f64", ...
};

struct Initializer {
  uint64_t offset;
  uint64_t value;     // added to the address of `symbol` if there is one
  uint32_t bytes;
  std::string symbol;
};

struct Variable {
  std::string name;
  Space space = Space::GENERIC;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  std::vector<Initializer> values;  // all other bytes are 0
};

struct Operand {
  enum Kind : uint8_t { REGISTER, SPECIAL, NUMBER, SYMBOL, ADDRESS, GROUP };
  Kind kind = NUMBER;
  bool negated = false;      // !%p
  int reg = -1;              // REGISTER, and ADDRESS of a register: index into ParsedFunction::registers
  int second = -1;           // of `%r1|%p2`
  int variable = -1;         // SYMBOL or ADDRESS of a variable of the function: index into its variables
  uint64_t number = 0;       // NUMBER; ADDRESS and SYMBOL: what is added
  std::string name;          // SPECIAL, SYMBOL, ADDRESS
  std::vector<Operand> elements;  // {a, b} and (a, b)
};

struct Statement {
  uint32_t line = 0;
  int guard = -1;  // a predicate register
  bool guard_negated = false;
  std::vector<std::string_view> opcode;  // the parts between dots
  std::vector<Operand> operands;
};

struct ParsedFunction {
  std::string name;
  bool is_entry = false;
  std::vector<int> results, parameters;  // indices of variables
  std::vector<Register> registers;
  std::vector<Variable> variables;  // .param, .local and .shared of this function
  std::vector<Statement> statements;
  std::map<std::string, uint32_t, std::less<>> labels;  // index of the statement behind
  std::map<std::string, std::vector<std::string>, std::less<>> branch_targets;
};

struct ParsedModule {
  std::string text;  // what opcodes and messages refer to
  std::vector<Variable> variables;
  std::vector<ParsedFunction> functions;

  /* "line 12: add.s32 %r1, ...": for messages. */
  std::string line_text(uint32_t line) const;
};

/* Throws PtxError. */
ParsedModule parse_ptx(std::string text);

/* Bytes of "u32", "b8", "f64", ...; 0 for what is no such type. */
uint32_t type_bytes(std::string_view type);

}  // namespace turbine::ptx
