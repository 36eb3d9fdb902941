/*
 * interpreter.c - see interpreter.h. It is what the language means: devices must give the
 * same.
 *
 * PostgreSQL's executor evaluates expressions, which read the registers of the routine as
 * columns of a row. Here are the steps between them.
 *
 * Memory: an expression is evaluated in memory that the next step frees. What a register is
 * set to is copied, and its former value freed, so that a loop needs no more memory than
 * its variables do. Types that are passed by value need neither.
 *
 * Steps of loops are counted over the outermost call and all that it calls. The count is a
 * static variable, which the end of a transaction resets if an error has ended the call.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "turbine/program.h"

#include "pg/language/interpreter.h"

/* A step, with its expression ready to run. */
typedef struct PreparedStep
{
	TbStepKind			 kind;
	int					 reg;
	ExprState			*expr;
	struct PreparedStep *steps;
	int					 nsteps;
	struct PreparedStep *otherwise;
	int					 notherwise;
} PreparedStep;

struct TbInterpreter
{
	const char	   *name;
	int				nargs;
	int				nregisters;
	bool			calls;	 /* other routines */
	bool			copies;	 /* some register is passed by reference */
	int16		   *lengths; /* of registers */
	bool		   *byval;
	bool		   *owned;	 /* the register's value is a copy in `values` */
	PreparedStep   *steps;
	int				nsteps;
	ExprState	   *result;
	int16			result_length;
	bool			result_byval;
	ExprContext	   *econtext; /* with the registers as its scan tuple */
	TupleTableSlot *row;
	MemoryContext	values;	  /* copies, during a run */
};

/* Of the outermost call that may call others. */
static bool counting = false;
static int	steps_left = TB_MAX_STEPS;

static void
end_counting(XactEvent event, void *arg)
{
	counting = false;
}

static void
end_counting_of_part(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
					 void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		counting = false;
}

/* ---- Preparation ---- */

static ExprState *
prepare_expr(Expr *expr)
{
	return ExecInitExpr(copyObject(expr), NULL);
}

static PreparedStep *
prepare_steps(List *steps, int *count)
{
	PreparedStep *prepared = palloc0(sizeof(PreparedStep) * Max(list_length(steps), 1));

	check_stack_depth();
	*count = list_length(steps);
	for (int i = 0; i < *count; i++)
	{
		const TbStep *step = list_nth(steps, i);

		prepared[i].kind = step->kind;
		prepared[i].reg = step->reg;
		prepared[i].expr = prepare_expr(step->expr);
		prepared[i].steps = prepare_steps(step->steps, &prepared[i].nsteps);
		prepared[i].otherwise = prepare_steps(step->otherwise, &prepared[i].notherwise);
	}
	return prepared;
}

static TupleDesc
describe_registers(const TbRoutine *routine)
{
	TupleDesc desc = CreateTemplateTupleDesc(routine->nregisters);

	for (int i = 0; i < routine->nregisters; i++)
	{
		TupleDescInitEntry(desc, i + 1, NULL, routine->registers[i].type,
						   routine->registers[i].typmod, 0);
		TupleDescInitEntryCollation(desc, i + 1, routine->registers[i].collation);
	}
	return desc;
}

