/*
 * plain_evaluation.c - see plain_evaluation.h.
 *
 * Owns the figures: nanoseconds on one core, of values that are in its caches. Must never
 * evaluate anything. Called by plain_path_time.c for PostgreSQL's paths, and by GpuScan's
 * planning for filters that stay with PostgreSQL.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg/planner/plain_evaluation.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* A function of procost 1 whose arguments are passed by value. */
#define FUNCTION_NS 12.0

/* Besides, each argument that is a numeric, and each that is a text. */
#define NUMERIC_NS 20.0
#define TEXT_NS 25.0

/* A pattern: each byte of the text that it is looked for in. */
#define LIKE_BYTE_NS 1.5
#define REGEX_BYTE_NS 5.0

/* To a type through a text. */
#define COERCED_NS 150.0

/* A value among the elements of an array: PostgreSQL hashes those of so many, and looks at
 * one after another of fewer. */
#define HASHED_ELEMENTS 9
#define HASHED_NS 30.0

/* An attribute of the tuple up to the last one that is needed. */
#define ATTRIBUTE_NS 2.0

/* Bytes of a text that nobody has statistics of. */
#define UNKNOWN_WIDTH 32

typedef struct Evaluation
{
	PlannerInfo *root;
	double		 ns;
} Evaluation;

static double
arguments_ns(const List *arguments)
{
	double	  ns = 0;
	ListCell *lc;

	foreach(lc, arguments)
	{
		Oid type;

		if (IsA(lfirst(lc), Const))
			continue;
		type = getBaseType(exprType(lfirst(lc)));
		if (type == NUMERICOID)
			ns += NUMERIC_NS;
		else if (TypeCategory(type) == TYPCATEGORY_STRING)
			ns += TEXT_NS;
	}
	return ns;
}

static double
function_ns(const Evaluation *evaluation, Oid function, Node *call, const List *arguments)
{
	QualCost cost = {0};

	add_function_cost(evaluation->root, function, call, &cost);
	return cost.per_tuple / Max(cpu_operator_cost, 1e-9) * FUNCTION_NS +
		arguments_ns(arguments);
}

static int32
width_of(const PlannerInfo *root, Node *text)
{
	List *vars = pull_var_clause(text,
								 PVC_INCLUDE_PLACEHOLDERS | PVC_RECURSE_AGGREGATES |
									 PVC_RECURSE_WINDOWFUNCS);
	int32 width = 0;

	if (vars != NIL && IsA(linitial(vars), Var) &&
		!IS_SPECIAL_VARNO(((Var *) linitial(vars))->varno))
	{
		const Var			*var = linitial(vars);
		const RangeTblEntry *rte = planner_rt_fetch(var->varno, root);

		if (rte->rtekind == RTE_RELATION)
			width = get_attavgwidth(rte->relid, var->varattno);
	}
	return width > 0 ? width : UNKNOWN_WIDTH;
}

/* What a text is matched with a pattern for, by the operator's own word for its kind. */
static double
pattern_ns(const Evaluation *evaluation, const OpExpr *op)
{
	switch (get_oprrest(op->opno))
	{
		case F_LIKESEL:
		case F_NLIKESEL:
		case F_ICLIKESEL:
		case F_ICNLIKESEL:
			return LIKE_BYTE_NS * width_of(evaluation->root, linitial(op->args));
		case F_REGEXEQSEL:
		case F_REGEXNESEL:
		case F_ICREGEXEQSEL:
		case F_ICREGEXNESEL:
			return REGEX_BYTE_NS * width_of(evaluation->root, linitial(op->args));
		default:
			return 0;
	}
}

static double
array_ns(const Evaluation *evaluation, ScalarArrayOpExpr *op)
{
	int	   elements = estimate_array_length(lsecond(op->args));
	double one = function_ns(evaluation, op->opfuncid, (Node *) op,
							 list_make1(linitial(op->args)));

	if (elements >= HASHED_ELEMENTS && op->useOr)
		return HASHED_NS + one;
	return Max(elements, 1) * one / 2;
}

static bool
add_time(Node *node, Evaluation *evaluation)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		{
			OpExpr *op = (OpExpr *) node;

			set_opfuncid(op);
			evaluation->ns += function_ns(evaluation, op->opfuncid, node, op->args) +
				pattern_ns(evaluation, op);
			break;
		}
		case T_FuncExpr:
			evaluation->ns += function_ns(evaluation, ((FuncExpr *) node)->funcid, node,
										  ((FuncExpr *) node)->args);
			break;
		case T_ScalarArrayOpExpr:
			set_sa_opfuncid((ScalarArrayOpExpr *) node);
			evaluation->ns += array_ns(evaluation, (ScalarArrayOpExpr *) node);
			break;
		case T_CoerceViaIO:
			evaluation->ns += COERCED_NS;
			break;
		case T_SubPlan:
			evaluation->ns += ((SubPlan *) node)->per_call_cost * TB_US_PER_UNIT * 1000.0;
			return false;
		default:
			break;
	}
	return expression_tree_walker(node, add_time, evaluation);
}

static double
clause_ns(PlannerInfo *root, const RestrictInfo *filter)
{
	Evaluation evaluation = {.root = root};

	(void) add_time((Node *) filter->clause, &evaluation);
	return evaluation.ns;
}

static AttrNumber
last_of(const Bitmapset *attributes)
{
	AttrNumber last = 0;
	int		   member = -1;

	while ((member = bms_next_member(attributes, member)) >= 0)
		last = Max(last, member + FirstLowInvalidHeapAttributeNumber);
	return last;
}

static AttrNumber
last_attribute(const RelOptInfo *rel, List *filters)
{
	Bitmapset *attributes = NULL;
	ListCell  *lc;

	foreach(lc, filters)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid,
					   &attributes);
	return last_of(attributes);
}

double
tb_plain_columns_us(PlannerInfo *root, RelOptInfo *rel)
{
	Bitmapset *attributes = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attributes);
	return Max(last_of(attributes) - last_attribute(rel, rel->baserestrictinfo), 0) *
		ATTRIBUTE_NS / 1000.0;
}

double
tb_plain_filters_us(PlannerInfo *root, const RelOptInfo *rel, List *filters)
{
	double	  ns = last_attribute(rel, filters) * ATTRIBUTE_NS;
	double	  reaching = 1;
	ListCell *lc;

	foreach(lc, filters)
	{
		RestrictInfo *filter = lfirst_node(RestrictInfo, lc);

		ns += reaching * clause_ns(root, filter);
		reaching *= clause_selectivity(root, (Node *) filter, 0, JOIN_INNER, NULL);
	}
	return ns / 1000.0;
}
