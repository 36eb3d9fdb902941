/*
 * expression_routine.c - calls of functions of LANGUAGE turbine as expressions of a
 * program.
 *
 * A body's registers hold values of the program while its steps are followed once, at
 * planning: a step that sets a register only lets the register mean another expression.
 * Where an if sets registers, they mean a CASE behind it. So a body without loops becomes
 * expressions as if they were written in the query, except that what it uses twice is
 * computed once.
 *
 * A while becomes a LOOP. Its locals are the registers that its body sets.
 *
 * All that a step computes is an operand of the call's SEQUENCE, in the order of the steps:
 * what raises an error does so whether or not the value is used, as in interpreter.c.
 *
 * Called by expression.c. Must never translate a body that the user may not execute.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "utils/lsyscache.h"

#include "pg/convert/numeric_format.h"
#include "pg/language/routine.h"
#include "pg/planner/expression/expression_internal.h"

/* A loop is assumed to run so often; an expression to cost so much, in integer comparisons.
 */
#define ASSUMED_RUNS 16
#define NODE_COST 2
#define MOST_CALL_COST 1e7
/* Expressions that a call with loops may add: they cannot be spread over functions. */
#define MOST_IN_LOOPS 500
/* And any call: more does not fit a program. */
#define MOST_IN_CALL 3000

/* Values that are computed in this order. */
typedef struct Sequence
{
	TbValue *values;
	int		 count;
	int		 capacity;
} Sequence;

/* A call that is being translated. */
struct TbBody
{
	struct TbBody	*outer; /* whose body calls it; NULL: the query does */
	const TbRoutine *routine;
	TbValue			*registers;
	uint32			 first; /* expressions that were there before the outermost call */
	bool			 loops; /* it or what it calls has some */
	double			 cost;	/* of its loops so far, beyond their expressions */
};

static bool follow_steps(TbTranslator *t, List *steps, Sequence *sequence);

static void
append(Sequence *sequence, const TbValue *value)
{
	if (sequence->count == sequence->capacity)
	{
		sequence->capacity = Max(sequence->capacity * 2, 8);
		sequence->values = sequence->values == NULL ?
			palloc(sizeof(TbValue) * sequence->capacity) :
			repalloc(sequence->values, sizeof(TbValue) * sequence->capacity);
	}
	sequence->values[sequence->count++] = *value;
}

/* All of them, and then the value; the value alone if there are none. */
static TbValue
after(TbTranslator *t, const Sequence *sequence, const TbValue *value, bool loops,
	  bool closed)
{
	Sequence all = {0};
	TbValue	 result;

	if (sequence->count == 0)
		return *value;
	for (int i = 0; i < sequence->count; i++)
		append(&all, &sequence->values[i]);
	append(&all, value);
	result = tb_builder_expr(t->builder, TB_EXPR_SEQUENCE, value->info, closed ? 1 : 0,
							 all.count, all.values, value->nullable);
	result.display_scale = value->display_scale;
	result.display_max = value->display_max;
	/* What a numeric prints with is asked for by itself, and may depend on a loop, too. */
	if (loops && value->display_scale != TB_NONE)
	{
		all.values[all.count - 1] = tb_numeric_display(t, value);
		result.display_scale = tb_builder_expr(t->builder, TB_EXPR_SEQUENCE,
											   tb_simple_type(TB_TYPE_INT4), closed ? 1 : 0,
											   all.count, all.values,
											   all.values[all.count - 1].nullable)
								   .expr;
	}
	return result;
}

static TbValue
true_value(TbTranslator *t)
{
	return tb_literal(t, (Const *) makeBoolConst(true, false),
					  tb_simple_type(TB_TYPE_BOOL));
}

bool
tb_translate_register(TbTranslator *t, Var *var, TbValue *value)
{
	Assert(var->varno == TB_ROUTINE_VARNO && var->varattno <= t->body->routine->nregisters);
	*value = t->body->registers[var->varattno - 1];
	return true;
}

