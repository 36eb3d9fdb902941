/*
 * join_keys.h - which equalities find rows of a join table, and in what common
 * type.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_KEYS_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_KEYS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/expression/expression.h"

/* Whether the clause is an equality that is the same as equal bytes of the
 * engine's keys, once both sides have one type. */
extern bool tb_join_key_clause(const RestrictInfo *rinfo);

/* Whether it is one of values of the outer side and values of the inner side, in either
 * order: it finds rows of the inner side by a key. */
extern bool tb_join_key_between(const RestrictInfo *rinfo, Relids outer, Relids inner);

/* Brings both values, each of its own program, to one type and scale. False if
 * there is none; then nothing has changed. */
extern bool tb_join_keys_unify(TbTranslator *a_translator, TbValue *a,
							   TbTranslator *b_translator, TbValue *b);

/* Makes the value one of another's type, which is that of a key of a join table. False: it
 * is of none that can be compared with it exactly. */
extern bool tb_join_key_fit(TbTranslator *t, TbValue *value, TbTypeInfo key);

#endif
