/*
 * join_grid.h - joins of points with shapes: which clauses a grid finds rows by, and how
 * large its cells should be.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_GRID_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_GRID_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/expression/expression.h"

/* A clause that only holds if the point lies in the shape's box, enlarged by the radius. */
typedef struct TbGridClause
{
	Expr  *point; /* of the outer side, which streams */
	Expr  *shape; /* of the inner side, which is built */
	double radius;
	bool   by_edges; /* those of the shape in the point's cell decide it (tb_grid_edges) */
} TbGridClause;

/* False: the clause is none, or the outer side's geometries are not known to be points. */
extern bool tb_grid_clause(PlannerInfo *root, const RestrictInfo *rinfo, Relids outer,
						   Relids inner, TbGridClause *clause);

/* The first such clause among these (RestrictInfo); NULL: there is none, or some equality
 * of both sides can be a key, which a grid need not help. */
extern RestrictInfo *tb_grid_find(PlannerInfo *root, List *conditions, Relids outer,
								  Relids inner, TbGridClause *clause);

/* Whether such a clause finds no rows only because the outer side's geometries are not
 * known to be points, or the inner side's are no column of a table. */
extern bool tb_grid_is_missed(PlannerInfo *root, List *conditions, Relids outer,
							  Relids inner);

typedef struct TbGrid
{
	double	size;	 /* of a cell, in the units of the coordinates: a power of two */
	double	entries; /* estimate: cells that a shape has */
	TbValue cell[4]; /* of the inner program: shape, radius, size, number of the cell */
	bool	filled;	 /* cells that the shape does not fill are left out */
} TbGrid;

/*
 * Chooses the cells for so many points and shapes, by a look at some rows of the shapes'
 * table.
 */
extern TbGrid tb_grid_choose(PlannerInfo *root, const TbGridClause *clause, double points,
							 double shapes);

/*
 * Makes cells the only key of join number `join` of the outer program, and of the join
 * table that the inner program builds, behind all joins of its own. False with *reason if a
 * side's geometry can not be computed.
 */
extern bool tb_grid_add_keys(const TbGridClause *clause, TbGrid *grid,
							 TbTranslator *outer, uint32 join, TbTranslator *inner,
							 const char **reason);

/*
 * If edges of the shape in the point's cell can decide this condition of the join: what the
 * inner program has to compute, and the TbGridKind that the outer one has to compute of
 * it and the point. The inner program then leaves out cells that the shape does not fill.
 * False: they cannot.
 */
extern bool tb_grid_edges(const TbGridClause *clause, TbGrid *grid, Expr *condition,
						  TbTranslator *inner, TbValue *edges, uint32 *kind);

/* Estimate: rows that a grid finds for one that comes out. */
#define TB_GRID_CANDIDATES 4

#endif
