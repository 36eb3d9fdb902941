/*
 * results.c - turbine.gpu_result, fetch_result, export, release and their kin: rows that
 * stay in memory as columns, and tokens by which other processes open them.
 *
 * Rows are selected with the caller's rights under the statement's snapshot. They go into
 * memfds (copy_builder.h) and then to turbined, which may move them to a GPU.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/regproc.h"
#include "utils/rls.h"
#include "utils/uuid.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"

#include "pg/cache/cache_policy.h"
#include "pg/compat/pg16.h"
#include "pg/results/copy_builder.h"
#include "pg/results/export_session.h"
#include "pg/results/table_export.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/export_address.h"

extern PGDLLEXPORT Datum turbine_gpu_result(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_open_cursor(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_fetch_result(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_export_result(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_export_relation(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_export_named(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_export_ipchandle(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_release_result(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_release_token(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_result_columns(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_export_endpoint(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_gpu_result);
PG_FUNCTION_INFO_V1(turbine_open_cursor);
PG_FUNCTION_INFO_V1(turbine_fetch_result);
PG_FUNCTION_INFO_V1(turbine_export_result);
PG_FUNCTION_INFO_V1(turbine_export_relation);
PG_FUNCTION_INFO_V1(turbine_export_named);
PG_FUNCTION_INFO_V1(turbine_export_ipchandle);
PG_FUNCTION_INFO_V1(turbine_release_result);
PG_FUNCTION_INFO_V1(turbine_release_token);
PG_FUNCTION_INFO_V1(turbine_result_columns);
PG_FUNCTION_INFO_V1(turbine_export_endpoint);

static const char *
socket_path(void)
{
	const char *path = tb_export_socket_path();

	if (path == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("nothing can be exported from this server"),
				 errdetail(
					 "There is no export socket: pg_turbine.export_socket is none, or "
					 "its path is not absolute or too long."),
				 errhint("Set pg_turbine.export_socket to an absolute path of at most 99 "
						 "bytes and restart the server.")));
	return path;
}

static void
read_host(uint8 host[UUID_LEN])
{
	char  text[64] = {0};
	FILE *file = AllocateFile("/proc/sys/kernel/random/boot_id", "r");

	if (file == NULL || fgets(text, sizeof(text), file) == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the kernel's boot id: %m")));
	FreeFile(file);
	text[strcspn(text, "\n")] = '\0';
	memcpy(host, DatumGetUUIDP(DirectFunctionCall1(uuid_in, CStringGetDatum(text)))->data,
		   UUID_LEN);
}

static bytea *
make_token(const pg_uuid_t *result, uint32 flags, const uint32 *columns, int ncolumns)
{
	const char *path = socket_path();
	Size		length = strlen(path);
	TbTokenHead head = {.magic = {'P', 'G', 'T', 'X'},
						.version = TB_IMPORT_VERSION,
						.path_length = {length & 0xff, length >> 8}};
	bytea	   *token = palloc(VARHDRSZ + sizeof(head) + length);

	read_host(head.host);
	tb_export_make_token(result, flags, columns, ncolumns, head.secret);
	SET_VARSIZE(token, VARHDRSZ + sizeof(head) + length);
	memcpy(VARDATA(token), &head, sizeof(head));
	memcpy(VARDATA(token) + sizeof(head), path, length);
	return token;
}

/* turbined's number of a device that is asked for by name; NULL: a GPU, or else the host.
 */
