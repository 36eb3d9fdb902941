/*
 * geometry_clause.h - what conditions say of geometries, without a look at any.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_GEOMETRY_CLAUSE_H
#define TURBINE_PG_PLANNER_EXPRESSION_GEOMETRY_CLAUSE_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* Whether some function in it is one of PostGIS's that devices have. */
extern bool tb_calls_postgis(Node *node);

/* Whether devices decide pairs of it only by their boxes: some predicate in it has no point
 * among its arguments, as far as their types and functions say. */
extern bool tb_compares_boxes(Node *node);

/* Whether GEOS decides the predicate for all shapes, so that devices only reject pairs
 * whose boxes are apart. */
extern bool tb_is_geos_predicate(Oid funcid);

/* The name of the function, one of PostGIS's that the catalogue has; NULL: it is none. */
extern const char *tb_postgis_name(Oid funcid);

/* Whether the expression is declared as points, or is a function's that makes points. */
extern bool tb_is_declared_point(Expr *expr);

/* Whether the function returns a point; *of_argument: if its first argument is one. */
extern bool tb_makes_point(const FuncExpr *call, bool *of_argument);

#endif
