/*
 * result_batches.h - the results of a query, kept until all have come.
 *
 * A result batch is a RESULT_BATCH message and what its slot holds: rows in columns, be
 * they groups (AGGREGATE) or kept rows (PROJECT).
 */
#ifndef TURBINE_PG_CONVERSATION_RESULT_BATCHES_H
#define TURBINE_PG_CONVERSATION_RESULT_BATCHES_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/result.h"
#include "turbine/wire.h"

#include "pg/conversation/service_query.h"

typedef struct TbResultBatches TbResultBatches;

/* After INPUT_END: takes all batches in, up to QUERY_DONE. NULL if the query has failed
 * meanwhile. In the current memory context; beyond work_mem in a temporary file. If the
 * query has a taker it gets them, and none is kept. */
extern TbResultBatches *tb_result_batches_collect(TbServiceQuery *query, bool fed);

/* The next batch, valid until the next call; NULL at the end. Its offsets count from its
 * own start, and all of them, text views too, were checked. */
extern const TbResultBatch *tb_result_batches_next(TbResultBatches *batches);

/* Closes the temporary file. */
extern void tb_result_batches_end(TbResultBatches *batches);

#endif
