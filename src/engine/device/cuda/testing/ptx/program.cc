/*
 * program.cc - decodes statements of PTX to instructions.
 *
 * Each family of opcodes has a function here. It says which parts of the opcode mean nothing to an interpreter, and
 * hands the rest to the tables of operations.h. What is in no table fails the whole module, so that no kernel can go
 * wrong for want of an instruction.
 */
#include "engine/device/cuda/testing/ptx/program.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_map>

#include "engine/device/cuda/testing/ptx/operations.h"

namespace turbine::ptx {

namespace {

constexpr uint64_t kLocalAlignment = 16;
/* Levels of functions that call each other in a circle. */
constexpr uint64_t kMostLevels = 64;

uint64_t aligned(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

Width width_of_type(std::string_view type) { return type == "pred" ? 'p' : type_bytes(type) == 8 ? '8' : '4'; }

std::string joined(const std::vector<std::string_view>& parts) {
  std::string text;
  for (std::string_view part : parts) {
    if (!text.empty()) text += '.';
    text += part;
  }
  return text;
}

/* Parts of memory instructions that say how a GPU should go about it, or what is true of every access here. */
const std::set<std::string_view, std::less<>>& manners() {
  static const std::set<std::string_view, std::less<>> kManners = {
      "volatile", "relaxed",    "acquire",     "release",      "acq_rel",     "weak", "cta",  "gpu", "sys",
      "ca",       "cg",         "cs",          "lu",           "cv",          "nc",   "wb",   "wt",  "L1",
      "L2",       "evict_last", "evict_first", "evict_normal", "no_allocate", "64B",  "128B", "256B"};
  return kManners;
}

bool is_space(std::string_view part, Space* space) {
  static const std::map<std::string_view, Space> kSpaces = {{"global", Space::GLOBAL},
                                                            {"const", Space::CONSTANT},
                                                            {"shared", Space::SHARED},
                                                            {"local", Space::LOCAL},
                                                            {"param", Space::PARAM}};
  const auto found = kSpaces.find(part);
  if (found == kSpaces.end()) return false;
  *space = found->second;
  return true;
}

}  // namespace

class ProgramDecoder {
 public:
  explicit ProgramDecoder(Program& program) : program_(program), parsed_(program.parsed_) {}

  void decode() {
    place_variables();
    for (size_t i = 0; i < parsed_.functions.size(); i++) function_index_[parsed_.functions[i].name] = i;
    for (const ParsedFunction& function : parsed_.functions) place_function(function);
    for (size_t i = 0; i < parsed_.functions.size(); i++) decode_function(i);
    measure_stack();
  }

 private:
  struct Placed {
    std::vector<uint32_t> offsets;       // of registers in the frame
    std::vector<uint64_t> places;        // of variables in local memory, shared memory or parameters
  };

  [[noreturn]] void fail(const std::string& why) const {
    throw PtxError(parsed_.line_text(statement_->line) + ": " + why);
  }

  /* Memory of the module's own variables, with what is in it at first. */
  void place_variables() {
    uint64_t bytes = 0;
    for (const Variable& variable : parsed_.variables) {
      if (variable.space == Space::SHARED) {
        shared_places_[variable.name] = place_shared(variable);
        continue;
      }
      bytes = aligned(bytes, std::max<uint64_t>(variable.alignment, kLocalAlignment));
      global_places_[variable.name] = bytes;
      bytes += variable.bytes;
    }
    program_.memory_ = std::make_unique<uint64_t[]>(bytes / 8 + 1);
    const uint64_t begin = reinterpret_cast<uint64_t>(program_.memory_.get());
    for (auto& [name, place] : global_places_) place += begin;
    for (const Variable& variable : parsed_.variables) {
      if (variable.space == Space::SHARED) continue;
      const uint64_t place = global_places_.at(variable.name);
      program_.ranges_.push_back({place, variable.bytes});
      for (const Initializer& part : variable.values) {
        uint64_t value = part.value;
        if (!part.symbol.empty()) {
          const auto found = global_places_.find(part.symbol);
          if (found == global_places_.end()) throw PtxError("unknown symbol in an initializer: " + part.symbol);
          value += found->second;
        }
        std::memcpy(reinterpret_cast<void*>(place + part.offset), &value, part.bytes);
      }
    }
  }

