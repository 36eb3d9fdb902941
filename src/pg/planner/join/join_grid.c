/*
 * join_grid.c - see join_grid.h.
 *
 * A grid of square cells makes a spatial join an equality join. A point lies in one cell; a
 * shape has an entry for each cell that its box overlaps. So the cell is a key, each
 * candidate is met once, and the clause itself is the residual condition.
 *
 * Small cells have few candidates but many entries. The best size depends on the sizes of
 * the boxes, of which PostgreSQL knows nothing that is the same in all versions of PostGIS.
 * So some blocks of the table are read, as the planner reads the ends of an index for
 * estimates. A wrong size costs time only.
 *
 * Samples belong to the run of the planner (planning.h). Called by the files that read,
 * shape and write joins. Must never call a function of PostGIS: a value that it does not
 * like would raise an error.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "turbine/functions.h"
#include "turbine/grid.h"

#include "pg/planner/expression/geometry_clause.h"
#include "pg/planner/join/join_grid.h"
#include "pg/planner/join/join_keys.h"
#include "pg/planner/planning.h"
#include "pg/shmem/device_list.h"

/* ---- A look at a column ---- */

#define MOST_BLOCKS 24
#define MOST_ROWS 1000

typedef struct Sample
{
	Oid		   relid;
	AttrNumber attnum;
	int		   nrows;	/* not NULL */
	int		   npoints;
	int		   nmulti;	/* multipoints and multilines */
	int		   nothers; /* collections, curves and surfaces */
	double	   bytes;	/* of all rows */
	int		   nboxes;
	TbBox	   boxes[MOST_ROWS];
} Sample;

/* The type of the shape, TB_SHAPE_*; 0: it is spoilt. */
static uint32
type_of(const uint8 *bytes, uint32 length)
{
	uint32 at = 4;
	uint32 flags = length > 4 ? bytes[3] : 0;
	uint32 dimensions = 2 + (flags & TB_GEOMETRY_Z ? 1 : 0) +
		(flags & TB_GEOMETRY_M ? 1 : 0);

	if ((flags & TB_GEOMETRY_FORM_2) && (flags & TB_GEOMETRY_EXTENDED))
		at += 8;
	if (flags & TB_GEOMETRY_BOX)
		at += dimensions * 8;
	return length >= at + 4 ? tb_geometry_word(bytes, at) : 0;
}

static void
count_type(Sample *sample, uint32 type)
{
	const uint32 multiline = 5;
	const uint32 multipolygon = 6;

	if (type == TB_SHAPE_MULTIPOINT || type == multiline)
		sample->nmulti++;
	else if (type > multipolygon)
		sample->nothers++;
}

static void
add_value(Sample *sample, Datum value)
{
	struct varlena *header = PG_DETOAST_DATUM_SLICE(value, 0, TB_GEOMETRY_HEAD);
	TbBox			box;
	int				is_point;
	TbExtent		extent = tb_geometry_extent((const uint8 *) VARDATA_ANY(header),
												VARSIZE_ANY_EXHDR(header), &is_point, &box);

	count_type(sample,
			   type_of((const uint8 *) VARDATA_ANY(header), VARSIZE_ANY_EXHDR(header)));
	sample->nrows++;
	sample->bytes += (double) toast_raw_datum_size(value);
	if (extent == TB_EXTENT_POINT || extent == TB_EXTENT_BOX)
		sample->boxes[sample->nboxes++] = box;
	if (is_point)
		sample->npoints++;
	if ((Pointer) header != DatumGetPointer(value))
		pfree(header);
}

