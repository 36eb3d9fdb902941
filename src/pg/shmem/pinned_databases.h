/*
 * pinned_databases.h - databases that have pinned tables, as far as this server has seen
 * any, and what was found there last.
 *
 * Advice: whoever keeps pinned tables loaded looks into these databases, and forgets those
 * that have none.
 */
#ifndef TURBINE_PG_SHMEM_PINNED_DATABASES_H
#define TURBINE_PG_SHMEM_PINNED_DATABASES_H

#include "postgres.h"

typedef struct TbPinnedDatabase
{
	Oid	   database; /* invalid: this place is free */
	bool   is_due;	 /* its labels have changed */
	uint64 state;	 /* of its pinned tables at the last look; a hash */
	uint64 looks;	 /* that came to their end */
	uint64 changes;	 /* of these, those that found another state than the one before */
} TbPinnedDatabase;

/* More than these are not looked after. */
#define TB_MAX_PINNED_DATABASES 64

/* It has some; `is_due`: its labels have changed. Costs next to nothing if that is known.
 */
extern void tb_pinned_databases_note(Oid database, bool is_due);

/* A look begins: it is not due any more. Returns the state at the last one. */
extern uint64 tb_pinned_databases_begin_look(Oid database);
/* It has ended. */
extern void	  tb_pinned_databases_end_look(Oid database, uint64 state);

/* It has none. */
extern void tb_pinned_databases_forget(Oid database);

/* Copies them; returns how many. */
extern int tb_pinned_databases_snapshot(TbPinnedDatabase *databases);

#endif
