/*
 * relation_files.h - sends turbined the files that a relation is stored in, open.
 * turbined's side: src/engine/source/heap/relation_files.h.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_RELATION_FILES_H
#define TURBINE_PG_SOURCE_HEAP_RELATION_FILES_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/relcache.h"

#include "pg/conversation/service_query.h"

typedef enum TbFilesSent
{
	TB_FILES_SENT,
	TB_FILES_NONE, /* could not open them all: read buffered */
	TB_FILES_LOST  /* the connection is closed */
} TbFilesSent;

/* Opens the main fork's relation files for reading, sends the descriptors, closes
 * its own. They are for the query to come, or for what the one under way reads
 * next. */
extern TbFilesSent tb_relation_files_send(TbServiceQuery *query, Relation rel,
										  BlockNumber nblocks);

#endif