static void
choose_device(const char *name, TbCopyTerms *terms)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 device = TB_PIN_ANY_GPU;
	int			 count;

	terms->device = TB_EXPORT_ANY_DEVICE;
	if (name == NULL)
		return;
	if (!tb_pin_parse_device(name, &device))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid device \"%s\"", name),
				 errhint(
					 "Valid devices are \"gpu\", \"gpu\" with a number, and \"host\".")));
	if (device == TB_PIN_HOST)
	{
		terms->device = TB_DEVICE_HOST;
		return;
	}
	/* Whoever names a GPU wants no other memory. GPU 0 is device 1. */
	count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	for (int i = 1; i < count; i++)
		if (devices[i].usable && (device == TB_PIN_ANY_GPU || device == i - 1))
		{
			terms->device = device == TB_PIN_ANY_GPU ? TB_EXPORT_ANY_DEVICE : (uint32) i;
			terms->flags |= TB_EXPORT_MUST;
			return;
		}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("device \"%s\" is not usable", name),
			 errhint("View turbine.devices lists the devices. Without a device the result "
					 "goes where there is room.")));
}

static pg_uuid_t *
id_of(const TbExportInfo *info)
{
	pg_uuid_t *id = palloc(sizeof(*id));

	memcpy(id->data, info->id, UUID_LEN);
	return id;
}

static void
copy_query(const char *query, uint32 flags, const TbCopyTerms *terms, TbExportInfo *info)
{
	TbCopyBuilder *builder = tb_copy_builder_start(terms);

	PG_TRY();
	{
		tb_query_rows(query, flags | TB_ROWS_SELECT | TB_ROWS_SNAPSHOT,
					  tb_copy_builder_sink(builder));
		if (!tb_copy_builder_has_begun(builder))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the query does not return rows")));
		tb_copy_builder_finish(builder, info);
	}
	PG_FINALLY();
	{
		tb_copy_builder_end(builder);
	}
	PG_END_TRY();
}

Datum
turbine_gpu_result(PG_FUNCTION_ARGS)
{
	TbCopyTerms	 terms = {0};
	TbExportInfo info;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	choose_device(PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)), &terms);
	copy_query(text_to_cstring(PG_GETARG_TEXT_PP(0)), 0, &terms, &info);
	PG_RETURN_UUID_P(id_of(&info));
}

Datum
turbine_open_cursor(PG_FUNCTION_ARGS)
{
	tb_open_cursor(text_to_cstring(PG_GETARG_TEXT_PP(0)),
				   text_to_cstring(PG_GETARG_TEXT_PP(1)));
	PG_RETURN_TEXT_P(PG_GETARG_TEXT_PP(0));
}

Datum
turbine_fetch_result(PG_FUNCTION_ARGS)
{
	TbCopyTerms		terms = {0};
	TbExportInfo	info;
	TbCopyBuilder  *builder;
	const char	   *name;
	int64			most;
	Portal			portal;
	volatile uint64 rows = 0;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	most = PG_GETARG_INT64(1);
	choose_device(PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2)), &terms);
	if (most < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of rows must be at least 1")));
	portal = GetPortalByName(name);
	if (!PortalIsValid(portal))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_CURSOR),
				 errmsg("cursor \"%s\" does not exist", name)));
	builder = tb_copy_builder_start(&terms);
	tb_copy_builder_accept_stream(builder);
	PG_TRY();
	{
		rows = tb_cursor_rows(portal, most, tb_copy_builder_sink(builder));
		if (rows > 0)
			tb_copy_builder_finish(builder, &info);
	}
	PG_FINALLY();
	{
		tb_copy_builder_end(builder);
	}
	PG_END_TRY();
	if (rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(id_of(&info));
}

/* The texts of an array without NULLs. */
static List *
names_of(ArrayType *array)
{
	Datum *names;
	bool  *nulls;
	int	   count;
	List  *list = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the array of columns is empty"),
				 errhint("NULL stands for all columns.")));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("a column's name is NULL")));
		list = lappend(list, TextDatumGetCString(names[i]));
	}
	return list;
}

static _Noreturn void
raise_no_column(const char *column, const char *where)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of %s does not exist", column, where)));
}

