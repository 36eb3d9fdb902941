/*
 * program.h - a module of PTX, decoded: instructions whose operands are places in a warp's memory.
 *
 * A register of a warp is a *slot*: 32 words of 4 or 8 bytes, one for each lane. Predicates are one word with a bit for
 * each lane, in a slot of 4 bytes. Registers of 16 bits have words of 4 bytes, whose upper half means nothing. A
 * constant is a slot too, so that no instruction has to ask what its operands are.
 *
 * Variables of a function (.local, .param) lie in each lane's own memory, shared ones in the block's. Addresses of all
 * spaces are addresses of the host, so that a conversion between spaces is a move.
 *
 * A Program may be run by many threads at a time. For tests only.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda/testing/ptx/ptx_text.h"

namespace turbine::ptx {

class Warp;
struct Instruction;

constexpr uint32_t kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

/* Runs an instruction for some lanes of a warp. */
using Run = void (*)(Warp& warp, const Instruction& instruction, uint32_t lanes);

/* What comes after an instruction. NEXT and MEET have a function `run`; the interpreter does all others itself. */
enum class Flow : uint8_t {
  NEXT,
  BRANCH,
  BRANCH_TABLE,
  CALL,
  RETURN,
  EXIT,
  TRAP,
  BLOCK_BARRIER,  // all threads of a block
  WARP_BARRIER,   // lanes of a warp, each at any barrier
  MEET,           // lanes of a warp, all at this instruction
  YIELD,          // waits for others
};

/* Twice the offset in the function's frame, or in the program's constants plus 1. */
using Slot = uint32_t;

/* Where an address starts. */
enum class Base : uint8_t { REGISTER, NOTHING, LOCAL, SHARED, PARAMETERS };

struct Instruction {
  Run run = nullptr;
  Flow flow = Flow::NEXT;
  Base base = Base::NOTHING;
  bool guard_negated = false;
  bool has_guard = false;
  uint8_t narrow_bits = 0, narrow_bits_out = 0;  // of cvt between integers
  Slot guard = 0;
  Slot d = 0, q = 0, a = 0, b = 0, c = 0, e = 0;
  Slot more[3] = {};         // of vectors: the second to fourth element
  uint64_t number = 0;       // what is added to an address, a special register, a barrier's number
  uint32_t target = 0;       // pc, index of a branch table or of a call
  uint32_t memo = 0;         // index of what a launch remembers about an access
  uint32_t line = 0;
};

struct CallSite {
  uint32_t callee;
  struct Copy {
    uint64_t from, to;  // offsets in the two functions' local memory
    uint64_t bytes;
  };
  std::vector<Copy> arguments, results;
};

/* Begin and size of memory, or of something in it. */
struct Range {
  uint64_t begin, bytes;
};

struct Function {
  std::string name;
  bool is_entry = false;
  uint32_t first = 0;  // pc
  uint32_t frame_bytes = 0;
  uint32_t frame_offset = 0;  // within a level of calls, where each function has a place: lanes may be in several
  uint64_t local_bytes = 0;
  /* Of an entry: all its parameters, and where each lies in them. */
  uint64_t parameter_bytes = 0;
  std::vector<Range> parameters;
};

class Program {
 public:
  /* Throws PtxError for PTX that cannot be run. */
  explicit Program(std::string text);
  Program(const Program&) = delete;

  /* Null if there is no such kernel. */
  const Function* kernel(const std::string& name) const;

  const std::vector<Instruction>& code() const { return code_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<CallSite>& calls() const { return calls_; }
  const std::vector<std::vector<uint32_t>>& branch_tables() const { return branch_tables_; }
  const uint8_t* constants() const { return constants_.data(); }
  const std::vector<Range>& variables() const { return ranges_; }
  uint64_t shared_bytes() const { return shared_bytes_; }
  uint32_t memos() const { return memos_; }
  /* Frames of all functions, and those of all levels of calls. */
  uint32_t level_bytes() const { return level_bytes_; }
  uint64_t stack_bytes() const { return stack_bytes_; }
  uint64_t local_stack_bytes() const { return local_stack_bytes_; }
  std::string line_text(uint32_t line) const { return parsed_.line_text(line); }

 private:
  friend class ProgramDecoder;

  ParsedModule parsed_;
  std::vector<Instruction> code_;
  std::vector<Function> functions_;
  std::vector<CallSite> calls_;
  std::vector<std::vector<uint32_t>> branch_tables_;
  std::vector<uint8_t> constants_;
  std::unique_ptr<uint64_t[]> memory_;  // of .global and .const variables
  std::vector<Range> ranges_;
  uint64_t shared_bytes_ = 0, stack_bytes_ = 0, local_stack_bytes_ = 0;
  uint32_t memos_ = 1, level_bytes_ = 0;
};

}  // namespace turbine::ptx
