/*
 * join_program_internal.h - the programs of a tree under construction: join_program.c
 * translates into them, join_stages.c makes stages of them.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_PROGRAM_INTERNAL_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_PROGRAM_INTERNAL_H

#include "pg/planner/join/join_program.h"

typedef struct TbJoinSide TbJoinSide;

/* A join of a side. */
typedef struct TbSideJoin
{
	TbTreeJoin	*join;
	TbJoinSide	*inner;
	uint32		 index;	   /* in the side's program */
	bool		 matching; /* its conditions are being translated */
	TbStageJoin *shown;
	List		*stored;   /* TbStoredKey: the keys of its join table */
} TbSideJoin;

typedef struct TbStoredKey
{
	Expr	  *expr;
	TbTypeInfo info;
} TbStoredKey;

struct TbJoinSide
{
	TbTranslator t;
	TbJoinTree	*tree;
	Path		*source;	   /* of the rows of another plan; NULL: a table is read */
	Relation	 relation;	   /* NULL: rows of another plan */
	List		*joins;		   /* TbSideJoin */
	List		*filters;	   /* RestrictInfo: of the tree's, those in the program */
	List		*pruning_keys; /* TbPruningKey */
	int			 last_full;	   /* index of the last FULL join; -1: none */
	uint32		 join_table;   /* number, of inner sides */
	bool		 needed;	   /* its rows; of FULL joins the probe side's are not */
	bool		 is_main;
};

struct TbJoinProgram
{
	PlannerInfo *root;
	TbJoinSide	*main;
	uint32		 ntables;
	List		*built;		   /* TbSideJoin: those whose join tables are described */
	List	   **late_filters; /* of the main side; NULL: there must be none */
	const char	*reason;
};

/* Notes why; returns false. */
extern bool tb_join_program_refuse(TbJoinProgram *program, const char *reason);

#endif
