/*
 * files_input.c - see files_input.h.
 *
 * Each file becomes a part of the input: its descriptor, and what the program's columns are
 * called in it or, of those that come from its path, what they are. The service reads it;
 * nothing is sent in slots. The source owns how far it has come. Called through the methods
 * of input.h and source.h.
 */
#include "postgres.h"

#include "access/attmap.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/bridge/failure.h"
#include "pg/compat/pg18.h"
#include "pg/convert/param_block.h"
#include "pg/convert/type_map.h"
#include "pg/settings/guc.h"
#include "pg/source/files/files_input.h"

typedef struct FilesSource
{
	TbSource		   base;
	const TbFilesPart *parts;
	int				   nparts;
	TbServiceQuery	  *query; /* from announce() on */
	uint64			   sent;  /* files */
} FilesSource;

static bool
files_announce(TbSource *source, TbServiceQuery *query, TbInputSize *size)
{
	FilesSource *files = (FilesSource *) source;

	files->query = query;
	/* A table's files lie together, mostly. */
	for (int i = 0; i < files->nparts; i++)
		if (files->parts[i].table->nfiles > 0)
		{
			TbGpuPreference preference = tb_gpus_of_file(
				files->parts[i].table->files[0].path);

			tb_service_query_prefer(query, &preference, files->parts[i].table->nfiles);
		}
	return true;
}

static bool
give_up(FilesSource *files, const char *message)
{
	TbFailure why;

	tb_failure_set(&why, TB_FALLBACK_VALUE, message);
	return tb_service_query_give_up(files->query, &why);
}

static void
point_to_bytes(TbPartColumn *column, StringInfo bytes, const char *start, uint32 length)
{
	column->offset = bytes->len;
	column->length = length;
	appendBinaryStringInfo(bytes, start, length);
}

/* The value that all rows of the file have; false: the device knows no form for it. */
static bool
describe_constant(Form_pg_attribute att, const TbColumn *column, const char *value,
				  TbPartColumn *to, StringInfo bytes)
{
	TbParamShape shape = {.type = column->type, .scale = column->scale};
	Oid			 input;
	Oid			 param;
	Datum		 datum;

	to->is_constant = 1;
	to->is_null = value == NULL;
	/* NULL needs no value. */
	if (value == NULL)
		return true;
	if (column->flags & (TB_COL_DISPLAY_SCALE | TB_COL_COORDINATE))
		return false;
	/* Paths have values as text. */
	getTypeInputInfo(att->atttypid, &input, &param);
	datum = OidInputFunctionCall(input, unconstify(char *, value), param, att->atttypmod);
	if (tb_type_is_text(column->type))
	{
		uint32 length;
		text  *bytes_of = tb_param_text(datum, column->type, &length);

		point_to_bytes(to, bytes, VARDATA_ANY(bytes_of), length);
		return true;
	}
	return tb_param_scalar(datum, &shape, to->constant);
}

/* What the column's declared type holds; of files nobody has checked it. */
static uint32
most_of(Form_pg_attribute att, const TbColumn *column)
{
	int precision;
	int scale;

	if (att->atttypmod < 0 || (column->flags & TB_COL_DISPLAY_SCALE))
		return 0;
	if (column->type == TB_TYPE_GEOMETRY)
		return att->atttypmod;
	if (tb_type_is_text(column->type))
		return att->atttypmod - VARHDRSZ;
	if (tb_type_is_numeric(column->type) &&
		tb_numeric_typmod(att->atttypmod, &precision, &scale))
		return precision;
	return 0;
}

static bool
describe_column(const TbFilesPart *part, const TbTableFile *file, const TbColumn *column,
				TbPartColumn *to, StringInfo bytes)
{
	AttrNumber			 attnum = part->attnums == NULL ? column->attnum :
														  part->attnums[column->attnum - 1];
	const TbTableColumn *of = &part->table->columns[attnum - 1];

	memset(to, 0, sizeof(*to));
	to->most = most_of(TupleDescAttr(part->desc, attnum - 1), column);
	if (of->is_virtual)
		return describe_constant(TupleDescAttr(part->desc, attnum - 1), column,
								 file->virtual_values[attnum - 1], to, bytes);
	point_to_bytes(to, bytes, of->name, strlen(of->name));
	return true;
}

static bool
send_part(FilesSource *files, const TbFilesPart *of, const TbTableFile *file,
		  TbColumnFileFormat format)
{
	/* Cached rows come before others: a stream wants them in their order. */
	bool cached = tb_guc_enable_cache &&
		tb_service_query_spec(files->query)->stream == NULL;
	const TbProgram *program = tb_service_query_spec(files->query)->program;
	const TbColumn	*columns = (const TbColumn *) ((const char *) program +
												   program->columns.offset);
	TbPartColumn	 described[TB_MAX_COLUMNS];
	StringInfoData	 bytes;
	TbPart			 kind = {.kind = TB_PART_FILE};
	TbFilePart		 part = {.format = format, .flags = cached ? TB_FILE_PART_CACHED : 0};
	TbFiles			 message = {.first_file = 0, .count = 1};
	struct iovec	 head = {.iov_base = &message, .iov_len = sizeof(message)};
	struct iovec	 parts[4];
	int				 fd;
	bool			 sent;

	/* Describe the columns */
	initStringInfo(&bytes);
	for (uint32 i = 0; i < program->columns.count && columns[i].join == 0; i++)
		if (!describe_column(of, file, &columns[i], &described[part.ncolumns++], &bytes))
			return give_up(files,
						   "a value of a virtual column has no form that devices know");
	/* Put the part together */
	parts[0] = (struct iovec) {.iov_base = &kind, .iov_len = sizeof(kind)};
	parts[1] = (struct iovec) {.iov_base = &part, .iov_len = sizeof(part)};
	parts[2] = (struct iovec) {.iov_base = described,
							   .iov_len = sizeof(TbPartColumn) * part.ncolumns};
	parts[3] = (struct iovec) {.iov_base = bytes.data, .iov_len = bytes.len};
	/* Send file and part */
	fd = tb_table_file_open(file);
	sent = tb_service_query_send_parts(files->query, TB_MSG_FILES, &head, 1, &fd, 1) &&
		tb_service_query_send_parts(files->query, TB_MSG_PART, parts, 4, NULL, 0);
	tb_file_close(fd);
	pfree(bytes.data);
	return sent;
}

