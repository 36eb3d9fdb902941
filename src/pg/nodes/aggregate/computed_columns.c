/*
 * computed_columns.c - see computed_columns.h.
 *
 * Planning looks for what a device can group by: large parts of the expression if it has
 * them, since these have fewer values than their columns. Below CASE and the like only
 * columns, which can not raise. What is equal must look the same to PostgreSQL's functions:
 * no floats, whose -0 and 0 are one group. Numerics that print differently are noticed when
 * groups come back.
 *
 * The expressions lie in custom_scan_tlist, where the planner leaves them as they are, and
 * get their columns here. Owns the expressions' states. Called by analyze.c and exec.c.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"

#include "pg/nodes/aggregate/computed_columns.h"
#include "pg/planner/program/output_column.h"
#include "turbine/mutant.h"

typedef struct Finder
{
	TbTranslator *t;
	List		 *keys;
	List		**inputs;
	bool		  conditional; /* below something that evaluates it for some rows only */
} Finder;

static bool find_column_walker(Node *node, Finder *finder);

/* Whether a device can group by it, and equal values are alike. */
static bool
is_input(TbTranslator *t, Expr *expr)
{
	TbValue		value;
	int32		padding;
	const char *reason;

	if (!tb_translate(t, expr, &value))
		return false;
	if (value.info.type == TB_TYPE_FLOAT4 || value.info.type == TB_TYPE_FLOAT8)
		return tb_refuse(
			t, "an expression of floating-point numbers, whose 0 and -0 are equal");
	return tb_output_padding(expr, &value, &padding, &reason) || tb_refuse(t, "%s", reason);
}

static bool
is_conditional(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_BoolExpr:
		case T_MinMaxExpr:
		case T_NullIfExpr:
			return true;
		default:
			return false;
	}
}

/* Whether a part of the expression may be computed for each row of the input. */
static bool
may_be_whole(const Finder *finder, Node *node)
{
	return !finder->conditional && !IsA(node, RelabelType) && !IsA(node, CaseWhen) &&
		!is_conditional(node) && contain_var_clause(node);
}

static bool
find_below(Node *node, Finder *finder)
{
	bool outer = finder->conditional;
	bool failed;

	finder->conditional = outer || is_conditional(node);
	failed = expression_tree_walker(node, find_column_walker, finder);
	finder->conditional = outer;
	return failed;
}

/* True if some part can be no input, with the translator's reason. */
static bool
find_column_walker(Node *node, Finder *finder)
{
	if (node == NULL || IsA(node, Const) || IsA(node, Param))
		return false;
	if (!IsA(node, List) &&
		(list_member(finder->keys, node) || list_member(*finder->inputs, node)))
		return false;
	if (IsA(node, Var))
	{
		if (!is_input(finder->t, (Expr *) node))
			return true;
		*finder->inputs = lappend(*finder->inputs, node);
		return false;
	}
	if (!IsA(node, List) && may_be_whole(finder, node) &&
		is_input(finder->t, (Expr *) node))
	{
		*finder->inputs = lappend(*finder->inputs, node);
		return false;
	}
	return find_below(node, finder);
}

/* What the executor evaluates anywhere and any number of times. */
static bool
has_other_nodes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) || IsA(node, GroupingFunc) || IsA(node, WindowFunc) ||
		IsA(node, PlaceHolderVar) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		IsA(node, CurrentOfExpr))
		return true;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup != 0)
		return true;
	return expression_tree_walker(node, has_other_nodes, context);
}

bool
tb_computed_inputs(TbTranslator *t, Expr *expr, List *keys, List **inputs)
{
	Finder finder = {.t = t, .keys = keys, .inputs = inputs};

	if (contain_volatile_functions((Node *) expr) ||
		expression_returns_set((Node *) expr) || has_other_nodes((Node *) expr, NULL))
		return false;
	/* Of a column of a kind that a device groups by otherwise, it is the input itself. */
	if (IsA(expr, Var))
		return !find_column_walker((Node *) expr, &finder);
	return !find_below((Node *) expr, &finder);
}

Expr *
tb_hidden_key(Expr *expr)
{
	return (Expr *) makeRelabelType(expr, exprType((Node *) expr),
									exprTypmod((Node *) expr), exprCollation((Node *) expr),
									COERCE_IMPLICIT_CAST);
}

struct TbComputedColumns
{
	ExprContext *econtext;
	int			 nkeys;		/* of the device */
	int			 ncomputed; /* keys behind them */
	ExprState  **computed;
	ExprState	*filter;	/* NULL: none */
	int			 noutputs;
	uint64		 dropped;
};

