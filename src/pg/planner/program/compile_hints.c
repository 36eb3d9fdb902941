/*
 * compile_hints.c - see compile_hints.h. Noted by rivals.c, sent by the planner hook
 * when a run of the planner ends.
 *
 * Owns nothing: the list is the run's. Must never make planning fail or wait for a
 * compilation.
 */
#include "postgres.h"

#include "pg/conversation/service_query.h"
#include "pg/planner/program/compile_hints.h"
#include "pg/planner/program/stage.h"
#include "pg/planner/planning.h"
#include "pg/shmem/cache_advice.h"

/* The last programs of a run are those of whole queries; more are not worth the service's
 * time. */
#define MOST_HINTS 12

static bool
is_hinted(const TbStage *stage)
{
	ListCell *lc;

	foreach(lc, tb_planning()->compile_hints)
		if (((const TbStage *) lfirst(lc))->info.work.program.shape ==
			stage->info.work.program.shape)
			return true;
	return false;
}

void
tb_compile_hints_note(List *stages)
{
	List	**hints = &tb_planning()->compile_hints;
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage *stage = lfirst(lc);

		if (tb_advice_has_code(stage->info.work.program.shape) || is_hinted(stage))
			continue;
		*hints = lappend(*hints, stage);
		if (list_length(*hints) > MOST_HINTS)
			*hints = list_delete_first(*hints);
	}
}

void
tb_compile_hints_send(void)
{
	TbStageConnection connection = {0};
	TbFailure		  why;
	ListCell		 *lc;

	if (tb_planning()->compile_hints == NIL ||
		!tb_stage_connection_begin(&connection, &why))
		return;
	foreach(lc, tb_planning()->compile_hints)
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
