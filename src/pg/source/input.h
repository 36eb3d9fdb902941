/*
 * input.h - where the rows of a program come from, for as long as its node lives: a table,
 * files, the leaves of a partitioned table, rows of a plan.
 *
 * An input is made once, when the executor prepares the node. For each run it chooses what
 * is to be read, and opens sources (source.h), which live as long as the run. Those who run
 * programs know inputs by this file only.
 *
 * To add an input, embed TbInput as the first member of a struct beside its source, fill in
 * the methods, and register it: src/pg/README.md says where.
 */
#ifndef TURBINE_PG_SOURCE_INPUT_H
#define TURBINE_PG_SOURCE_INPUT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "turbine/wire.h"

#include "pg/source/source.h"

typedef struct TbInput TbInput;

/* What a program wants of its input in one run. */
typedef struct TbInputUse
{
	Snapshot	 snapshot;
	uint64		 attributes; /* that are decoded: TbAttributes */
	double		 engine_us;	 /* of processors, that computing takes in sum */
	ExprContext *econtext;	 /* for parameters */
} TbInputUse;

/* What indexes have left out of a table in its last run. */
typedef struct TbIndexUse
{
	bool   used;	/* there are such indexes */
	bool   of_brin; /* and no others */
	bool   ran;
	uint64 blocks;	/* of the table */
	uint64 skipped;
} TbIndexUse;

/* What this run has built as join table number `table`. */
typedef const TbQueryDone *(*TbTableBuilt)(const void *run, uint32 table);

typedef struct TbInputMethods
{
	/* Whether it has no row, as far as is known without a look at any parameter. */
	bool (*is_empty)(const TbInput *input);

	/* Chooses what is read, as PostgreSQL would on its first row, in the current context.
	 * False: nothing. */
	bool (*choose)(TbInput *input);

	/* Leaves out of that what has no match in join tables, all built by now. False: nothing
	 * is left. May be NULL: it leaves out nothing. */
	bool (*prune)(TbInput *input, TbTableBuilt table_built, const void *run);

	/* Announces programs that it wants besides the stage's. May be NULL. */
	bool (*prepare)(TbInput *input, TbConnection *conn, uint32 device, TbFailure *why);

	/* Adds the sources of what was chosen, in the current context. False, with *why: a
	 * value has no form that devices know. */
	bool (*open)(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why);

	/* Takes what the sources have delivered, as long as they are there. May be NULL. */
	void (*note)(TbInput *input);

	/* The sources are gone. May be NULL. */
	void (*close)(TbInput *input);

	/* Whether it reads this entry of the range table besides its own. May be NULL: no. */
	bool (*reads)(const TbInput *input, Index rti);

	/* Whether a plan that reads it now finds the rows that it had, in their order. May be
	 * NULL: the snapshot says so. */
	bool (*is_unchanged)(const TbInput *input);

	/* May be NULL: it never uses any. */
	TbIndexUse (*index_use)(const TbInput *input);
} TbInputMethods;

struct TbInput
{
	const TbInputMethods *methods;
	const char			 *name; /* for messages */
	Index				  rti;	/* its table's entry in the range table; 0: none */
	PlanState			 *plan; /* whose rows it is, one of custom_ps; NULL: a table's */
};

static inline bool
tb_input_reads(const TbInput *input, Index rti)
{
	return input->rti == rti ||
		(input->methods->reads != NULL && input->methods->reads(input, rti));
}

#endif
