/*
 * noted_nodes.h - what accelerated node computes a relation, for nodes that sort
 * what it returns.
 */
#ifndef TURBINE_PG_NODES_OFFER_NOTED_NODES_H
#define TURBINE_PG_NODES_OFFER_NOTED_NODES_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Notes a copy of the path, before add_path may free it. */
extern void tb_noted_nodes_note(const RelOptInfo *rel, const CustomPath *path);

/* The last one noted; NULL: none. */
extern const CustomPath *tb_noted_node_of(const RelOptInfo *rel);

#endif
