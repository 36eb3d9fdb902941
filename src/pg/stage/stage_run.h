/*
 * stage_run.h - runs the stages of a node: join tables in order, then the
 * program that probes them, all under one snapshot and on one connection.
 */
#ifndef TURBINE_PG_STAGE_STAGE_RUN_H
#define TURBINE_PG_STAGE_STAGE_RUN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/source/program_run.h"
#include "pg/conversation/stage_connection.h"
#include "pg/planner/program/stage.h"
#include "pg/source/input.h"

/* A stage, prepared. */
typedef struct TbRunStage
{
	TbStageInfo info;
	TbProgram  *program;
	List	   *params;	  /* ExprState */
	bool		harmless; /* params are literals and the like */
	TbInput	   *input;
	bool		ran;	  /* in this run: its join table is built */

	/* EXPLAIN: of the last run */
	TbRunStats stats;
	bool	   have_stats;
} TbRunStage;

typedef struct TbStageRun
{
	CustomScanState		  *css;
	double				   groups;				/* estimate for the last stage */
	uint64				   unread_columns;		/* of its results: wire.h */
	TbResultPlan		  *result;				/* of the last stage; NULL: none */
	TbContinuationProgram *continuation;		/* behind that; NULL: none */
	List				  *continuation_params; /* ExprState */
	int					   nstages;
	TbRunStage			  *stages;
	MemoryContext		   context; /* of one run: parameters */
	PlanState			  *kept;	/* NULL until it is needed */

	TbStageConnection connection;
	TbProgramRun	 *program; /* the one under way */
	int				  current; /* its stage */
	bool			  asked;   /* PostgreSQL's plan was looked at: TbAhead */
	TbProfile		 *profile; /* NULL: nobody asks */
} TbStageRun;

/* Prepares expressions, and the plans whose rows are sent, which become the first
 * of custom_ps; lives as long as the executor state. */
extern TbStageRun *tb_stage_run_make(CustomScanState *css, int eflags);

/* The kept plan, initialized behind them when first asked for. */
extern PlanState *tb_stage_run_kept(TbStageRun *run);

/* Ends, and rescans, all of custom_ps. */
extern void tb_stage_run_end_plans(TbStageRun *run);
extern void tb_stage_run_rescan_plans(TbStageRun *run);

typedef enum TbRunStart
{
	TB_RUN_STARTED,
	TB_RUN_EMPTY,	/* no row can come out */
	TB_RUN_FALLBACK /* PostgreSQL's plan must run, see *why */
} TbRunStart;

/* Builds the join tables and starts the last stage. */
extern TbRunStart tb_stage_run_start(TbStageRun *run, TbFailure *why);

/* Batches of the last stage, as tb_program_run_next. */
extern TbResultsNext tb_stage_run_next(TbStageRun *run, const TbResultBatch **batch,
									   TbFailure *why);

/* Of the last stage's table, for messages. */
extern const char *tb_stage_run_table_name(const TbStageRun *run);

/* Ends what runs; start may be called again. */
extern void tb_stage_run_end(TbStageRun *run);

/* NULL if the stage has not run. */
extern const TbRunStats *tb_stage_run_stats(TbStageRun *run, int stage);

#endif
