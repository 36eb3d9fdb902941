/*
 * postgres_scan.c - see postgres_scan.h.
 *
 * A wrapper makes its paths once; theirs is copied, since the planner may have given it
 * another target meanwhile.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "pg/planner/postgres/postgres_scan.h"

/* The wrapper's, or what a node of ours has kept of it: the planner has dropped it for that
 * then. */
static const ForeignPath *
foreign_path_of(const Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	if (IsA(path, CustomPath) && ((const CustomPath *) path)->custom_paths != NIL)
		path = linitial(((const CustomPath *) path)->custom_paths);
	return IsA(path, ForeignPath) && path->param_info == NULL ? (const ForeignPath *) path :
																NULL;
}

static const ForeignPath *
foreign_path(const RelOptInfo *rel)
{
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		const ForeignPath *path = foreign_path_of(lfirst(lc));

		if (path != NULL)
			return path;
	}
	elog(ERROR, "a foreign table has no path of its wrapper");
}

Path *
tb_postgres_scan(PlannerInfo *root, RelOptInfo *rel)
{
	ForeignPath *path;

	if (rel->fdwroutine == NULL)
		return create_seqscan_path(root, rel, NULL, 0);
	path = makeNode(ForeignPath);
	*path = *foreign_path(rel);
	path->path.pathtarget = rel->reltarget;
	return &path->path;
}
