/*
 * files_input.c - see files_input.h.
 *
 * Owns the list of the table's files. Called through the methods of input.h, and by
 * stage_input.c for leaves.
 */
#include "postgres.h"

#include "access/attmap.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/source/files/files_input.h"

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
	return RelationGetDescr(ExecGetRangeTableRelation(files->estate, files->base.rti));
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

static const TbInputMethods files_input_methods = {
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
	part->attnums = build_attrmap_by_name(part->desc, of)->attnums;
	return true;
}
