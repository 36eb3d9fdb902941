/*
 * copy_builder.h - rows on their way into a copy that other processes open
 * (turbine/export.h).
 *
 * Values gather in blocks and go to a memfd a column as they come, so that memory of this
 * backend is that of a block. turbined is asked for room before it is used.
 */
#ifndef TURBINE_PG_RESULTS_COPY_BUILDER_H
#define TURBINE_PG_RESULTS_COPY_BUILDER_H

#include "postgres.h"

#include "pg/export/query_rows.h"

typedef struct TbCopyTerms
{
	uint32		device; /* turbined's index, or TB_EXPORT_ANY_DEVICE */
	uint32		flags;	/* TB_EXPORT_OF_TOKEN, TB_EXPORT_MUST */
	Oid			relation;
	const char *source; /* its name; NULL: a query's rows */
} TbCopyTerms;

typedef struct TbCopyBuilder TbCopyBuilder;

/* In the current memory context. To be ended in all cases; the sink is the builder's. The
 * terms stay the caller's. */
extern TbCopyBuilder *tb_copy_builder_start(const TbCopyTerms *terms);
extern TbRowSink	 *tb_copy_builder_sink(TbCopyBuilder *builder);

/* Rows may come as one batch of a stream: it becomes the copy as it comes. */
extern void tb_copy_builder_accept_stream(TbCopyBuilder *builder);

/* Whether the rows' type has come. */
extern bool tb_copy_builder_has_begun(const TbCopyBuilder *builder);

/* All rows are there: hands the copy to turbined. Raises errors. */
extern void tb_copy_builder_finish(TbCopyBuilder *builder, TbExportInfo *info);

/* Closes what is open. Raises nothing. */
extern void tb_copy_builder_end(TbCopyBuilder *builder);

#endif
