/*
 * first_row.h - whether PostgreSQL would evaluate what a run evaluates ahead.
 *
 * A run computes parameters (InitPlans among them) and fetches the rows of plans before
 * its probe side is known to have a row. PostgreSQL's executor is lazy: without a row that
 * reaches them it never gets there, and raises none of their errors. So where they may
 * raise, PostgreSQL's own plan is asked for the rows that it would see first.
 */
#ifndef TURBINE_PG_ERRORS_FIRST_ROW_H
#define TURBINE_PG_ERRORS_FIRST_ROW_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "utils/relcache.h"

/* What a node evaluates before its first row, and the plan that it stands for. */
typedef struct TbAhead
{
	PlanState *node;	/* that evaluates it */
	Plan	  *kept;	/* PostgreSQL's plan of the same rows */
	List	  *params;	/* lists of Expr */
	List	  *fetched; /* Plan: all rows of it are read */
	List	  *inputs;	/* TbInput: what programs read in place of the plan's scans */
	bool	  *asked;	/* set by the first question; a later one is answered "no" */
} TbAhead;

/* Raises what PostgreSQL would raise on its way. True if PostgreSQL would reach all that
 * may raise. False also where to look would cost too much: the kept plan must run then. */
extern bool tb_postgres_reaches(const TbAhead *ahead);

/* The same of one table and its filters (of the node's scan tuples; `qual`: the same, ready
 * to run), which use these parameters. */
extern bool tb_postgres_reaches_filters(Relation rel, List *filters, ExprState *qual,
										List *params, PlanState *node);

#endif
