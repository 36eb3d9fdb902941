/*
 * frame.h - window frames of a result plan's passes.
 *
 * Used by window.c. A frame is taken only if its bounds are constants, or offsets that the
 * engine compares as PostgreSQL would.
 */
#ifndef TURBINE_PG_NODES_SORT_FRAME_H
#define TURBINE_PG_NODES_SORT_FRAME_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "turbine/result.h"

#include "pg/convert/final_values.h"

typedef enum TbFrameSide
{
	TB_FRAME_START,
	TB_FRAME_END
} TbFrameSide;

/* What `key`, the window's one order key, becomes by the offset of that side, if rows
 * differ in how far it takes them (TbWindowPass); else NULL. */
extern Expr *tb_frame_limit(const WindowClause *clause, TbFrameSide side, const Node *key);

/*
 * Sets mode, bounds, offsets, limits and exclusion of the pass. `key`: the column of the
 * one order key, if it tells rows of a partition apart; else NULL. `limits`: those of
 * tb_frame_limit, by side; NULL: no such column. False, with *reason, if the frame, or an
 * error that it will raise, is PostgreSQL's.
 */
extern bool tb_frame_choose(const WindowClause *clause, const TbOutput *key,
							const TbOutput *limits[2], TbWindowPass *pass,
							const char **reason);

#endif
