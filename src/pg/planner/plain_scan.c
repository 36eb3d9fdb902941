/*
 * plain_scan.c - see plain_scan.h.
 *
 * A wrapper makes its paths once; theirs is copied, since the planner may have given it
 * another target meanwhile.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "pg/planner/plain_scan.h"

static const ForeignPath *
foreign_path(const RelOptInfo *rel)
{
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		Path *path = lfirst(lc);

		if (IsA(path, ProjectionPath))
			path = ((ProjectionPath *) path)->subpath;
		if (IsA(path, ForeignPath) && path->param_info == NULL)
			return (const ForeignPath *) path;
	}
	elog(ERROR, "a foreign table has no path of its wrapper");
}

Path *
tb_plain_scan(PlannerInfo *root, RelOptInfo *rel)
{
	ForeignPath *path;

	if (rel->fdwroutine == NULL)
		return create_seqscan_path(root, rel, NULL, 0);
	path = makeNode(ForeignPath);
	*path = *foreign_path(rel);
	path->path.pathtarget = rel->reltarget;
	return &path->path;
}
