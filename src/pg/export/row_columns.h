/*
 * row_columns.h - rows gathered column by column, as files and copies in memory take them.
 *
 * Most types' own bytes are what is wanted; calling their send function would take many
 * times as long as copying them.
 */
#ifndef TURBINE_PG_EXPORT_ROW_COLUMNS_H
#define TURBINE_PG_EXPORT_ROW_COLUMNS_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

#include "pg/convert/final_values.h"
#include "turbine/wire.h"

/* What the rows are for: it decides what values become. */
typedef enum TbRowTarget
{
	TB_ROWS_ARROW_FILE,
	TB_ROWS_PARQUET_FILE,
	TB_ROWS_ADDITION, /* to a file that has its types already */
	TB_ROWS_MEMORY	  /* of another process; turbine/export.h */
} TbRowTarget;

/* A column of rows: values that are not sent or written yet. */
typedef struct TbRowColumn
{
	int	  attribute; /* attnum - 1 */
	Oid	  type;		 /* whose send function; 0: texts, by the output function */
	int32 modifier;
	Oid	  element;	 /* of an array; else 0 */
	int	  width;	 /* bytes of each value; 0: it has lengths */

	bool is_decimal; /* width 16: integers in units of `scale`; TB_WRITER_NO_DECIMAL and
						TB_WRITER_NAN (turbine/file_writer.h) as the upper half of others */
	int	 precision;
	int	 scale;
	bool is_varlena; /* a value's own bytes are taken; else what the function makes of it */
	FmgrInfo function;

	int			   nrows;
	int			   nnulls;
	uint8		  *valid;	/* of fixed width */
	int32		  *lengths; /* of others; -1: NULL */
	StringInfoData values;
} TbRowColumn;

/* Room for so many rows, in the current memory context. */
extern void tb_row_column_init(TbRowColumn *column, Form_pg_attribute att,
							   TbRowTarget target, int most_rows);

/* A row's values, by attnum - 1, to all columns. May leave memory in the current context.
 * Returns the bytes that it added. */
extern Size tb_row_columns_add(TbRowColumn *columns, int ncolumns, const Datum *values,
							   const bool *nulls);

/* The output's values in `nrows` rows of a batch, from row `first` on; there is room for
 * them. As above. */
extern Size tb_row_column_add_batch(TbRowColumn *column, const TbOutput *output,
									const TbResultBatch *batch, uint32 first, uint32 nrows);

/* Whether the column's values are those of the output's column, in PostgreSQL's form or, of
 * a decimal, as integers of 64 or 128 bits in its units; texts in UTF-8. */
extern bool tb_row_column_is_output(const TbRowColumn *column, const TbOutput *output);

/* Empties the column. */
extern void tb_row_column_reset(TbRowColumn *column);

#endif
