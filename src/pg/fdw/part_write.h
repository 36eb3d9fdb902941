/*
 * part_write.h - rows of one statement on their way into a part of a file.
 *
 * The transaction's commit makes the files of their parts (pending_file.h); an abort of the
 * statement's (sub)transaction ends the writer and forgets the part.
 */
#ifndef TURBINE_PG_PART_WRITE_H
#define TURBINE_PG_PART_WRITE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

typedef struct TbPartWrite TbPartWrite;

/* Waits for other writers of the table's file. Raises an error if the table or the file can
 * not be written to. */
extern TbPartWrite *tb_part_write_begin(Relation relation);
extern void			tb_part_write_add(TbPartWrite *write, TupleTableSlot *slot);

/* The transaction's next statement sees the rows. Raises an error if the file does not take
 * them. */
extern void tb_part_write_end(TbPartWrite *write);

/* All rows of the table's file go. */
extern void tb_part_write_truncate(Relation relation);

#endif
