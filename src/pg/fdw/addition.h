/*
 * addition.h - rows of one statement on their way into an addition of a file.
 *
 * The transaction's commit makes the files of their additions (pending_file.h); an abort of
 * the statement's (sub)transaction ends the writer and forgets the addition.
 */
#ifndef TURBINE_PG_FDW_ADDITION_H
#define TURBINE_PG_FDW_ADDITION_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

typedef struct TbAddition TbAddition;

/* Waits for other writers of the table's file. Raises an error if the table or the file can
 * not be written to. */
extern TbAddition *tb_addition_begin(Relation relation);
extern void		   tb_addition_add(TbAddition *write, TupleTableSlot *slot);

/* The transaction's next statement sees the rows. Raises an error if the file does not take
 * them. */
extern void tb_addition_end(TbAddition *write);

/* All rows of the table's file go. */
extern void tb_addition_truncate(Relation relation);

#endif