  uint64_t place_shared(const Variable& variable) {
    const uint64_t place = aligned(program_.shared_bytes_, std::max<uint64_t>(variable.alignment, kLocalAlignment));
    program_.shared_bytes_ = place + variable.bytes;
    return place;
  }

  /* Where a function's registers and variables are. */
  void place_function(const ParsedFunction& parsed) {
    Function function;
    function.name = parsed.name;
    function.is_entry = parsed.is_entry;
    Placed placed;
    uint32_t frame = 8;  // no register is at 0, which means none
    for (const Register& reg : parsed.registers) {
      placed.offsets.push_back(frame);
      frame += width_of_type(reg.type) == 'p' ? 4 : width_of_type(reg.type) == '8' ? kLanes * 8 : kLanes * 4;
      // Words of 8 bytes are aligned.
      frame = static_cast<uint32_t>(aligned(frame, 8));
    }
    for (const Variable& variable : parsed.variables) {
      if (variable.space == Space::SHARED) {
        placed.places.push_back(place_shared(variable));
      } else if (parsed.is_entry && is_parameter(parsed, placed.places.size())) {
        const uint64_t place = aligned(function.parameter_bytes, variable.alignment);
        placed.places.push_back(place);
        function.parameters.push_back({place, variable.bytes});
        function.parameter_bytes = place + variable.bytes;
      } else {
        const uint64_t place = aligned(function.local_bytes, std::max<uint64_t>(variable.alignment, 8));
        placed.places.push_back(place);
        function.local_bytes = place + variable.bytes;
      }
    }
    function.local_bytes = aligned(function.local_bytes, kLocalAlignment);
    function.frame_bytes = frame;
    placed_.push_back(std::move(placed));
    program_.functions_.push_back(std::move(function));
  }

  static bool is_parameter(const ParsedFunction& parsed, size_t variable) {
    return std::count(parsed.parameters.begin(), parsed.parameters.end(), static_cast<int>(variable)) != 0;
  }

  void decode_function(size_t index) {
    function_ = &parsed_.functions[index];
    decoded_ = &program_.functions_[index];
    placed_now_ = &placed_[index];
    decoded_->first = static_cast<uint32_t>(program_.code_.size());
    std::vector<uint32_t> starts;
    branches_.clear();
    for (const Statement& statement : function_->statements) {
      starts.push_back(static_cast<uint32_t>(program_.code_.size()));
      statement_ = &statement;
      decode_statement();
    }
    // A label may stand at the end; and no lane runs beyond it.
    starts.push_back(static_cast<uint32_t>(program_.code_.size()));
    Instruction& end = emit();
    end.flow = function_->is_entry ? Flow::EXIT : Flow::RETURN;
    end.has_guard = false;
    const auto pc_of = [&](const std::string& label) {
      const auto found = function_->labels.find(label);
      if (found == function_->labels.end()) fail("unknown label " + label);
      return starts[found->second];
    };
    for (const auto& [pc, label] : branches_) {
      statement_ = &function_->statements[0];
      Instruction& branch = program_.code_[pc];
      if (branch.flow == Flow::BRANCH) {
        branch.target = pc_of(label);
        continue;
      }
      std::vector<uint32_t> table;
      for (const std::string& target : function_->branch_targets.at(label)) table.push_back(pc_of(target));
      branch.target = static_cast<uint32_t>(program_.branch_tables_.size());
      program_.branch_tables_.push_back(std::move(table));
    }
  }

  Instruction& emit() {
    Instruction instruction;
    instruction.line = statement_ ? statement_->line : 0;
    if (statement_ && statement_->guard >= 0) {
      instruction.has_guard = true;
      instruction.guard_negated = statement_->guard_negated;
      instruction.guard = slot_of_register(statement_->guard, 'p');
    }
    program_.code_.push_back(instruction);
    return program_.code_.back();
  }

  Width width_of_register(int reg) const { return width_of_type(function_->registers[static_cast<size_t>(reg)].type); }

  Slot slot_of_register(int reg, Width width) const {
    if (width_of_register(reg) != width) fail("a register of another width is expected");
    return placed_now_->offsets[static_cast<size_t>(reg)] * 2;
  }