TbInterpreter *
tb_interpreter_create(const TbRoutine *routine, MemoryContext memory)
{
	static bool	   registered = false;
	MemoryContext  old = MemoryContextSwitchTo(memory);
	TbInterpreter *ip = palloc0(sizeof(TbInterpreter));

	if (!registered)
	{
		RegisterXactCallback(end_counting, NULL);
		RegisterSubXactCallback(end_counting_of_part, NULL);
		registered = true;
	}
	ip->name = pstrdup(routine->name);
	ip->nargs = routine->nargs;
	ip->nregisters = routine->nregisters;
	ip->calls = routine->calls != NIL;
	ip->lengths = palloc(sizeof(int16) * Max(ip->nregisters, 1));
	ip->byval = palloc(sizeof(bool) * Max(ip->nregisters, 1));
	ip->owned = palloc0(sizeof(bool) * Max(ip->nregisters, 1));
	for (int i = 0; i < ip->nregisters; i++)
	{
		ip->lengths[i] = routine->registers[i].length;
		ip->byval[i] = routine->registers[i].byval;
		ip->copies |= !ip->byval[i];
	}
	ip->steps = prepare_steps(routine->steps, &ip->nsteps);
	ip->result = prepare_expr(routine->result);
	get_typlenbyval(exprType((Node *) routine->result), &ip->result_length,
					&ip->result_byval);
	ip->econtext = CreateStandaloneExprContext();
	ip->row = MakeSingleTupleTableSlot(describe_registers(routine), &TTSOpsVirtual);
	ip->econtext->ecxt_scantuple = ExecStoreAllNullTuple(ip->row);
	ip->values = AllocSetContextCreate(memory, "pg_turbine values", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
	return ip;
}

/* ---- Runs ---- */

static void
set_value(TbInterpreter *ip, int reg, Datum value, bool isnull)
{
	Datum *values = ip->row->tts_values;

	if (!ip->byval[reg])
	{
		Datum		  old_value = values[reg];
		MemoryContext old;

		if (!isnull)
		{
			old = MemoryContextSwitchTo(ip->values);
			value = datumCopy(value, false, ip->lengths[reg]);
			MemoryContextSwitchTo(old);
		}
		if (ip->owned[reg])
			pfree(DatumGetPointer(old_value));
		ip->owned[reg] = !isnull;
	}
	values[reg] = value;
	ip->row->tts_isnull[reg] = isnull;
}

static bool
is_true(TbInterpreter *ip, ExprState *condition)
{
	bool  isnull;
	Datum value = ExecEvalExprSwitchContext(condition, ip->econtext, &isnull);

	return !isnull && DatumGetBool(value);
}

static void
count_step(const TbInterpreter *ip)
{
	CHECK_FOR_INTERRUPTS();
	if (steps_left-- <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("function \"%s\" takes too many steps", ip->name),
				 errdetail("Loops run their bodies at most %d times in a call.",
						   TB_MAX_STEPS)));
}

static void
run_steps(TbInterpreter *ip, const PreparedStep *steps, int nsteps)
{
	for (int i = 0; i < nsteps; i++)
	{
		const PreparedStep *step = &steps[i];
		bool				isnull;
		Datum				value;

		switch (step->kind)
		{
			case TB_STEP_SET:
				value = ExecEvalExprSwitchContext(step->expr, ip->econtext, &isnull);
				set_value(ip, step->reg, value, isnull);
				break;
			case TB_STEP_IF:
				if (is_true(ip, step->expr))
					run_steps(ip, step->steps, step->nsteps);
				else
					run_steps(ip, step->otherwise, step->notherwise);
				break;
			case TB_STEP_WHILE:
				while (is_true(ip, step->expr))
				{
					count_step(ip);
					run_steps(ip, step->steps, step->nsteps);
				}
				break;
		}
		ResetExprContext(ip->econtext);
	}
}

Datum
tb_interpreter_run(TbInterpreter *ip, const NullableDatum *args, bool *isnull)
{
	bool  outermost = !counting;
	Datum result;

	if (outermost)
	{
		steps_left = TB_MAX_STEPS;
		counting = ip->calls;
	}
	/* An error has left the values of the last run. */
	if (ip->copies)
	{
		MemoryContextReset(ip->values);
		memset(ip->owned, 0, sizeof(bool) * ip->nregisters);
	}
	for (int i = 0; i < ip->nargs; i++)
	{
		ip->row->tts_values[i] = args[i].value;
		ip->row->tts_isnull[i] = args[i].isnull;
	}
	run_steps(ip, ip->steps, ip->nsteps);
	result = ExecEvalExprSwitchContext(ip->result, ip->econtext, isnull);
	if (!*isnull && !ip->result_byval)
		result = datumCopy(result, false, ip->result_length);
	ResetExprContext(ip->econtext);
	if (outermost)
		counting = false;
	return result;
}
