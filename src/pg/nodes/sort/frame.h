/*
 * frame.h - window frames of a result plan's passes.
 *
 * Used by window.c. A frame is taken only if its bounds are constants, or offsets that the
 * engine compares as PostgreSQL would.
 */
#ifndef TURBINE_PG_SORT_FRAME_H
#define TURBINE_PG_SORT_FRAME_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "turbine/result.h"

#include "pg/convert/final_values.h"

/*
 * Sets mode, bounds, offsets and exclusion of the pass. `key`: the column of the one
 * order key, if it tells rows of a partition apart; else NULL. False, with *reason, if
 * the frame, or an error that it will raise, is PostgreSQL's.
 */
extern bool tb_frame_choose(const WindowClause *clause, const TbOutput *key,
							TbWindowPass *pass, const char **reason);

#endif