  Slot slot_of_constant(uint64_t value, Width width) {
    const auto key = std::make_pair(value, width);
    const auto found = constants_.find(key);
    if (found != constants_.end()) return found->second;
    std::vector<uint8_t>& pool = program_.constants_;
    const Slot slot = static_cast<Slot>(pool.size() * 2 + 1);
    const auto append = [&](uint64_t word, size_t bytes) {
      const size_t at = pool.size();
      pool.resize(at + bytes);
      std::memcpy(pool.data() + at, &word, bytes);
    };
    if (width == 'p')
      append(value != 0 ? kAllLanes : 0, 8);
    else
      for (uint32_t lane = 0; lane < kLanes; lane++) append(value, width == '8' ? 8 : 4);
    constants_[key] = slot;
    return slot;
  }

  /* A register nobody else has. */
  Slot temporary(Width width) {
    const Slot slot = decoded_->frame_bytes * 2;
    decoded_->frame_bytes += width == 'p' ? 8 : kLanes * (width == '8' ? 8 : 4);
    return slot;
  }

  /* Fills in where the address of a variable starts. */
  void set_base(Instruction* instruction, const Operand& operand) {
    instruction->number = operand.number;
    if (operand.variable >= 0) {
      const size_t index = static_cast<size_t>(operand.variable);
      const Space space = function_->variables[index].space;
      instruction->number += placed_now_->places[index];
      instruction->base = space == Space::SHARED                                   ? Base::SHARED
                          : function_->is_entry && is_parameter(*function_, index) ? Base::PARAMETERS
                                                                                   : Base::LOCAL;
      return;
    }
    if (const auto shared = shared_places_.find(operand.name); shared != shared_places_.end()) {
      instruction->base = Base::SHARED;
      instruction->number += shared->second;
      return;
    }
    const auto global = global_places_.find(operand.name);
    if (global == global_places_.end()) fail("unknown symbol " + operand.name);
    instruction->base = Base::NOTHING;
    instruction->number += global->second;
  }

  /* What an operand is read from; an instruction before may put it there. */
  Slot source(const Operand& operand, Width width) {
    if (operand.negated) {
      const Slot slot = temporary('p');
      Instruction& inverted = emit();
      inverted.run = predicate_operation("not");
      inverted.d = slot;
      inverted.a = slot_of_register(operand.reg, 'p');
      return slot;
    }
    switch (operand.kind) {
      case Operand::REGISTER: return slot_of_register(operand.reg, width);
      case Operand::NUMBER: return slot_of_constant(operand.number, width);
      case Operand::SPECIAL: {
        uint64_t index;
        Width own;
        if (!find_special(operand.name, &index, &own)) fail("unknown register " + operand.name);
        const Slot slot = temporary(width);
        Instruction& read = emit();
        read.run = special_read(width);
        read.d = slot;
        read.number = index;
        return slot;
      }
      case Operand::SYMBOL: {
        if (width != '8') fail("an address has 64 bits");
        const Slot slot = temporary('8');
        Instruction& address = emit();
        address.run = address_of();
        address.d = slot;
        set_base(&address, operand);
        return slot;
      }
      default: fail("operand of an unexpected kind");
    }
  }

  Slot result(const Operand& operand, Width width) {
    // `_`: nobody wants it.
    if (operand.kind == Operand::SYMBOL && operand.name == "_") return temporary(width);
    if (operand.kind != Operand::REGISTER) fail("a register is expected for the result");
    return slot_of_register(operand.reg, width);
  }

  const Operand& operand(size_t index) const {
    if (index >= statement_->operands.size()) fail("operands are missing");
    return statement_->operands[index];
  }

  /* Operands to slots, for an operation of a table. `q` may take a second result. */
  void emit_operation(const Operation& operation, size_t most_operands) {
    if (statement_->operands.size() > most_operands) fail("too many operands");
    Slot slots[4] = {};
    for (size_t i = 0; i < operation.sources.size(); i++) slots[i] = source(operand(i + 1), operation.sources[i]);
    Instruction& instruction = emit();
    instruction.run = operation.run;
    instruction.d = result(operand(0), operation.result);
    if (operand(0).second >= 0) instruction.q = slot_of_register(operand(0).second, 'p');
    instruction.a = slots[0], instruction.b = slots[1], instruction.c = slots[2], instruction.e = slots[3];
  }

