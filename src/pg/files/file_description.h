/*
 * file_description.h - what a file holds: format, columns, batches and their bounds.
 *
 * turbine-file-reader describes a file once; the backend keeps its answer by the file's
 * identity.
 */
#ifndef TURBINE_PG_FILES_FILE_DESCRIPTION_H
#define TURBINE_PG_FILES_FILE_DESCRIPTION_H

#include "postgres.h"

#include "pg/files/file_identity.h"

typedef enum TbFileFormat
{
	TB_FILE_ARROW = 1,		  /* Arrow IPC file */
	TB_FILE_ARROW_STREAM = 2, /* Arrow IPC stream */
	TB_FILE_PARQUET = 3
} TbFileFormat;

typedef struct TbFileColumn
{
	char *name;
	char *arrow_type; /* as libarrow writes it: "timestamp[us, tz=UTC]" */
	char *sql_type;	  /* a type for IMPORT FOREIGN SCHEMA; NULL: there is none */
	char *geometry;	  /* "geometry" and its type modifier; NULL: the file calls it none */
	char *problem;	  /* why it is no geometry of PostGIS's all the same; NULL: it is */
	bool  nullable;
	bool  has_bounds; /* of at least one batch */
} TbFileColumn;

typedef struct TbFileBatch
{
	int64 nrows;
	int64 nbytes; /* in the file, compressed if it is */
} TbFileBatch;

typedef struct TbFileDescription
{
	TbFileFormat  format;
	int			  ncolumns;
	TbFileColumn *columns;
	int			  nbatches;
	TbFileBatch	 *batches;
	int64		  nrows;
	int64		 *column_bytes; /* by column: in the file, or an estimate */
} TbFileDescription;

/* What an open file holds, in the caller's memory context. Raises an error if it is
 * malformed. */
extern TbFileDescription *tb_file_describe(const char *path, int fd,
										   const TbFileVersion *identity);

#endif
