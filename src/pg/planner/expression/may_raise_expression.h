/*
 * may_raise_expression.h - which functions and expressions of PostgreSQL may raise an
 * error: the one list, for planned expressions, queries as they were parsed, and plans.
 *
 * "No" is a promise; "yes" is said of all that is not known to be harmless. Running out of
 * something is no such error.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_MAY_RAISE_EXPRESSION_H
#define TURBINE_PG_PLANNER_EXPRESSION_MAY_RAISE_EXPRESSION_H

#include "postgres.h"

#include "nodes/nodes.h"

/* A function, or an aggregate. */
extern bool tb_function_may_raise(Oid funcid);

/* The node by itself, without what it is computed of. Of Params, subqueries and nodes that
 * are no expressions the answer is yes: callers who know better do not ask. */
extern bool tb_node_may_raise(Node *node);

/* A planned expression, or a list of them, whatever values its Vars have. Of Params only
 * the client's are known to have values: others may be InitPlans that are still to run. */
extern bool tb_expression_may_raise(Node *expr);

#endif