  void decode_statement() {
    static const std::unordered_map<std::string_view, void (ProgramDecoder::*)()> kFamilies = {
        {"mov", &ProgramDecoder::decode_move},
        {"cvt", &ProgramDecoder::decode_conversion},
        {"cvta", &ProgramDecoder::decode_address_conversion},
        {"setp", &ProgramDecoder::decode_comparison},
        {"and", &ProgramDecoder::decode_logic},
        {"or", &ProgramDecoder::decode_logic},
        {"xor", &ProgramDecoder::decode_logic},
        {"not", &ProgramDecoder::decode_logic},
        {"ld", &ProgramDecoder::decode_access},
        {"st", &ProgramDecoder::decode_access},
        {"atom", &ProgramDecoder::decode_atomic},
        {"red", &ProgramDecoder::decode_atomic},
        {"shfl", &ProgramDecoder::decode_exchange},
        {"vote", &ProgramDecoder::decode_exchange},
        {"match", &ProgramDecoder::decode_exchange},
        {"redux", &ProgramDecoder::decode_exchange},
        {"activemask", &ProgramDecoder::decode_exchange},
        {"bar", &ProgramDecoder::decode_barrier},
        {"barrier", &ProgramDecoder::decode_barrier},
        {"bra", &ProgramDecoder::decode_branch},
        {"brx", &ProgramDecoder::decode_branch},
        {"call", &ProgramDecoder::decode_call},
        {"ret", &ProgramDecoder::decode_end},
        {"exit", &ProgramDecoder::decode_end},
        {"trap", &ProgramDecoder::decode_end},
        {"nanosleep", &ProgramDecoder::decode_end},
        // The host's memory is in order, and there are no caches to fill.
        {"membar", &ProgramDecoder::decode_nothing},
        {"fence", &ProgramDecoder::decode_nothing},
        {"prefetch", &ProgramDecoder::decode_nothing},
        {"prefetchu", &ProgramDecoder::decode_nothing},
    };
    const auto family = kFamilies.find(statement_->opcode[0]);
    if (family != kFamilies.end())
      (this->*family->second)();
    else
      decode_arithmetic();
  }

  void decode_nothing() {}

  void decode_arithmetic() {
    const Operation* operation = find_arithmetic(joined(statement_->opcode));
    if (!operation) fail("unknown instruction");
    emit_operation(*operation, operation->sources.size() + 1);
  }

  void decode_move() {
    const std::string_view type = statement_->opcode.back();
    if (statement_->opcode.size() != 2) fail("unknown instruction");
    const Width width = width_of_type(type);
    if (type == "pred") {
      const Slot from = source(operand(1), 'p');
      Instruction& move = emit();
      move.run = predicate_operation("mov");
      move.d = result(operand(0), 'p');
      move.a = from;
      return;
    }
    const bool packs = operand(1).kind == Operand::GROUP, unpacks = operand(0).kind == Operand::GROUP;
    if (packs || unpacks) {
      const std::vector<Operand>& parts = operand(packs ? 1 : 0).elements;
      if (parts.size() != 2 || (type != "b64" && type != "b32")) fail("unknown instruction");
      const Slot from = packs ? 0 : source(operand(1), width);
      const Slot low = packs ? source(parts[0], '4') : result(parts[0], '4');
      const Slot high = packs ? source(parts[1], '4') : result(parts[1], '4');
      Instruction& move = emit();
      move.run = packs ? pack_of(width) : unpack_of(width);
      if (packs) {
        move.a = low, move.b = high;
        move.d = result(operand(0), width);
      } else {
        move.d = low, move.q = high;
        move.a = from;
      }
      return;
    }
    decode_arithmetic();
  }

  void decode_address_conversion() {
    const std::vector<std::string_view>& opcode = statement_->opcode;
    const bool known = opcode.back() == "u64" && std::all_of(opcode.begin() + 1, opcode.end() - 1, [](auto part) {
                         Space space;
                         return part == "to" || is_space(part, &space);
                       });
    if (!known) fail("unknown instruction");
    emit_operation(*find_arithmetic("mov.b64"), 2);
  }