static bool
send_file(FilesSource *files, const TbFilesPart *of, const TbTableFile *file)
{
	switch (file->description->format)
	{
		case TB_FILE_ARROW:
			return send_part(files, of, file, TB_COLUMN_FILE_ARROW);
		case TB_FILE_PARQUET:
			return send_part(files, of, file, TB_COLUMN_FILE_PARQUET);
		case TB_FILE_ARROW_STREAM:
			return send_part(files, of, file, TB_COLUMN_FILE_ARROW_STREAM);
		default:
			return give_up(files, "a file of an unknown format");
	}
}

/* All at once: descriptors that follow are those of other parts of the input. */
static bool
files_begin(TbSource *source, TbServiceQuery *query, TbSlots *slots)
{
	FilesSource *files = (FilesSource *) source;

	for (int i = 0; i < files->nparts; i++)
	{
		const TbFilesPart *part = &files->parts[i];

		for (int j = 0; j < part->table->nfiles; j++)
		{
			CHECK_FOR_INTERRUPTS();
			files->sent++;
			if (!send_file(files, part, &part->table->files[j]))
				return false;
		}
	}
	return true;
}

static TbSourceFill
files_fill(TbSource *source, int slot)
{
	return TB_FILL_NOTHING;
}

/* No chunk of slots is ever sent. */
static bool
files_chunk_done(TbSource *source, uint32 slot)
{
	return false;
}

static void
files_report(const TbSource *source, TbRunStats *stats)
{
	const FilesSource *files = (const FilesSource *) source;

	stats->files = files->sent;
}

static const TbSourceMethods files_methods = {
	.announce = files_announce,
	.begin = files_begin,
	.fill = files_fill,
	.chunk_done = files_chunk_done,
	.report = files_report,
};

TbSource *
tb_files_source_make(const TbFilesPart *parts, int nparts)
{
	FilesSource *files = palloc0(sizeof(FilesSource));

	files->base.methods = &files_methods;
	files->parts = parts;
	files->nparts = nparts;
	return &files->base;
}

typedef struct FilesInput
{
	TbInput			   base;
	EState			  *estate;
	const TbFileTable *files; /* NULL: only explained */
} FilesInput;

static bool
files_input_is_empty(const TbInput *input)
{
	return ((const FilesInput *) input)->files->nrows == 0;
}

static bool
files_input_choose(TbInput *input)
{
	return !files_input_is_empty(input);
}

static TupleDesc
descriptor_of(const FilesInput *files)
{
	return RelationGetDescr(
		ExecGetRangeTableRelation(files->estate, files->base.rti, false));
}

static bool
files_input_open(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why)
{
	FilesInput	*files = (FilesInput *) input;
	TbFilesPart *part = palloc0(sizeof(TbFilesPart));

	part->table = files->files;
	part->desc = descriptor_of(files);
	*sources = lappend(*sources, tb_files_source_make(part, 1));
	return true;
}

/* The same files in the same order, with the same bytes. */
static bool
files_input_is_unchanged(const TbInput *input)
{
	const TbFileTable *files = ((const FilesInput *) input)->files;
	List			  *now = tb_file_table_versions(files->relid);
	ListCell		  *lc;
	int				   i = 0;

	if (list_length(now) != files->nfiles)
		return false;
	foreach(lc, now)
		if (!tb_file_identity_equal(lfirst(lc), &files->files[i++].identity))
			return false;
	return true;
}

static const TbInputMethods files_input_methods = {
	.is_unchanged = files_input_is_unchanged,
	.is_empty = files_input_is_empty,
	.choose = files_input_choose,
	.open = files_input_open,
};

TbInput *
tb_files_input_make(CustomScanState *css, Index rti, int eflags)
{
	FilesInput *files = palloc0(sizeof(FilesInput));
	Oid			relid = exec_rt_fetch(rti, css->ss.ps.state)->relid;

	files->base.methods = &files_input_methods;
	files->base.name = get_rel_name(relid);
	files->estate = css->ss.ps.state;
	files->base.rti = rti;
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		files->files = tb_file_table_to_read(relid);
	return &files->base;
}

bool
tb_files_input_leaf(const TbInput *input, TupleDesc of, TbFilesPart *part)
{
	const FilesInput *files = (const FilesInput *) input;

	if (input->methods != &files_input_methods)
		return false;
	part->table = files->files;
	part->desc = descriptor_of(files);
	part->attnums = build_attrmap_by_name(part->desc, of, false)->attnums;
	return true;
}