typedef struct Resolver
{
	const List *tlist;
	int			nkeys;
} Resolver;

static bool
is_key(Node *node, const Expr *key)
{
	return equal(node, key) ||
		(IsA(key, RelabelType) && equal(node, ((const RelabelType *) key)->arg));
}

/* Parts that are keys of the device become columns of the scan tuple. */
static Node *
resolve(Node *node, Resolver *resolver)
{
	if (node == NULL)
		return NULL;
	for (int i = 0; i < resolver->nkeys && !IsA(node, List); i++)
	{
		const TargetEntry *entry = list_nth_node(TargetEntry, resolver->tlist, i);

		if (is_key(node, entry->expr))
			return (Node *) makeVar(INDEX_VAR, i + 1, exprType(node), exprTypmod(node),
									exprCollation(node), 0);
	}
	if (IsA(node, Var))
		elog(ERROR, "a computed column reads what no group has");
	return expression_tree_mutator(node, resolve, resolver);
}

/* The expression of a column of the scan tuple, of which filters are wrapped like hidden
 * keys. */
static Expr *
expression_of(const CustomScan *plan, int column, int nkeys, bool wrapped)
{
	Resolver resolver = {.tlist = plan->custom_scan_tlist, .nkeys = nkeys};
	Expr	*expr = list_nth_node(TargetEntry, plan->custom_scan_tlist, column)->expr;

	if (wrapped)
		expr = castNode(RelabelType, expr)->arg;
	return (Expr *) resolve((Node *) expr, &resolver);
}

TbComputedColumns *
tb_computed_columns_begin(CustomScanState *css, const TbOutput *outputs, int noutputs,
						  int nkeys)
{
	const CustomScan  *plan = (CustomScan *) css->ss.ps.plan;
	TbComputedColumns *columns = palloc0(sizeof(TbComputedColumns));
	List			  *filters = NIL;

	columns->computed = palloc0(sizeof(ExprState *) * Max(noutputs, 1));
	for (int i = nkeys; i < noutputs; i++)
	{
		/* A key that no row gives a value is wrapped as well. */
		bool wrapped = outputs[i].kind == TB_OUT_GROUP_FILTER || outputs[i].second != 0;

		if (outputs[i].kind == TB_OUT_COMPUTED_KEY)
			columns->computed[columns->ncomputed++] = ExecInitExpr(expression_of(plan, i,
																				 nkeys,
																				 wrapped),
																   &css->ss.ps);
		else if (outputs[i].kind == TB_OUT_GROUP_FILTER)
			filters = lappend(filters, expression_of(plan, i, nkeys, wrapped));
	}
	if (columns->ncomputed == 0 && filters == NIL)
		return NULL;
	columns->econtext = css->ss.ps.ps_ExprContext;
	columns->nkeys = nkeys;
	columns->noutputs = noutputs;
	if (filters != NIL)
		columns->filter = ExecInitQual(filters, &css->ss.ps);
	return columns;
}

bool
tb_computed_columns_add(TbComputedColumns *columns, TupleTableSlot *slot)
{
	ExprContext *econtext = columns->econtext;

	/* The columns behind are not known yet; nothing reads them. */
	memset(slot->tts_isnull + columns->nkeys, true,
		   sizeof(bool) * (columns->noutputs + 1 - columns->nkeys));
	ExecClearTuple(slot);
	econtext->ecxt_scantuple = ExecStoreVirtualTuple(slot);
	if (!TB_MUTANT(no_group_filter) && !ExecQual(columns->filter, econtext))
	{
		columns->dropped++;
		return false;
	}
	for (int i = 0; i < columns->ncomputed; i++)
	{
		int column = columns->nkeys + i;

		slot->tts_values[column] = ExecEvalExprSwitchContext(columns->computed[i], econtext,
															 &slot->tts_isnull[column]);
	}
	return true;
}

bool
tb_computed_keys_are_alike(TupleTableSlot *stored, TupleTableSlot *added, int first)
{
	TupleDesc desc = added->tts_tupleDescriptor;

	for (int key = first; key < desc->natts; key++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, key);
		bool			  isnull;
		Datum			  value = slot_getattr(stored, key + 1, &isnull);

		if (!isnull &&
			!datum_image_eq(value, added->tts_values[key], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

uint64
tb_computed_columns_dropped(const TbComputedColumns *columns)
{
	return columns != NULL ? columns->dropped : 0;
}