  void decode_conversion() {
    const std::vector<std::string_view>& opcode = statement_->opcode;
    if (const Operation* operation = find_conversion(joined(opcode))) {
      emit_operation(*operation, 2);
      return;
    }
    const auto is_integer = [](std::string_view type) { return type_bytes(type) != 0 && type[0] != 'f'; };
    if (opcode.size() != 3 || !is_integer(opcode[1]) || !is_integer(opcode[2])) fail("unknown instruction");
    if (operand(0).kind != Operand::REGISTER) fail("a register is expected for the result");
    const Width to = width_of_register(operand(0).reg);
    const Width from = operand(1).kind == Operand::REGISTER ? width_of_register(operand(1).reg)
                                                            : width_of_type(opcode[2]);
    const Slot slot = source(operand(1), from);
    Instruction& conversion = emit();
    conversion.run = integer_conversion(opcode[2][0] == 's', opcode[1][0] == 's', from, to);
    conversion.narrow_bits = static_cast<uint8_t>(type_bytes(opcode[2]) * 8);
    conversion.narrow_bits_out = static_cast<uint8_t>(type_bytes(opcode[1]) * 8);
    conversion.d = result(operand(0), to);
    conversion.a = slot;
  }

  /* setp.lt.and.s32 %p|%q, a, b, !%c: a comparison, and up to three steps with predicates. */
  void decode_comparison() {
    std::vector<std::string_view> opcode = statement_->opcode;
    std::string_view combined;
    if (opcode.size() == 4) {
      combined = opcode[2];
      if (combined != "and" && combined != "or" && combined != "xor") fail("unknown instruction");
      opcode.erase(opcode.begin() + 2);
    }
    const Operation* operation = find_arithmetic(joined(opcode));
    if (!operation || opcode.size() != 3) fail("unknown instruction");
    const int second = operand(0).second;
    if (combined.empty() && second < 0) {
      emit_operation(*operation, 3);
      return;
    }
    const Slot a = source(operand(1), operation->sources[0]), b = source(operand(2), operation->sources[1]);
    const Slot with = combined.empty() ? 0 : source(operand(3), 'p');
    const Slot compared = temporary('p');
    Instruction& comparison = emit();
    comparison.run = operation->run;
    comparison.d = compared, comparison.a = a, comparison.b = b;
    const auto combine = [&](std::string_view name, Slot to, Slot left, Slot right) {
      Instruction& step = emit();
      step.run = predicate_operation(name);
      step.d = to, step.a = left, step.b = right;
    };
    if (second >= 0) {
      const Slot other = temporary('p');
      combine("not", other, compared, 0);
      if (combined.empty())
        combine("mov", slot_of_register(second, 'p'), other, 0);
      else
        combine(combined, slot_of_register(second, 'p'), other, with);
    }
    if (combined.empty())
      combine("mov", result(operand(0), 'p'), compared, 0);
    else
      combine(combined, result(operand(0), 'p'), compared, with);
  }

  void decode_logic() {
    if (statement_->opcode.back() != "pred") {
      decode_arithmetic();
      return;
    }
    const bool one = statement_->opcode[0] == "not";
    const Slot a = source(operand(1), 'p'), b = one ? 0 : source(operand(2), 'p');
    Instruction& instruction = emit();
    instruction.run = predicate_operation(statement_->opcode[0]);
    instruction.d = result(operand(0), 'p');
    instruction.a = a, instruction.b = b;
  }

  void set_address(Instruction* instruction, const Operand& address) {
    if (address.kind != Operand::ADDRESS) fail("an address is expected");
    instruction->memo = program_.memos_++;
    if (address.reg >= 0) {
      instruction->base = Base::REGISTER;
      instruction->a = slot_of_register(address.reg, '8');
      instruction->number = address.number;
    } else if (address.name.empty()) {
      instruction->base = Base::NOTHING;
      instruction->number = address.number;
    } else {
      set_base(instruction, address);
    }
  }

