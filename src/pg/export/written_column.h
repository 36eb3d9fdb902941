/*
 * written_column.h - a column of rows on their way to a file: its values gather here, one
 * behind the other, and go to the writer as a part of a block
 * (include/turbine/file_writer.h).
 */
#ifndef TURBINE_PG_EXPORT_WRITTEN_COLUMN_H
#define TURBINE_PG_EXPORT_WRITTEN_COLUMN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

#include "pg/convert/final_values.h"

typedef struct TbWrittenColumn
{
	int	  attribute; /* attnum - 1 */
	Oid	  type;		 /* whose send function; 0: texts, by the output function */
	int32 modifier;
	Oid	  element;	 /* of an array; else 0 */
	int	  width;	 /* bytes of each value; 0: it has lengths */

	bool is_decimal; /* width 16: integers in units of `scale`
						(include/turbine/file_writer.h) */
	int	 scale;
	bool is_varlena; /* a value's own bytes are sent; else what the function makes of it */
	FmgrInfo function;

	int			   nrows;
	int			   nnulls;
	uint8		  *valid;	/* of fixed width */
	int32		  *lengths; /* of others; -1: NULL */
	StringInfoData values;
} TbWrittenColumn;

/* Room for so many rows, in the current memory context. `own_types`: the file has the types
 * that this one would choose. */
extern void tb_written_column_init(TbWrittenColumn *column, Form_pg_attribute att,
								   bool parquet, bool own_types, int most_rows);

/* Adds a row's values, by attnum - 1. May leave memory in the current context. Returns the
 * bytes that it added. */
extern Size tb_written_columns_add(TbWrittenColumn *columns, int ncolumns,
								   const Datum *values, const bool *nulls);

/* Adds the output's values in `nrows` rows of a batch, from row `first` on; there is room
 * for them. As above. */
extern Size tb_written_column_add_rows(TbWrittenColumn *column, const TbOutput *output,
									   const TbResultBatch *batch, uint32 first,
									   uint32 nrows);

/* Appends the column's part of a block; the column is empty afterwards. */
extern void tb_written_column_move(StringInfo block, TbWrittenColumn *column);

#endif
