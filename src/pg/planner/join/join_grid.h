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
	Expr  *point;	 /* of the outer side, which streams; `shapes`: a shape */
	Expr  *shape;	 /* of the inner side, which is built */
	double radius;
	bool   by_edges; /* those of the shape in the point's cell decide it */
	bool   by_boxes; /* boxes decide it */
	bool   by_geos;	 /* PostGIS decides it, whatever the shapes are */
	bool   shapes;	 /* of the outer side's rows there is one for each cell */
} TbGridClause;

/* False: the clause is none, or the outer side's geometries are neither known to be points
 * nor, with `shapes`, a column of a table. */
extern bool tb_grid_clause(PlannerInfo *root, const RestrictInfo *rinfo, Relids outer,
						   Relids inner, bool shapes, TbGridClause *clause);

/* The first such clause among these (RestrictInfo), of points if there is one; NULL: there
 * is none, or some equality of both sides can be a key, which a grid need not help.
 * `shapes` needs a join whose pairs each have rows of their own, and may be undecided. */
extern RestrictInfo *tb_grid_find(PlannerInfo *root, List *conditions, Relids outer,
								  Relids inner, bool shapes, TbGridClause *clause);

/* Whether such a clause finds no rows only because the outer side's geometries are not
 * known to be points, or the inner side's are no column of a table. */
extern bool tb_grid_is_missed(PlannerInfo *root, List *conditions, Relids outer,
							  Relids inner, bool shapes);

/* The share of pairs that devices leave to PostGIS, as sampled shapes show it: those of
 * kinds that they do not decide. */
extern double tb_grid_left_share(PlannerInfo *root, const TbGridClause *clause);

typedef struct TbGrid
{
	TbGridClause clause;
	double		 size;	  /* of a cell, in the units of the coordinates: a power of two */
	double		 entries; /* estimate: cells that a shape has */
	double		 lookups; /* estimate: for each row of the outer side */
	TbValue cell[4]; /* of the inner program: shape, radius, size, number of the cell */
	TbValue outer_cell[4]; /* the same of the outer program, with clause.shapes */
	bool	filled;		   /* cells that the shape does not fill are left out */
	bool	by_edges;	   /* some condition reads them instead of the shape */
	TbValue edges;		   /* of the outer program, if so */
} TbGrid;

/*
 * Chooses the cells for so many points and shapes, by a look at some rows of the shapes'
 * table.
 */
extern TbGrid *tb_grid_choose(PlannerInfo *root, const TbGridClause *clause, double points,
							  double shapes);

/* With clause.shapes: adds a SERIES join to the outer program, before the one that looks
 * into the grid: a row for each cell of its shape. False with the translator's reason. */
extern bool tb_grid_multiply(TbGrid *grid, TbTranslator *outer);

/*
 * Makes cells the only key of join number `join` of the outer program, and of the join
 * table that the inner program builds, behind all joins of its own. False with *reason if a
 * side's geometry can not be computed.
 */
extern bool tb_grid_add_keys(TbGrid *grid, TbTranslator *outer, uint32 join,
							 TbTranslator *inner, const char **reason);

/*
 * Translates the conditions of join number `join` behind tb_grid_add_keys, of which there
 * is at least one. Those that the shape's edges in the point's cell decide read these
 * instead of the shape, and the inner program leaves out cells that the shape does not
 * fill. False with the reason of the outer translator: one can not be computed.
 */
extern bool tb_grid_residual(TbGrid *grid, List *conditions, TbTranslator *outer,
							 uint32 join, TbTranslator *inner, TbValue *residual);

/* Whether the edges, of which some condition has been translated, are the shape as it was:
 * an expression of the outer program. */
extern TbValue tb_grid_whole(const TbGrid *grid, TbTranslator *outer);

/* Estimate: rows that a grid finds for one that comes out. */
#define TB_GRID_CANDIDATES 4

#endif