Datum
turbine_export_result(PG_FUNCTION_ARGS)
{
	pg_uuid_t			*result;
	TbResultDescription *described;
	uint32				*columns = NULL;
	int					 ncolumns = 0;
	ListCell			*lc;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	result = PG_GETARG_UUID_P(0);
	/* It is looked up in any case: another role's is none. */
	described = tb_export_describe(result);
	if (!PG_ARGISNULL(1))
	{
		List *names = names_of(PG_GETARG_ARRAYTYPE_P(1));

		columns = palloc(sizeof(uint32) * list_length(names));
		foreach(lc, names)
		{
			uint32 i = 0;

			while (i < described->info.ncolumns &&
				   strcmp(described->columns[i].name, lfirst(lc)) != 0)
				i++;
			if (i == described->info.ncolumns)
				raise_no_column(lfirst(lc), "the result");
			columns[ncolumns++] = i;
		}
	}
	PG_RETURN_BYTEA_P(
		make_token(result, PG_GETARG_BOOL(2) ? TB_EXPORT_KEEP : 0, columns, ncolumns));
}

/* Rows that this transaction has changed are nobody else's to see yet, and a rollback would
 * leave them with the importer. */
static void
check_unchanged(Oid relid)
{
	ListCell *lc;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		Oid		 leaf = lfirst_oid(lc);
		Relation rel = try_relation_open(leaf, AccessShareLock);
		bool	 changed;

		if (rel == NULL)
			continue;
		changed = CheckRelationLockedByMe(rel, RowExclusiveLock, false) ||
			CheckRelationLockedByMe(rel, AccessExclusiveLock, false);
		relation_close(rel, NoLock);
		if (changed)
			ereport(ERROR,
					(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
					 errmsg("cannot export table \"%s\" because this transaction has "
							"changed it",
							get_rel_name(leaf)),
					 errdetail("An export shows what is committed."),
					 errhint("Export it after COMMIT.")));
	}
}

/* Those whom policies filter would get rows by an export that they must not see; gpu_result
 * takes a query, to which the policies apply. */
static void
check_relation(Relation rel)
{
	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		rel->rd_rel->relkind != RELKIND_VIEW &&
		rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot export \"%s\"", RelationGetRelationName(rel)),
				 errdetail("It is neither a table nor a view.")));
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot export table \"%s\", which has row-level security",
						RelationGetRelationName(rel)),
				 errhint("Use turbine.gpu_result with a query: the policies apply to "
						 "it.")));
	if (rel->rd_rel->relkind != RELKIND_VIEW)
		check_unchanged(RelationGetRelid(rel));
}

