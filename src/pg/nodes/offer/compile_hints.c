/*
 * compile_hints.c - see compile_hints.h. Noted by plan_rivals.c, begun and ended by the
 * planner hook.
 *
 * Owns the list of one run of the planner. Must never make planning fail or wait for a
 * compilation.
 */
#include "postgres.h"

#include "pg/conversation/stage_connection.h"
#include "pg/nodes/offer/compile_hints.h"
#include "pg/planner/program/stage.h"
#include "pg/shmem/cache_advice.h"

/* The last programs of a run are those of whole queries; more are not worth the service's
 * time. */
#define MOST_HINTS 12

static List *hints = NIL; /* TbStage */

List *
tb_compile_hints_begin(void)
{
	List *outer = hints;

	hints = NIL;
	return outer;
}

void
tb_compile_hints_end(List *outer)
{
	hints = outer;
}

static bool
is_noted(const TbStage *stage)
{
	ListCell *lc;

	foreach(lc, hints)
		if (((const TbStage *) lfirst(lc))->info.work.program.shape ==
			stage->info.work.program.shape)
			return true;
	return false;
}

void
tb_compile_hints_note(List *stages)
{
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage *stage = lfirst(lc);

		if (tb_advice_has_code(stage->info.work.program.shape) || is_noted(stage))
			continue;
		hints = lappend(hints, stage);
		if (list_length(hints) > MOST_HINTS)
			hints = list_delete_first(hints);
	}
}

void
tb_compile_hints_send(void)
{
	TbStageConnection connection = {0};
	TbFailure		  why;
	ListCell		 *lc;

	if (hints == NIL || !tb_stage_connection_begin(&connection, &why))
		return;
	foreach(lc, hints)
	{
		const TbStage *stage = lfirst(lc);
		bool		   builds = stage->program->sink == TB_SINK_BUILD;

		if (!tb_program_prepare(connection.conn, stage->program,
								tb_stage_device(&stage->info, stage->source != NULL,
												builds),
								&why))
			return;
		/* From now on it is as good as there: who comes first waits for the rest of it. */
		tb_advice_note_code(stage->info.work.program.shape);
	}
	tb_stage_connection_end(&connection);
}
