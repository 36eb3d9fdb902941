/*
 * fold_state.h - two values of an aggregate's state become one.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_FOLD_STATE_H
#define TURBINE_PG_NODES_AGGREGATE_FOLD_STATE_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/wire.h"

/* MIN, MAX of a text in a folded group, in place of a view. */
typedef struct TbStoredText
{
	char  *bytes;
	uint32 length;
	uint32 capacity;
} TbStoredText;

StaticAssertDecl(sizeof(TbStoredText) == sizeof(TbTextView), "a text's place in a group");

/* Adds `from` to the value at `to`; neither is NULL or a text. False: the sum does not fit.
 */
extern bool tb_fold_value(const TbAgg *agg, char *to, const char *from);

/* The same of a TbStoredText; `is_first`: it has no text yet. Its bytes are kept in the
 * context. */
extern void tb_fold_text(MemoryContext context, const TbAgg *agg, char *to, bool is_first,
						 const char *bytes, uint32 length);

#endif