/* SELECT of the columns by name; NIL: of all. */
static char *
select_of(Relation rel, List *names)
{
	TupleDesc	   desc = RelationGetDescr(rel);
	StringInfoData query;
	ListCell	  *lc;

	initStringInfo(&query);
	if (names == NIL)
		for (int i = 0; i < desc->natts; i++)
			if (!TupleDescAttr(desc, i)->attisdropped)
				names = lappend(names, NameStr(TupleDescAttr(desc, i)->attname));
	foreach(lc, names)
	{
		if (get_attnum(RelationGetRelid(rel), lfirst(lc)) <= 0)
			raise_no_column(lfirst(lc),
							psprintf("table \"%s\"", RelationGetRelationName(rel)));
		appendStringInfo(&query, "%s%s", query.len > 0 ? ", " : "SELECT ",
						 quote_identifier(lfirst(lc)));
	}
	if (names == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has no columns", RelationGetRelationName(rel))));
	appendStringInfo(&query, " FROM %s",
					 quote_qualified_identifier(get_namespace_name(
													RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	return query.data;
}

/* The rows of a table, in their order, as a copy that its token alone names. */
static bytea *
export_relation(Oid relid, ArrayType *columns, uint32 flags)
{
	TbCopyTerms	 terms = {.flags = TB_EXPORT_OF_TOKEN, .relation = relid};
	TbExportInfo info;
	TbPin		 pin;
	Relation	 rel = try_relation_open(relid, AccessShareLock);
	char		*query;
	int			 nest;

	(void) socket_path();
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	check_relation(rel);
	query = select_of(rel, columns != NULL ? names_of(columns) : NIL);
	terms.source = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
											  RelationGetRelationName(rel));
	/* To where the table is pinned; other tables to any GPU. */
	terms.device = TB_EXPORT_ANY_DEVICE;
	if (tb_cache_pin_of(relid, &pin) && pin.device != TB_PIN_ANY_GPU)
		terms.device = pin.device == TB_PIN_HOST ? TB_DEVICE_HOST : pin.device + 1;
	/* A scan that begins where another one is would turn the order round. */
	nest = NewGUCNestLevel();
	(void) set_config_option("synchronize_seqscans", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	copy_query(query, RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) ? TB_ROWS_IN_ORDER : 0,
			   &terms, &info);
	AtEOXact_GUC(true, nest);
	relation_close(rel, NoLock);
	return make_token(id_of(&info), flags, NULL, 0);
}

bytea *
tb_export_table_once(Oid relid)
{
	return export_relation(relid, NULL, TB_EXPORT_ONCE);
}

bool
tb_export_table_is_allowed(Relation rel)
{
	Oid relid = RelationGetRelid(rel);

	check_relation(rel);
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ALL) ==
		ACLCHECK_OK;
}

Datum
turbine_export_relation(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(export_relation(PG_GETARG_OID(0),
									  PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1),
									  PG_GETARG_BOOL(2) ? TB_EXPORT_KEEP : 0));
}

/* A result's id is no table's name that anybody has. */
Datum
turbine_export_named(PG_FUNCTION_ARGS)
{
	char *name;
	Oid	  relid;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (strlen(name) == 36 && strspn(name, "0123456789abcdefABCDEF-") == 36)
	{
		fcinfo->args[0].value = DirectFunctionCall1(uuid_in, CStringGetDatum(name));
		return turbine_export_result(fcinfo);
	}
	relid = RangeVarGetRelid(makeRangeVarFromNameList(
								 stringToQualifiedNameList(name, NULL)),
							 NoLock, false);
	PG_RETURN_BYTEA_P(export_relation(relid,
									  PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1),
									  PG_GETARG_BOOL(2) ? TB_EXPORT_KEEP : 0));
}

Datum
turbine_export_ipchandle(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(export_relation(PG_GETARG_OID(0), NULL, 0));
}

Datum
turbine_release_result(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(tb_export_release_result(PG_GETARG_UUID_P(0)));
}

Datum
turbine_release_token(PG_FUNCTION_ARGS)
{
	bytea	   *token = PG_GETARG_BYTEA_PP(0);
	TbTokenHead head;

	if (VARSIZE_ANY_EXHDR(token) < sizeof(head))
		PG_RETURN_BOOL(false);
	memcpy(&head, VARDATA_ANY(token), sizeof(head));
	PG_RETURN_BOOL(tb_export_release_token(head.secret));
}

#define RESULT_COLUMNS 5

Datum
turbine_result_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo		*rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbResultDescription *described;

	InitMaterializedSRF(fcinfo, 0);
	described = tb_export_describe(PG_GETARG_UUID_P(0));
	for (uint32 i = 0; i < described->info.ncolumns; i++)
	{
		const TbResultColumn *column = &described->columns[i];
		const char			 *format = tb_export_format_name(column->shape.format);
		Datum				  values[RESULT_COLUMNS];
		bool				  nulls[RESULT_COLUMNS] = {0};

		values[0] = CStringGetTextDatum(column->name);
		values[1] = CStringGetTextDatum(column->type);
		values[2] = CStringGetTextDatum(format != NULL ? format : "");
		values[3] = Int64GetDatum((int64) described->info.rows);
		values[4] = Int64GetDatum((int64) column->shape.nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
turbine_export_endpoint(PG_FUNCTION_ARGS)
{
	const char *path = tb_export_socket_path();
	pg_uuid_t  *host = palloc(sizeof(*host));
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, path == NULL};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	read_host(host->data);
	values[0] = UUIDPGetDatum(host);
	values[1] = path != NULL ? CStringGetTextDatum(path) : (Datum) 0;
	PG_RETURN_DATUM(
		HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