static bool
is_too_large(TbTranslator *t)
{
	uint32 size = tb_builder_size(t->builder) - t->body->first;
	bool   loops = false;

	for (const struct TbBody *b = t->body; b != NULL; b = b->outer)
		loops |= b->loops;
	if (size > MOST_IN_CALL || (loops && size > MOST_IN_LOOPS))
	{
		(void) tb_refuse(t, "function \"%s\" is too long for devices",
						 t->body->routine->name);
		return true;
	}
	return false;
}

/* The form that a register has in a loop, whatever it is set to. */
static bool
fixed_form(TbTranslator *t, const TbRegister *reg, TbTypeInfo *info)
{
	if (tb_type_of(reg->type, reg->typmod, info))
		return true;
	return tb_refuse(t,
					 "variable \"%s\" of a loop is a numeric without precision and scale",
					 reg->name != NULL ? reg->name : "");
}

/* A value in the form of a local. */
static TbValue
in_form(TbTranslator *t, const TbValue *value, TbTypeInfo info)
{
	TbValue result = *value;

	if (tb_type_is_numeric(info.type))
		result = tb_numeric_resize(t, value, info.type, info.scale);
	result.display_scale = TB_NONE;
	result.info = info;
	return result;
}

static bool
set_register(TbTranslator *t, const TbStep *step, Sequence *sequence)
{
	TbValue value;

	if (!tb_translate(t, step->expr, &value))
		return false;
	if (value.constant == NULL)
		append(sequence, &value);
	if (value.display_scale != TB_NONE)
	{
		TbValue display = tb_numeric_display(t, &value);

		append(sequence, &display);
	}
	t->body->registers[step->reg] = value;
	return true;
}

/* Registers that differ: CASE WHEN condition THEN theirs ELSE others END. */
static bool
choose_registers(TbTranslator *t, const TbValue *condition, const TbValue *theirs,
				 const TbValue *others, Sequence *sequence)
{
	const TbRoutine *routine = t->body->routine;

	for (int i = 0; i < routine->nregisters; i++)
	{
		TbValue values[2] = {theirs[i], others[i]};

		t->body->registers[i] = others[i];
		if (theirs[i].expr == others[i].expr)
			continue;
		/* Not set on one of the ways: it is a variable of that branch. */
		if (theirs[i].info.type == TB_TYPE_INVALID ||
			others[i].info.type == TB_TYPE_INVALID)
			continue;
		if (!tb_make_case(t, 1, condition, values, &t->body->registers[i]))
			return false;
		append(sequence, &t->body->registers[i]);
	}
	return true;
}

static bool
follow_if(TbTranslator *t, const TbStep *step, Sequence *sequence)
{
	Size	 size = sizeof(TbValue) * Max(t->body->routine->nregisters, 1);
	TbValue *before = palloc(size);
	TbValue *theirs = palloc(size);
	TbValue *others = palloc(size);
	Sequence then = {0};
	Sequence otherwise = {0};
	TbValue	 condition;
	TbValue	 effects[2];
	TbValue	 done = true_value(t);

	if (!tb_translate(t, step->expr, &condition))
		return false;
	/* Not NULL, so that all who ask for it ask the same. */
	condition = tb_builder_expr(t->builder, TB_EXPR_IS_TRUE, tb_simple_type(TB_TYPE_BOOL),
								0, 1, &condition, false);
	append(sequence, &condition);

	/* Both ways from here. */
	memcpy(before, t->body->registers, size);
	if (!follow_steps(t, step->steps, &then))
		return false;
	memcpy(theirs, t->body->registers, size);
	memcpy(t->body->registers, before, size);
	if (!follow_steps(t, step->otherwise, &otherwise))
		return false;
	memcpy(others, t->body->registers, size);

	/* What each of them computes, and what is known behind them. */
	effects[0] = after(t, &then, &done, false, false);
	effects[1] = after(t, &otherwise, &done, false, false);
	if (then.count > 0 || otherwise.count > 0)
	{
		TbValue args[3] = {condition, effects[0], effects[1]};
		TbValue effect = tb_builder_expr(t->builder, TB_EXPR_CASE,
										 tb_simple_type(TB_TYPE_BOOL), 0, 3, args, false);

		append(sequence, &effect);
	}
	return choose_registers(t, &condition, theirs, others, sequence);
}