static void
add_block(Sample *sample, Relation rel, BlockNumber block)
{
	TableScanDesc	scan = table_beginscan_strat(rel, GetActiveSnapshot(), 0, NULL, true,
												 false);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	heap_setscanlimits(scan, block, 1);
	while (sample->nrows < MOST_ROWS &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool  is_null;
		Datum value = slot_getattr(slot, sample->attnum, &is_null);

		if (!is_null)
			add_value(sample, value);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

static void
look_at_table(Sample *sample, Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	BlockNumber nblocks;
	int			count;

	if (rel->rd_rel->relam == HEAP_TABLE_AM_OID && ActiveSnapshotSet())
	{
		nblocks = RelationGetNumberOfBlocks(rel);
		count = Min(nblocks, MOST_BLOCKS);
		for (int i = 0; i < count; i++)
			add_block(sample, rel, (BlockNumber) ((uint64) nblocks * i / count));
	}
	table_close(rel, NoLock);
}

/* Of a column of a table of this query level; NULL: it is none. */
static Sample *
sample_of(PlannerInfo *root, const Expr *expr)
{
	TbPlanning	  *planning = tb_planning();
	const Var	  *var = (const Var *) expr;
	RangeTblEntry *rte;
	Sample		  *sample;
	MemoryContext  previous;
	ListCell	  *lc;

	if (!IsA(expr, Var) || var->varlevelsup > 0 || var->varattno <= 0)
		return NULL;
	rte = planner_rt_fetch(var->varno, root);
	if (rte->rtekind != RTE_RELATION || rte->inh ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return NULL;
	foreach(lc, planning->shape_samples)
	{
		sample = lfirst(lc);
		if (sample->relid == rte->relid && sample->attnum == var->varattno)
			return sample;
	}
	previous = MemoryContextSwitchTo(root->planner_cxt);
	sample = palloc0(sizeof(Sample));
	sample->relid = rte->relid;
	sample->attnum = var->varattno;
	look_at_table(sample, rte->relid);
	planning->shape_samples = lappend(planning->shape_samples, sample);
	MemoryContextSwitchTo(previous);
	return sample;
}

/* ---- Clauses ---- */

/* What only holds of geometries whose boxes meet. */
static const char *const predicates[] = {
	"st_contains", "st_within",			"st_covers",  "st_coveredby", "st_intersects",
	"st_dwithin",  "geometry_overlaps", "st_crosses", "st_touches",	  "st_overlaps",
};

static bool
is_predicate(Oid funcid)
{
	const char *name = tb_postgis_name(funcid);

	for (int i = 0; name != NULL && i < (int) lengthof(predicates); i++)
		if (strcmp(name, predicates[i]) == 0)
			return true;
	return false;
}

static bool
read_radius(Expr *expr, double *radius)
{
	const Const *literal = (const Const *) expr;

	if (!IsA(expr, Const) || literal->constisnull)
		return false;
	*radius = DatumGetFloat8(literal->constvalue);
	return *radius >= 0 && isfinite(*radius);
}

/* The two geometries of a predicate, and the distance at which it may hold. */
static bool
read_predicate(Expr *clause, List **args, double *radius)
{
	Oid funcid;

	if (IsA(clause, FuncExpr))
	{
		funcid = ((FuncExpr *) clause)->funcid;
		*args = ((FuncExpr *) clause)->args;
	}
	else if (IsA(clause, OpExpr))
	{
		funcid = get_opcode(((OpExpr *) clause)->opno);
		*args = ((OpExpr *) clause)->args;
	}
	else
		return false;
	*radius = 0;
	if (funcid < FirstNormalObjectId || list_length(*args) < 2 || !is_predicate(funcid))
		return false;
	return list_length(*args) == 2 ||
		(list_length(*args) == 3 && read_radius(lthird(*args), radius));
}

static bool
is_point(PlannerInfo *root, Expr *expr)
{
	const Sample *sample;
	bool		  of_argument;

	if (tb_is_declared_point(expr))
		return true;
	if (IsA(expr, FuncExpr) && tb_makes_point((FuncExpr *) expr, &of_argument))
		return !of_argument || is_point(root, linitial(((FuncExpr *) expr)->args));
	sample = sample_of(root, expr);
	return sample != NULL && sample->nrows > 0 && sample->npoints == sample->nrows;
}

/* Predicates that edges decide, and in which order of their arguments. */
static const struct
{
	const char *name;
	bool		shape_first;
	bool		point_first;
	TbGridKind	kind;
} edge_predicates[] = {
	{"st_contains", true, false, TB_GRID_CONTAINS},
	{"st_within", false, true, TB_GRID_CONTAINS},
	{"st_covers", true, false, TB_GRID_COVERS},
	{"st_coveredby", false, true, TB_GRID_COVERS},
	{"st_intersects", true, true, TB_GRID_INTERSECTS},
};

/* The TbGridKind of a condition on the point and the shape, whose order is known. False:
 * edges do not decide it. */
static bool
edge_kind(Expr *condition, const TbGridClause *clause, uint32 *kind)
{
	const FuncExpr *call = (const FuncExpr *) condition;
	const char	   *name;
	bool			shape_first;

	if (!IsA(condition, FuncExpr) || list_length(call->args) != 2 ||
		(name = tb_postgis_name(call->funcid)) == NULL)
		return false;
	shape_first = equal(linitial(call->args), clause->shape);
	if (!equal(shape_first ? lsecond(call->args) : linitial(call->args), clause->point) ||
		!equal(shape_first ? linitial(call->args) : lsecond(call->args), clause->shape))
		return false;
	for (int i = 0; i < (int) lengthof(edge_predicates); i++)
		if (strcmp(name, edge_predicates[i].name) == 0)
		{
			*kind = edge_predicates[i].kind;
			return shape_first ? edge_predicates[i].shape_first :
								 edge_predicates[i].point_first;
		}
	return false;
}

/* Both sides in either order: each of these predicates needs boxes that meet. */
static bool
split_clause(const RestrictInfo *rinfo, Relids outer, Relids inner, TbGridClause *clause)
{
	List  *args;
	bool   reversed;
	uint32 kind;

	if (!read_predicate(rinfo->clause, &args, &clause->radius))
		return false;
	clause->point = linitial(args);
	clause->shape = lsecond(args);
	reversed = bms_overlap(pull_varnos(NULL, (Node *) clause->point), inner);
	if (reversed)
	{
		clause->point = lsecond(args);
		clause->shape = linitial(args);
	}
	clause->by_edges = edge_kind(rinfo->clause, clause, &kind);
	clause->by_boxes = IsA(rinfo->clause, OpExpr); /* && */
	clause->by_geos = IsA(rinfo->clause, FuncExpr) &&
		tb_is_geos_predicate(((FuncExpr *) rinfo->clause)->funcid);
	clause->shapes = false;
	return bms_is_subset(pull_varnos(NULL, (Node *) clause->point), outer) &&
		bms_is_subset(pull_varnos(NULL, (Node *) clause->shape), inner) &&
		contain_var_clause((Node *) clause->point) &&
		contain_var_clause((Node *) clause->shape);
}

bool
tb_grid_clause(PlannerInfo *root, const RestrictInfo *rinfo, Relids outer, Relids inner,
			   bool shapes, TbGridClause *clause)
{
	if (!split_clause(rinfo, outer, inner, clause) ||
		sample_of(root, clause->shape) == NULL)
		return false;
	if (is_point(root, clause->point))
		return true;
	/* Edges are those near a point. */
	clause->by_edges = false;
	clause->shapes = true;
	return shapes && sample_of(root, clause->point) != NULL;
}

RestrictInfo *
tb_grid_find(PlannerInfo *root, List *conditions, Relids outer, Relids inner, bool shapes,
			 TbGridClause *clause)
{
	ListCell *lc;

	foreach(lc, conditions)
		if (tb_join_key_between(lfirst(lc), outer, inner))
			return NULL;
	foreach(lc, conditions)
		if (tb_grid_clause(root, lfirst(lc), outer, inner, false, clause))
			return lfirst(lc);
	foreach(lc, conditions)
		if (shapes && tb_grid_clause(root, lfirst(lc), outer, inner, true, clause))
			return lfirst(lc);
	return NULL;
}

double
tb_grid_left_share(PlannerInfo *root, const TbGridClause *clause)
{
	const Sample *sample = sample_of(root, clause->shape);

	if (clause->by_boxes)
		return 0;
	if (clause->shapes || clause->by_geos)
		return 1;
	/* Distances of a point to multipoints and multilines are computed. */
	return sample == NULL || sample->nrows == 0 ?
		0 :
		(double) (sample->nothers + (clause->by_edges ? sample->nmulti : 0)) /
			sample->nrows;
}

bool
tb_grid_is_missed(PlannerInfo *root, List *conditions, Relids outer, Relids inner,
				  bool shapes)
{
	bool		 missed = false;
	TbGridClause clause;
	ListCell	*lc;

	foreach(lc, conditions)
	{
		if (tb_join_key_between(lfirst(lc), outer, inner))
			return false;
		missed = missed || split_clause(lfirst(lc), outer, inner, &clause);
	}
	return missed && tb_grid_find(root, conditions, outer, inner, shapes, &clause) == NULL;
}

/* ---- The size of cells ---- */

/* Nanoseconds: of a look-up of a shape's cell, which a row is made for; of an entry, of
 * each byte that is copied for it, of a candidate. */
#define LOOKUP_NS 30
#define ENTRY_NS 100
#define BYTE_NS 0.2
#define CANDIDATE_NS 80

/* Of all entries together: a part of the memory of queries, never less than the first nor
 * more than the last, since places of texts in a join table have 32 bits. Without its edges
 * an entry has about ENTRY_BYTES; edges on borders are in the entries of several cells. */
#define LEAST_BYTES (1024.0 * 1024 * 1024)
#define MEMORY_PART 0.125
#define MOST_BYTES (3 * LEAST_BYTES)
#define ENTRY_BYTES 120
#define EDGES_COPIES 2

/* Of a box, the shape in it has about this part of the cells that do not lie at its sides.
 */
#define FILLED_PART 0.6
#define TOO_LARGE 1000

/* Exponents of two. */
#define LEAST_SIZE (-100)
#define GREATEST_SIZE 100

/* The cells that a box's side overlaps, on average over where it begins. */
static double
cells_of(double side, double size)
{
	return side / size + 1;
}

typedef struct Averages
{
	double entries; /* of a shape */
	double most;	/* of any */
	double area;	/* of the cells that a shape has, or fills */
} Averages;

static Averages
averages_of(const Sample *sample, const TbGridClause *clause, double radius, double size)
{
	Averages result = {0};

	for (int i = 0; i < sample->nboxes; i++)
	{
		const TbBox *box = &sample->boxes[i];
		double		 width = box->xmax - box->xmin + 2 * radius;
		double		 height = box->ymax - box->ymin + 2 * radius;
		double		 entries = cells_of(width, size) * cells_of(height, size);
		double		 area = entries * size * size;

		if (clause->by_edges)
			area -= (1 - FILLED_PART) * width * height;
		result.entries += entries / sample->nboxes;
		result.area += area / sample->nboxes;
		result.most = Max(result.most, entries);
	}
	return result;
}

/* Of all shapes, as far as the sample shows it; never 0. */
static double
area_of(const Sample *sample, double radius)
{
	TbBox all = sample->boxes[0];

	for (int i = 1; i < sample->nboxes; i++)
	{
		all.xmin = Min(all.xmin, sample->boxes[i].xmin);
		all.xmax = Max(all.xmax, sample->boxes[i].xmax);
		all.ymin = Min(all.ymin, sample->boxes[i].ymin);
		all.ymax = Max(all.ymax, sample->boxes[i].ymax);
	}
	return Max((all.xmax - all.xmin + 2 * radius) * (all.ymax - all.ymin + 2 * radius),
			   DBL_MIN);
}

/* Cells below this are so small that far coordinates would share the outermost. */
static double
least_size(const Sample *sample, double radius)
{
	double far = radius;

	for (int i = 0; i < sample->nboxes; i++)
	{
		const TbBox *box = &sample->boxes[i];

		far = Max(far,
				  Max(Max(fabs(box->xmin), fabs(box->xmax)),
					  Max(fabs(box->ymin), fabs(box->ymax))));
	}
	return far / (1 << 24);
}

static double
most_bytes(void)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	double		 budget = 0;

	if (tb_devices_snapshot(devices, TB_MAX_DEVICES) > 0)
		budget = (double) devices[TB_DEVICE_HOST].memory_budget;
	return Min(Max(budget * MEMORY_PART, LEAST_BYTES), MOST_BYTES);
}

TbGrid *
tb_grid_choose(PlannerInfo *root, const TbGridClause *clause, double points, double shapes)
{
	const Sample *sample = sample_of(root, clause->shape);
	TbGrid		 *grid = palloc0(sizeof(TbGrid));
	double		  least = INFINITY;
	double		  most = most_bytes();
	double		  area;
	double		  bytes;
	double		  smallest;
	const Sample *outer = clause->shapes ? sample_of(root, clause->point) : NULL;

	grid->clause = *clause;
	/* Of an empty table any size will do. */
	grid->size = grid->entries = grid->lookups = 1;
	if (sample == NULL || sample->nboxes == 0)
		return grid;
	area = area_of(sample, clause->radius);
	smallest = least_size(sample, clause->radius);
	if (outer != NULL)
		smallest = Max(smallest, least_size(outer, 0));
	bytes = sample->bytes / sample->nrows;
	for (int exponent = LEAST_SIZE; exponent <= GREATEST_SIZE; exponent++)
	{
		double	 size = ldexp(1, exponent);
		Averages average;
		Averages outside = {.entries = 1};
		double	 stored;
		double	 ns;

		if (size < smallest)
			continue;
		average = averages_of(sample, clause, clause->radius, size);
		if (outer != NULL && outer->nboxes > 0)
			outside = averages_of(outer, clause, 0, size);
		if (Max(average.most, outside.most) > TB_MOST_GRID_CELLS / 4.0)
			continue;
		ns = shapes * average.entries * (ENTRY_NS + bytes * BYTE_NS) +
			points * outside.entries *
				(LOOKUP_NS + shapes * Min(average.area / area, 1) * CANDIDATE_NS);
		stored = clause->by_edges ? average.entries * ENTRY_BYTES + EDGES_COPIES * bytes :
									average.entries * bytes;
		if (shapes * stored > most)
			ns *= TOO_LARGE;
		if (ns < least)
		{
			least = ns;
			grid->size = size;
			grid->entries = average.entries;
			grid->lookups = outside.entries;
		}
	}
	return grid;
}

/* ---- Cells as keys ---- */

static bool
translate_number(TbTranslator *t, double number, TbValue *value)
{
	return tb_translate(t,
						(Expr *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
										   Float8GetDatum(number), false, FLOAT8PASSBYVAL),
						value);
}

/* A row for each cell that the shape has, behind the program's joins so far. `cell` becomes
 * the shape, the radius, the size and the number of the cell. */
static bool
add_series(const TbGrid *grid, TbTranslator *t, Expr *shape, double radius, TbValue *cell)
{
	TbTypeInfo number = {TB_TYPE_INT4, 0, 0};
	TbValue	   value;
	uint32	   series;

	if (!tb_translate(t, shape, &cell[0]) || !translate_number(t, radius, &cell[1]) ||
		!translate_number(t, grid->size, &cell[2]))
		return false;
	/* As many as it has. */
	value = tb_builder_expr(t->builder, TB_EXPR_GRID, number, TB_GRID_CELLS, 3, cell,
							cell[0].nullable);
	series = tb_builder_add_join(t->builder, TB_JOIN_SERIES, TB_NONE);
	tb_builder_join_key(t->builder, series, &value);
	cell[3] = tb_builder_payload(t->builder, series, 0, number, false);
	return true;
}

static TbValue
key_of_cell(TbTranslator *t, const TbValue *cell)
{
	TbTypeInfo key = {TB_TYPE_INT8, 0, 0};

	return tb_builder_expr(t->builder, TB_EXPR_GRID, key, TB_GRID_CELL, 4, cell,
						   cell[0].nullable);
}

bool
tb_grid_multiply(TbGrid *grid, TbTranslator *outer)
{
	return !grid->clause.shapes ||
		add_series(grid, outer, grid->clause.point, 0, grid->outer_cell);
}

/* The cell that a point lies in, or that a shape's row is made for. */
static bool
add_outer_cell(const TbGrid *grid, TbTranslator *t, uint32 join)
{
	TbTypeInfo key = {TB_TYPE_INT8, 0, 0};
	TbValue	   args[2];
	TbValue	   cell;

	if (grid->clause.shapes)
	{
		cell = key_of_cell(t, grid->outer_cell);
		tb_builder_join_key(t->builder, join, &cell);
		return true;
	}
	if (!tb_translate(t, grid->clause.point, &args[0]) ||
		!translate_number(t, grid->size, &args[1]))
		return false;
	cell = tb_builder_expr(t->builder, TB_EXPR_GRID, key, TB_GRID_POINT, lengthof(args),
						   args, args[0].nullable);
	tb_builder_join_key(t->builder, join, &cell);
	return true;
}

static bool
add_shape_cells(TbGrid *grid, TbTranslator *t)
{
	TbValue value;

	if (!add_series(grid, t, grid->clause.shape, grid->clause.radius, grid->cell))
		return false;
	/* Each is the key of its row. */
	value = key_of_cell(t, grid->cell);
	tb_builder_add_key(t->builder, &value);
	return true;
}

bool
tb_grid_add_keys(TbGrid *grid, TbTranslator *outer, uint32 join, TbTranslator *inner,
				 const char **reason)
{
	if (!add_outer_cell(grid, outer, join))
		*reason = outer->reason;
	else if (!add_shape_cells(grid, inner))
		*reason = inner->reason;
	else
		return true;
	return false;
}

/* ---- Edges by cell ---- */

/* Once: cells whose points cannot be in the shape, for which no condition can be true. */
static void
leave_out_cells(TbGrid *grid, TbTranslator *inner)
{
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	   value;

	if (grid->filled)
		return;
	grid->filled = true;
	value = tb_builder_expr(inner->builder, TB_EXPR_GRID, boolean, TB_GRID_FILLED,
							lengthof(grid->cell), grid->cell, grid->cell[0].nullable);
	tb_builder_add_filter(inner->builder, &value);
}

/* A condition that edges decide: what the inner program computes of the shape, and the
 * outer one of that and the point. False: it is none. */
static bool
translate_by_edges(TbGrid *grid, Expr *condition, TbTranslator *outer, uint32 join,
				   TbTranslator *inner, TbValue *value)
{
	TbTypeInfo geometry = {TB_TYPE_GEOMETRY, 0, 0};
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	   edges;
	TbValue	   args[2];
	uint32	   kind;

	if (grid->clause.shapes || !edge_kind(condition, &grid->clause, &kind) ||
		!tb_translate(outer, grid->clause.point, &args[1]))
		return false;
	edges = tb_builder_expr(inner->builder, TB_EXPR_GRID, geometry, TB_GRID_EDGES,
							lengthof(grid->cell), grid->cell, grid->cell[0].nullable);
	leave_out_cells(grid, inner);
	args[0] = tb_builder_payload(outer->builder, join,
								 tb_builder_add_output(inner->builder, edges.expr),
								 geometry, edges.nullable);
	grid->by_edges = true;
	grid->edges = args[0];
	*value = tb_builder_expr(outer->builder, TB_EXPR_GRID, boolean, kind, lengthof(args),
							 args, args[0].nullable || args[1].nullable);
	return true;
}

TbValue
tb_grid_whole(const TbGrid *grid, TbTranslator *outer)
{
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};

	Assert(grid->by_edges);
	return tb_builder_expr(outer->builder, TB_EXPR_GRID, boolean, TB_GRID_WHOLE, 1,
						   &grid->edges, grid->edges.nullable);
}

/* Two shapes meet in one of the cells that they share. */
static bool
add_first_cell(const TbGrid *grid, TbTranslator *outer, TbValue *value)
{
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	   args[5];

	args[0] = grid->outer_cell[0];
	if (!tb_translate(outer, grid->clause.shape, &args[1]) ||
		!translate_number(outer, grid->clause.radius, &args[2]))
		return false;
	args[3] = grid->outer_cell[2];
	args[4] = grid->outer_cell[3];
	*value = tb_builder_expr(outer->builder, TB_EXPR_GRID, boolean, TB_GRID_FIRST,
							 lengthof(args), args, args[0].nullable || args[1].nullable);
	return true;
}

bool
tb_grid_residual(TbGrid *grid, List *conditions, TbTranslator *outer, uint32 join,
				 TbTranslator *inner, TbValue *residual)
{
	TbTypeInfo boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue	  *values = palloc((list_length(conditions) + 2) * sizeof(TbValue));
	List	  *others = NIL;
	int		   n = 0;
	bool	   nullable = false;
	ListCell  *lc;

	if (grid->clause.shapes && !add_first_cell(grid, outer, &values[n++]))
		return false;

	foreach(lc, conditions)
		if (translate_by_edges(grid, lfirst(lc), outer, join, inner, &values[n]))
			n++;
		else
			others = lappend(others, lfirst(lc));
	if (others != NIL && !tb_translate(outer, make_ands_explicit(others), &values[n++]))
		return false;
	for (int i = 0; i < n; i++)
		nullable |= values[i].nullable;
	*residual = n == 1 ?
		values[0] :
		tb_builder_expr(outer->builder, TB_EXPR_AND, boolean, 0, n, values, nullable);
	return true;
}
