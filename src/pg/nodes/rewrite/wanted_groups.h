/*
 * wanted_groups.h - which groups a query can ask for, as a condition on the rows that are
 * grouped.
 */
#ifndef TURBINE_PG_NODES_REWRITE_WANTED_GROUPS_H
#define TURBINE_PG_NODES_REWRITE_WANTED_GROUPS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* An equality of a column of grouped rows and one of the query. */
typedef struct TbGroupEquality
{
	Oid	  opno; /* inner = outer */
	Oid	  collation;
	Expr *inner;
	Var	 *outer; /* as the query has it */
} TbGroupEquality;

/*
 * (inner, ...) IN (SELECT outer, ... FROM t WHERE what the query demands of t alone), a
 * SubLink for the grouped query. `conditions`: of the query's WHERE, all of which every row
 * that comes out fulfills. NULL: the columns are not of one table that is inner joined, or
 * nothing is demanded of it.
 */
extern SubLink *tb_wanted_groups(const Query *query, List *conditions, List *equalities);

/* Whether each row that comes of the jointree has one of the table: no outer join may lack
 * it. */
extern bool tb_is_inner_joined(const Node *jointree, int rti);

#endif