/* The registers that steps set and that had values before. */
static void
find_changed(const TbTranslator *t, List *steps, bool *changed)
{
	ListCell *lc;

	foreach(lc, steps)
	{
		const TbStep *step = lfirst(lc);

		if (step->kind == TB_STEP_SET &&
			t->body->registers[step->reg].info.type != TB_TYPE_INVALID)
			changed[step->reg] = true;
		find_changed(t, step->steps, changed);
		find_changed(t, step->otherwise, changed);
	}
}

static bool
follow_while(TbTranslator *t, const TbStep *step, Sequence *sequence)
{
	const TbRoutine *routine = t->body->routine;
	bool			*changed = palloc0(sizeof(bool) * Max(routine->nregisters, 1));
	TbTypeInfo		*infos = palloc(sizeof(TbTypeInfo) * Max(routine->nregisters, 1));
	TbValue			*args;
	TbValue			 condition;
	TbValue			 effect;
	TbValue			 loop;
	Sequence		 body = {0};
	uint32			 first;
	uint32			 size = tb_builder_size(t->builder);
	double			 outer_cost = t->body->cost;
	int				 n = 0;
	int				 k = 0;

	/* What it changes are its locals. */
	t->body->cost = 0;
	find_changed(t, step->steps, changed);
	for (int i = 0; i < routine->nregisters; i++)
		n += changed[i] ? 1 : 0;
	first = tb_builder_add_locals(t->builder, n);
	if (first == TB_NONE)
		return tb_refuse(t, "loops with too many variables");
	args = palloc(sizeof(TbValue) * (2 * n + 2));
	for (int i = 0; i < routine->nregisters; i++)
	{
		if (!changed[i])
			continue;
		if (!fixed_form(t, &routine->registers[i], &infos[i]))
			return false;
		args[k] = in_form(t, &t->body->registers[i], infos[i]);
		t->body->registers[i] = tb_builder_local(t->builder, first + k, infos[i]);
		k++;
	}

	/* One run. */
	if (!tb_translate(t, step->expr, &condition) || !follow_steps(t, step->steps, &body))
		return false;
	effect = true_value(t);
	args[n] = condition;
	args[n + 1] = after(t, &body, &effect, false, false);
	k = 0;
	for (int i = 0; i < routine->nregisters; i++)
		if (changed[i])
			args[n + 2 + k++] = in_form(t, &t->body->registers[i], infos[i]);
	loop = tb_builder_expr(t->builder, TB_EXPR_LOOP, tb_simple_type(TB_TYPE_BOOL), first,
						   2 * n + 2, args, false);
	t->body->cost = outer_cost +
		ASSUMED_RUNS * (NODE_COST * (tb_builder_size(t->builder) - size) + t->body->cost);
	append(sequence, &loop);

	/* Behind it they have their last values. */
	k = 0;
	for (int i = 0; i < routine->nregisters; i++)
		if (changed[i])
			t->body->registers[i] = tb_builder_local(t->builder, first + k++, infos[i]);
	return true;
}

static bool
follow_steps(TbTranslator *t, List *steps, Sequence *sequence)
{
	ListCell *lc;

	check_stack_depth();
	foreach(lc, steps)
	{
		const TbStep *step = lfirst(lc);
		bool		  ok = false;

		switch (step->kind)
		{
			case TB_STEP_SET:
				ok = set_register(t, step, sequence);
				break;
			case TB_STEP_IF:
				ok = follow_if(t, step, sequence);
				break;
			case TB_STEP_WHILE:
				ok = follow_while(t, step, sequence);
				break;
		}
		if (!ok || is_too_large(t))
			return false;
	}
	return true;
}

