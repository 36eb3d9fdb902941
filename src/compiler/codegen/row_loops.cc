/*
 * row_loops.cc - emits sequences and loops: bodies of functions that have statements.
 *
 * A loop is a real loop within the evaluation of one row. Its locals are values that the loop carries, like the
 * number of its runs and the row's errors. What was evaluated inside is forgotten behind it, since it belongs to one
 * run; only the last values of its locals stay. A loop that nobody wants is jumped over.
 *
 * Called by RowEmitter::eval. Parts (row_parts.cc) never hold a piece of a loop, so locals need no frame.
 */
#include "compiler/codegen/loop_emitter.h"
#include "compiler/codegen/row_emitter.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

RowValue RowEmitter::local(uint32_t index) const {
  const auto found = locals_.find(index);
  if (found == locals_.end()) throw std::runtime_error("a local is used outside of its loop");
  return found->second;
}

/* (first, second, ..., last) */
RowValue RowEmitter::eval_sequence(const TbExpr& e, Value* active) {
  const bool outermost = e.index != 0 && !steps_;
  if (outermost) steps_ = ir_.getInt32(0);
  RowValue value;
  for (uint32_t arg : program_.args(e)) value = eval(arg, active);
  if (outermost) steps_ = nullptr;
  return value;
}

/*
 * locals = initial values;
 * while (condition && !errors) {
 *   if (steps++ == TB_MAX_STEPS) errors = TB_ERR_STEPS, break;
 *   effect;  locals = next values;
 * }
 *
 * Carried: value, null, and of texts the length, of each local; then steps and errors.
 */
RowValue RowEmitter::eval_loop(const TbExpr& e, Value* active) {
  const auto args = program_.args(e);
  const size_t n = (args.size() - 2) / 2;
  if (!steps_) throw std::runtime_error("a loop outside of a closed sequence");
  auto carry = [&](Carried& into, const RowValue& v) {
    into.push_back(v.value);
    into.push_back(v.null ? v.null : ir_.getFalse());
    if (v.length) into.push_back(v.length);
  };
  auto bind = [&](const Carried& from) {
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
      RowValue v;
      v.value = from[at++];
      v.null = from[at++];
      if (tb_type_is_text(program_.expr(args[k]).type)) v.length = from[at++];
      locals_[static_cast<uint32_t>(e.index + k)] = v;
    }
    steps_ = from[at];
    return from[at + 1];
  };

  Carried initial;
  for (size_t k = 0; k < n; k++) carry(initial, eval(args[k], active));
  Value* errors_before = errors_;
  initial.push_back(steps_);
  initial.push_back(ir_.getInt32(0));

  auto run = [&]() -> Carried {
    const LoadScope scope(*this);
    // A part loads parameters where it first reads them.
    const std::vector<RowValue> params = params_;
    Value* errors_tested = nullptr;
    auto test = [&](const Carried& now) -> Value* {
      errors_ = bind(now);
      Value* wanted = truth(eval(args[n], active));
      Value* over = ir_.CreateICmpUGE(steps_, ir_.getInt32(TB_MAX_STEPS));
      add_errors(ir_.getInt32(TB_ERR_STEPS), ir_.CreateAnd(wanted, over));
      errors_tested = errors_;
      return ir_.CreateAnd(wanted, ir_.CreateICmpEQ(errors_tested, ir_.getInt32(0)));
    };
    auto body = [&](const Carried&) -> Carried {
      steps_ = ir_.CreateAdd(steps_, ir_.getInt32(1));
      errors_ = nullptr;
      eval(args[n + 1], active);
      Carried next;
      for (size_t k = 0; k < n; k++) carry(next, eval(args[n + 2 + k], active));
      next.push_back(steps_);
      next.push_back(errors_ ? errors_ : ir_.getInt32(0));
      return next;
    };
    Carried last = emit_while(*this, "body", initial, test, body);
    last.back() = errors_tested;
    params_ = params;
    return last;
  };
  errors_ = nullptr;
  const Carried last = active ? emit_if(*this, "loop", active, initial, run) : run();
  errors_ = or_maybe(errors_before, bind(last));
  RowValue done;
  done.value = ir_.getTrue();
  return done;
}

}  // namespace turbine
