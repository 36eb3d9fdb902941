/*
 * compile_hints.h - programs of nodes that lost to PostgreSQL's plan only because nobody
 * has compiled them yet.
 *
 * The service compiles them while PostgreSQL's plan runs, so that the next planning finds
 * their code: else a query whose plan takes less than its compilation would stay with
 * PostgreSQL for ever, however often it comes.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_COMPILE_HINTS_H
#define TURBINE_PG_PLANNER_PROGRAM_COMPILE_HINTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Tells the service what the run has noted. Without one nothing happens. */
extern void tb_compile_hints_send(void);

/* `stages`: TbStages of a node that lost; nothing of them may change until the run ends. */
extern void tb_compile_hints_note(List *stages);

#endif