/* The body of a call whose registers hold the arguments. */
static bool
follow_body(TbTranslator *t, TbValue *value)
{
	const TbRoutine *routine = t->body->routine;
	Sequence		 sequence = {0};
	TbValue			*conditions = palloc(sizeof(TbValue) * Max(routine->nargs, 1));
	int				 count = 0;
	TbTypeInfo		 boolean = tb_simple_type(TB_TYPE_BOOL);
	TbValue			 values[2];
	TbValue			 all;

	if (routine->strict)
		for (int i = 0; i < routine->nargs; i++)
			if (t->body->registers[i].nullable)
				conditions[count++] = tb_builder_expr(t->builder, TB_EXPR_IS_NOT_NULL,
													  boolean, 0, 1, &t->body->registers[i],
													  false);
	if (!follow_steps(t, routine->steps, &sequence) ||
		!tb_translate(t, routine->result, &values[0]))
		return false;
	*value = after(t, &sequence, &values[0], routine->has_loops, false);
	if (count == 0)
		return true;
	/* STRICT: no argument is NULL, or nothing of this is evaluated. */
	all = count == 1 ?
		conditions[0] :
		tb_builder_expr(t->builder, TB_EXPR_AND, boolean, 0, count, conditions, false);
	values[0] = *value;
	values[1] = tb_literal(t,
						   makeNullConst(exprType((Node *) routine->result), -1,
										 InvalidOid),
						   value->info);
	return tb_make_case(t, 1, &all, values, value);
}

/* The plan depends on the functions' bodies, and on the user who may execute them. */
static void
note_dependence(TbTranslator *t, const TbRoutine *routine)
{
	ListCell *lc;

	if (t->root == NULL)
		return;
	record_plan_function_dependency(t->root, routine->function);
	foreach(lc, routine->callees)
		record_plan_function_dependency(t->root, lfirst_oid(lc));
	t->root->glob->dependsOnRole = true;
}

bool
tb_translate_routine(TbTranslator *t, FuncExpr *call, TbValue *value)
{
	struct TbBody	 body = {.outer = t->body};
	const TbValue	*case_value = t->case_value;
	const TbRoutine *routine;
	Sequence		 args = {0};
	TbValue			 result;
	int				 nargs = 0;
	bool			 ok;
	ListCell		*lc;

	body.first = t->body != NULL ? t->body->first : tb_builder_size(t->builder);
	/* The arguments belong to whoever calls. */
	foreach(lc, call->args)
	{
		TbValue arg;

		if (!tb_translate(t, lfirst(lc), &arg))
			return false;
		append(&args, &arg);
		nargs++;
	}
	routine = tb_routine_of(call->funcid, call->inputcollid, NULL);
	if (!tb_routine_may_be_inlined(routine))
		return tb_refuse(t, "function \"%s\" depends on settings or rights of its own",
						 routine->name);
	Assert(nargs == routine->nargs);
	note_dependence(t, routine);

	/* Its body, with the arguments in its registers. */
	body.routine = routine;
	body.loops = routine->has_loops;
	body.registers = palloc0(sizeof(TbValue) * Max(routine->nregisters, 1));
	for (int i = 0; i < nargs; i++)
		body.registers[i] = args.values[i];
	t->body = &body;
	t->case_value = NULL;
	ok = follow_body(t, &result) && !is_too_large(t);
	t->body = body.outer;
	t->case_value = case_value;
	if (!ok)
		return false;
	*value = after(t, &args, &result, routine->has_loops,
				   routine->has_loops && body.outer == NULL);
	if (body.outer != NULL)
		body.outer->cost += body.cost;
	else if (routine->steps != NIL && value->expr >= body.first)
		/* Expressions that are used twice would count twice in the usual sum. */
		tb_builder_set_cost(t->builder, value,
							(uint32) Min(body.cost +
											 NODE_COST *
												 (tb_builder_size(t->builder) - body.first),
										 MOST_CALL_COST));
	return true;
}
