/*
 * our_nodes.h - the CustomScans of pg_turbine in plans and paths: the one list of them.
 */
#ifndef TURBINE_PG_PLANS_OUR_NODES_H
#define TURBINE_PG_PLANS_OUR_NODES_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Names of the nodes, in EXPLAIN and as methods of plans. */
#define TB_GPU_SCAN_NAME "GpuScan"
#define TB_GPU_FILE_SCAN_NAME "GpuFileScan"
#define TB_GPU_COLUMN_SCAN_NAME "GpuColumnScan"
#define TB_GPU_JOIN_NAME "GpuJoin"
#define TB_GPU_PREAGG_NAME "GpuPreAgg"
#define TB_GPU_DISTINCT_NAME "GpuDistinct"
#define TB_GPU_SORT_NAME "GpuSort"

typedef enum TbNodeKind
{
	TB_NODE_NONE, /* PostgreSQL's, or another extension's */
	TB_NODE_SCAN,
	TB_NODE_FILE_SCAN,
	TB_NODE_JOIN,
	TB_NODE_PREAGG,
	TB_NODE_SORT,
	TB_NODE_DISTINCT /* runs no program: its children do */
} TbNodeKind;

/* What the plan's top, or the path's, is. */
extern TbNodeKind tb_node_kind(const Plan *plan);
extern TbNodeKind tb_node_kind_of_path(const Path *path);

/* Whether such a node returns rows of tables as they come, neither grouped nor sorted. */
extern bool tb_node_returns_table_rows(TbNodeKind kind);

/* custom_exprs of a GpuScan; those of other nodes are lists of the stages' parameters. */
typedef enum TbScanExprs
{
	TB_SCAN_EXPRS_FILTERS,	 /* the device's filters, as PostgreSQL has them */
	TB_SCAN_EXPRS_PARAMS,	 /* of the program */
	TB_SCAN_EXPRS_EVALUATED, /* what rows that the device did not filter must
							  * pass before they are returned */
	TB_SCAN_EXPRS_INDEX		 /* condition of the index scan */
} TbScanExprs;

#endif