  void decode_access() {
    const std::vector<std::string_view>& opcode = statement_->opcode;
    const bool store = opcode[0] == "st";
    unsigned count = 1;
    for (size_t i = 1; i + 1 < opcode.size(); i++) {
      Space space;
      if (opcode[i] == "v2" || opcode[i] == "v4")
        count = opcode[i] == "v2" ? 2 : 4;
      else if (!is_space(opcode[i], &space) && !manners().count(opcode[i]))
        fail("unknown instruction");
    }
    const Operand& values = operand(store ? 1 : 0);
    const std::vector<Operand> elements = values.kind == Operand::GROUP ? values.elements
                                                                        : std::vector<Operand>{values};
    if (elements.size() != count) fail("a vector of another size is expected");
    // A constant that is stored has the type's width.
    Width width = width_of_type(opcode.back());
    for (const Operand& element : elements)
      if (element.kind == Operand::REGISTER) width = width_of_register(element.reg);
    Slot slots[4] = {};
    for (unsigned i = 0; i < count; i++) slots[i] = store ? source(elements[i], width) : result(elements[i], width);
    Instruction& access = emit();
    access.run = store ? store_of(opcode.back(), width, count) : load_of(opcode.back(), width, count);
    if (!access.run) fail("unknown instruction");
    access.d = slots[0];
    std::copy(slots + 1, slots + 4, access.more);
    set_address(&access, operand(store ? 0 : 1));
  }

  void decode_atomic() {
    const std::vector<std::string_view>& opcode = statement_->opcode;
    const bool returns = opcode[0] == "atom";
    std::string_view operation;
    for (size_t i = 1; i + 1 < opcode.size(); i++) {
      Space space;
      if (is_space(opcode[i], &space) || manners().count(opcode[i])) continue;
      if (!operation.empty()) fail("unknown instruction");
      operation = opcode[i];
    }
    const Width width = width_of_type(opcode.back());
    const size_t first = returns ? 1 : 0;
    const Slot b = source(operand(first + 1), width);
    const Slot c = operation == "cas" ? source(operand(first + 2), width) : b;
    const Slot d = returns ? result(operand(0), width) : temporary(width);
    Instruction& atomic = emit();
    atomic.run = atomic_of(operation, opcode.back());
    if (!atomic.run) fail("unknown instruction");
    atomic.d = d, atomic.b = b, atomic.c = c;
    set_address(&atomic, operand(first));
  }

  void decode_exchange() {
    std::vector<std::string_view> opcode = statement_->opcode;
    const auto sync = std::find(opcode.begin(), opcode.end(), "sync");
    const bool meets = sync != opcode.end();
    if (meets) opcode.erase(sync);
    const Operation* operation = find_exchange(joined(opcode));
    if (!operation || meets == (opcode[0] == "activemask")) fail("unknown instruction");
    // The last operand says which lanes meet.
    const Slot mask = meets ? source(operand(operation->sources.size() + 1), '4') : 0;
    emit_operation(*operation, operation->sources.size() + 2);
    Instruction& exchange = program_.code_.back();
    exchange.flow = meets ? Flow::MEET : Flow::NEXT;
    exchange.e = mask;
  }

  void decode_barrier() {
    const std::string opcode = joined(statement_->opcode);
    if (opcode == "bar.warp.sync") {
      const Slot mask = source(operand(0), '4');
      Instruction& barrier = emit();
      barrier.flow = Flow::WARP_BARRIER;
      barrier.e = mask;
      return;
    }
    static const std::set<std::string> kBarriers = {"bar.sync",     "barrier.sync",     "barrier.sync.aligned",
                                                    "bar.cta.sync", "barrier.cta.sync", "barrier.cta.sync.aligned"};
    if (!kBarriers.count(opcode) || statement_->operands.size() != 1 || operand(0).kind != Operand::NUMBER)
      fail("unknown instruction");
    Instruction& barrier = emit();
    barrier.flow = Flow::BLOCK_BARRIER;
    barrier.number = operand(0).number;
  }

  void decode_branch() {
    if (statement_->opcode[0] == "brx") {
      if (operand(1).kind != Operand::SYMBOL || !function_->branch_targets.count(operand(1).name))
        fail("unknown branch targets");
      const Slot index = source(operand(0), '4');
      branches_.emplace_back(program_.code_.size(), operand(1).name);
      Instruction& branch = emit();
      branch.flow = Flow::BRANCH_TABLE;
      branch.a = index;
      return;
    }
    if (operand(0).kind != Operand::SYMBOL) fail("a label is expected");
    branches_.emplace_back(program_.code_.size(), operand(0).name);
    emit().flow = Flow::BRANCH;
  }

