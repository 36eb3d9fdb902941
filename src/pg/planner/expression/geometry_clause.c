/*
 * geometry_clause.c - see geometry_clause.h.
 *
 * Called by whoever plans conditions on geometries: a scan's costs, joins. It looks at
 * expressions only, never at values, and must never call a function of PostGIS.
 */
#include "postgres.h"

#include "access/transam.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "turbine/functions.h"
#include "turbine/grid.h"

#include "pg/convert/postgis.h"
#include "pg/planner/expression/geometry_clause.h"

/* Whose results are points. */
static const char *const point_makers[] = {
	"st_makepoint", "st_makepointm", "st_point", "st_pointz", "st_pointm", "st_pointzm",
};

/* Which GEOS decides for all shapes, points too. */
static const char *const geos_predicates[] = {
	"st_crosses",
	"st_touches",
	"st_overlaps",
	"st_equals",
};

/* Which a device decides if one of the shapes is a point. */
static const char *const point_predicates[] = {
	"st_contains",	 "st_within",	"st_covers",   "st_coveredby",
	"st_intersects", "st_disjoint", "st_distance", "st_dwithin",
};

const char *
tb_postgis_name(Oid funcid)
{
	int			row = tb_postgis_function(funcid);
	const char *signature;

	if (row < 0)
		return NULL;
	signature = tb_functions[row].signature;
	return pnstrdup(signature, strchr(signature, '(') - signature);
}

/* PostGIS's type modifier: bits 2 to 7 are the type of the shape, of which 1 is POINT. */
bool
tb_is_declared_point(Expr *expr)
{
	int32 typmod = exprTypmod((Node *) expr);

	return typmod >= 0 && (typmod & 0xfc) >> 2 == TB_SHAPE_POINT &&
		tb_postgis_is_geometry(exprType((Node *) expr));
}

bool
tb_makes_point(const FuncExpr *call, bool *of_argument)
{
	const char *name = tb_postgis_name(call->funcid);

	*of_argument = name != NULL &&
		(strcmp(name, "st_setsrid") == 0 || strcmp(name, "st_snaptogrid") == 0);
	for (int i = 0; name != NULL && i < (int) lengthof(point_makers); i++)
		if (strcmp(name, point_makers[i]) == 0)
			return true;
	return *of_argument;
}

/* The function that a node calls, and its arguments; false: it calls none. */
static bool
read_call(Node *node, Oid *funcid, List **args)
{
	if (IsA(node, FuncExpr))
	{
		*funcid = ((FuncExpr *) node)->funcid;
		*args = ((FuncExpr *) node)->args;
	}
	else if (IsA(node, OpExpr))
	{
		*funcid = get_opcode(((OpExpr *) node)->opno);
		*args = ((OpExpr *) node)->args;
	}
	else
		return false;
	return true;
}

static bool
calls_postgis(Node *node, void *context)
{
	Oid	  funcid;
	List *args;

	if (node == NULL)
		return false;
	if (read_call(node, &funcid, &args) && funcid >= FirstNormalObjectId &&
		tb_postgis_function(funcid) >= 0)
		return true;
	return expression_tree_walker(node, calls_postgis, context);
}

bool
tb_calls_postgis(Node *node)
{
	return calls_postgis(node, NULL);
}

/* A constant may be a point, too. */
static bool
is_point(Expr *expr)
{
	bool of_argument;

	if (tb_is_declared_point(expr))
		return true;
	if (IsA(expr, Const) && !((Const *) expr)->constisnull)
	{
		struct varlena *value = PG_DETOAST_DATUM(((Const *) expr)->constvalue);
		TbBox			box;
		int				point;

		(void) tb_geometry_extent((const uint8 *) VARDATA_ANY(value),
								  VARSIZE_ANY_EXHDR(value), &point, &box);
		return point != 0;
	}
	return IsA(expr, FuncExpr) && tb_makes_point((FuncExpr *) expr, &of_argument) &&
		(!of_argument || is_point(linitial(((FuncExpr *) expr)->args)));
}

static bool
is_among(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool
tb_is_geos_predicate(Oid funcid)
{
	const char *name = funcid < FirstNormalObjectId ? NULL : tb_postgis_name(funcid);

	return name != NULL && is_among(name, geos_predicates, lengthof(geos_predicates));
}

static bool
compares_boxes(Node *node, void *context)
{
	Oid			funcid;
	List	   *args;
	const char *name;

	if (node == NULL)
		return false;
	if (read_call(node, &funcid, &args) && funcid >= FirstNormalObjectId &&
		list_length(args) >= 2 && (name = tb_postgis_name(funcid)) != NULL &&
		(is_among(name, geos_predicates, lengthof(geos_predicates)) ||
		 (is_among(name, point_predicates, lengthof(point_predicates)) &&
		  !is_point(linitial(args)) && !is_point(lsecond(args)))))
		return true;
	return expression_tree_walker(node, compares_boxes, context);
}

bool
tb_compares_boxes(Node *node)
{
	return compares_boxes(node, NULL);
}
