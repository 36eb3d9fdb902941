/*
 * may_raise.h - whether PostgreSQL may raise an error when it evaluates something: an
 * expression, a query, a program, a plan. Everyone asks here; of functions the catalogue
 * answers (function_lookup.h).
 *
 * It is asked wherever we evaluate more than PostgreSQL would, or sooner: rewritten
 * queries, filters in another order, parameters and InitPlans before the first row is
 * known.
 *
 * "No" is a promise; "yes" is said of all that is not known to be harmless. Running out of
 * memory does not count.
 */
#ifndef TURBINE_PG_ERRORS_MAY_RAISE_H
#define TURBINE_PG_ERRORS_MAY_RAISE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "turbine/program.h"

/* A planned expression, or a list of them, whatever values its Vars have. Of Params only
 * the client's are known to have values: others may be InitPlans that are still to run. */
extern bool tb_expression_may_raise(Node *expr);

/* True if nothing in a query as the rewriter leaves it, or in a part of one, may raise an
 * error, is volatile, or has an effect, subqueries included. It may then be evaluated for
 * more rows than the text says, or for fewer, and nobody notices. */
extern bool tb_query_is_harmless(Node *tree);

/* Whether a program's filters or join conditions may raise. Outputs, keys and aggregates
 * are evaluated for rows that pass only, and are not looked at. */
extern bool tb_program_raises_before_output(const TbProgram *program);

/* Of a run that is about to start. */

/* All nodes of a plan; an InitPlan that has not run counts as what it would do. */
extern bool tb_plan_may_raise(Plan *plan, EState *estate);

/* The parameter's InitPlan, if it has not run. */
extern bool tb_param_may_raise(const Param *param, EState *estate);

/* What is computed of columns; InitPlans are left out. */
extern bool tb_expr_may_raise(Node *expr, EState *estate);

/* What of some expressions may raise. */
typedef struct TbRisk
{
	Bitmapset *initplans; /* their parameters; have not run */
	bool	   others;	  /* expressions without columns */
} TbRisk;

/* Adds what may raise of expressions that the node evaluates. Those without columns are
 * tried, in a subtransaction: what raises nothing now will not when they are evaluated. */
extern void tb_risk_add_params(TbRisk *risk, List *exprs, PlanState *node);

extern bool tb_risk_is_empty(const TbRisk *risk);

/* Whether some of that, still not evaluated, is part of the expression or list. */
extern bool tb_risk_is_in(const TbRisk *risk, Node *expr, EState *estate);

#endif
