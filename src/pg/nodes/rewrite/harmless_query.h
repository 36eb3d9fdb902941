/*
 * harmless_query.h - whether parts of a query may be evaluated for more rows, or for fewer,
 * than its text says, and nobody notices.
 */
#ifndef TURBINE_PG_NODES_REWRITE_HARMLESS_QUERY_H
#define TURBINE_PG_NODES_REWRITE_HARMLESS_QUERY_H

#include "postgres.h"

#include "nodes/nodes.h"

/* Whether no expression of the tree, subqueries included, may raise an error, is volatile,
 * or has an effect. Of a query as the parser and the rewriter leave it. */
extern bool tb_query_is_harmless(Node *tree);

#endif
