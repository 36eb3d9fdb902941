/*
 * kept_copies.h - arguments of type reggstore: copies of tables, of which the session's
 * process keeps some for calls to come.
 */
#ifndef TURBINE_PG_PLCUDA_KEPT_COPIES_H
#define TURBINE_PG_PLCUDA_KEPT_COPIES_H

#include "postgres.h"

#include "lib/stringinfo.h"

/* Appends a TbPlcudaStore and what follows it: a token of a new export, or the number of
 * the copy that the process has. The process is this session's and busy (runner.h). Raises
 * what turbine.export refuses. */
extern void tb_plcuda_encode_store(StringInfo to, Oid relid);

/* The process has ended: its copies are gone. */
extern void tb_plcuda_copies_ended(void);

/* The process has not kept what it was believed to have. If that happens again and again,
 * no copies are kept in it any more. */
extern void tb_plcuda_copies_missing(void);

/* A call has found all that it needed. */
extern void tb_plcuda_copies_found(void);

#endif