  /* call.uni (result), function, (argument, argument); each part in parentheses may be left out. */
  void decode_call() {
    const std::vector<Operand>& operands = statement_->operands;
    const size_t name = !operands.empty() && operands[0].kind == Operand::GROUP ? 1 : 0;
    const auto callee = function_index_.find(operand(name).name);
    if (callee == function_index_.end()) fail("call of an unknown function");
    const ParsedFunction& target = parsed_.functions[callee->second];
    const Placed& there = placed_[callee->second];
    CallSite site{static_cast<uint32_t>(callee->second), {}, {}};
    const auto copies = [&](const std::vector<Operand>& actual, const std::vector<int>& formal, bool in) {
      if (actual.size() != formal.size()) fail("arguments do not fit the function");
      std::vector<CallSite::Copy> found;
      for (size_t i = 0; i < actual.size(); i++) {
        if (actual[i].variable < 0) fail("an argument that is no parameter");
        const size_t variable = static_cast<size_t>(formal[i]);
        const uint64_t here = placed_now_->places[static_cast<size_t>(actual[i].variable)];
        found.push_back(
            {in ? here : there.places[variable], in ? there.places[variable] : here, target.variables[variable].bytes});
      }
      return found;
    };
    site.results = copies(name == 1 ? operands[0].elements : std::vector<Operand>{}, target.results, false);
    site.arguments = copies(operands.size() > name + 1 ? operand(name + 1).elements : std::vector<Operand>{},
                            target.parameters, true);
    Instruction& call = emit();
    call.flow = Flow::CALL;
    call.target = static_cast<uint32_t>(program_.calls_.size());
    program_.calls_.push_back(std::move(site));
    callees_[function_index_.at(function_->name)].insert(callee->second);
  }

  void decode_end() {
    const std::string_view name = statement_->opcode[0];
    Instruction& end = emit();
    if (name == "nanosleep")
      end.flow = Flow::YIELD;
    else if (name == "trap")
      end.flow = Flow::TRAP;
    else
      end.flow = name == "exit" || function_->is_entry ? Flow::EXIT : Flow::RETURN;
  }

  /* Places of frames, and the longest chain of calls; a circle is gone round kMostLevels times. */
  void measure_stack() {
    for (Function& function : program_.functions_) {
      function.frame_offset = program_.level_bytes_;
      program_.level_bytes_ += static_cast<uint32_t>(aligned(function.frame_bytes, 64));
    }
    struct Chain {
      uint64_t levels = 0, local = 0;
    };
    std::vector<Chain> longest(program_.functions_.size());
    std::vector<int> state(program_.functions_.size(), 0);
    bool circle = false;
    const std::function<void(size_t)> visit = [&](size_t index) {
      state[index] = 1;
      for (size_t callee : callees_[index]) {
        if (state[callee] == 1) circle = true;
        if (state[callee] == 0) visit(callee);
        longest[index].levels = std::max(longest[index].levels, longest[callee].levels);
        longest[index].local = std::max(longest[index].local, longest[callee].local);
      }
      longest[index].levels++;
      longest[index].local += program_.functions_[index].local_bytes;
      state[index] = 2;
    };
    for (size_t i = 0; i < state.size(); i++)
      if (state[i] == 0) visit(i);
    const uint64_t times = circle ? kMostLevels : 1;
    for (const Chain& chain : longest) {
      program_.stack_bytes_ = std::max(program_.stack_bytes_, chain.levels * times * program_.level_bytes_);
      program_.local_stack_bytes_ = std::max(program_.local_stack_bytes_, aligned(chain.local * times, 64));
    }
  }

  Program& program_;
  const ParsedModule& parsed_;
  std::map<std::string, uint64_t, std::less<>> shared_places_, global_places_;
  std::unordered_map<std::string, size_t> function_index_;
  std::map<size_t, std::set<size_t>> callees_;
  std::map<std::pair<uint64_t, Width>, Slot> constants_;
  std::vector<Placed> placed_;

  /* Of the function and statement that are decoded now. */
  const ParsedFunction* function_ = nullptr;
  Function* decoded_ = nullptr;
  const Placed* placed_now_ = nullptr;
  const Statement* statement_ = nullptr;
  std::vector<std::pair<size_t, std::string>> branches_;
};

Program::Program(std::string text) : parsed_(parse_ptx(std::move(text))) { ProgramDecoder(*this).decode(); }

const Function* Program::kernel(const std::string& name) const {
  for (const Function& function : functions_)
    if (function.is_entry && function.name == name) return &function;
  return nullptr;
}

}  // namespace turbine::ptx
