/*
 * may_raise.h - whether PostgreSQL may raise an error when it evaluates something that
 * it evaluates lazily and our runs evaluate ahead: InitPlans, expressions without
 * columns, plans whose rows are sent.
 *
 * "No" is a promise; "yes" is said of all that is not known to be harmless. Running out
 * of something is no such error.
 */
#ifndef TURBINE_PG_STAGE_MAY_RAISE_H
#define TURBINE_PG_STAGE_MAY_RAISE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

/* What of some expressions may raise. */
typedef struct TbRisk
{
	Bitmapset *initplans; /* their parameters; have not run */
	bool	   others;	  /* expressions without columns */
} TbRisk;

/* Of the program's parameters, those of the node. Expressions without columns are
 * tried: what raises nothing now will not when they are evaluated. */
extern void tb_risk_add_params(TbRisk *risk, List *exprs, PlanState *node);

/* Whether some of that, still not evaluated, is part of the expression or list. */
extern bool tb_risk_is_in(const TbRisk *risk, Node *expr, EState *estate);

/* InitPlans that have not run count as what they would do. */
extern bool tb_plan_may_raise(Plan *plan, EState *estate);

/* Whether the parameter's InitPlan, if it has not run, may. */
extern bool tb_param_may_raise(const Param *param, EState *estate);

/* What is computed of columns; InitPlans do not count. */
extern bool tb_expr_may_raise(Node *expr, EState *estate);

#endif
