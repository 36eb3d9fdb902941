/*
 * postgis.c - see postgis.h.
 *
 * A function is a row's if it belongs to the extension, is written in C, and has the name
 * and the argument types of the row's signature. Rows follow the formulas of PostGIS 3.3;
 * known_versions says what other versions have changed. A function that was changed may
 * have a second row, of the variant BOUNDS, which answers only if all these versions do
 * alike. Of a version that is not listed no function is known, while its type still is.
 * Called by type_map.c and function_lookup.c, for objects that are not built in.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "turbine/functions.h"
#include "turbine/point_column.h"

#include "pg/convert/postgis.h"

#define EXTENSION "postgis"
#define BOUNDS "bounds"

/* A version that test/geometry.py and test/geography.py were run with. */
typedef struct KnownVersion
{
	const char		  *begins;	/* major and minor, as postgis_lib_version() begins */
	const char *const *changed; /* functions whose answers are other ones than the rows':
								 * how their signatures begin; the last is NULL. Only
								 * their rows of the variant BOUNDS hold */
} KnownVersion;

/* 3.5 rounds distances otherwise, and every box contains an empty one. 3.6 rounds grids
 * otherwise, too. */
static const char *const  changed_in_3_3[] = {NULL};
static const char *const  changed_in_3_5[] = {"geometry_contains(",
											  "geometry_within(",
											  "st_distance(geometry,",
											  "st_dwithin(geometry,",
											  "geometry_distance_centroid(",
											  NULL};
static const char *const  changed_in_3_6[] = {"geometry_contains(",
											  "geometry_within(",
											  "st_distance(geometry,",
											  "st_dwithin(geometry,",
											  "geometry_distance_centroid(",
											  "st_snaptogrid(",
											  NULL};
static const KnownVersion known_versions[] = {{"3.3.", changed_in_3_3},
											  {"3.5.", changed_in_3_5},
											  {"3.6.", changed_in_3_6}};

/* Whether the row of functions.def is of the extension. */
static const bool of_postgis[] = {
#define TB_FUNCTION(id, symbol, result, args, flags, cost, variant, pg_oid, signature) \
	(pg_oid) == POSTGIS,
#include "../../../catalog/functions.def"
#undef TB_FUNCTION
};

/* What is known of an object that is not built in. */
typedef struct KnownObject
{
	Oid oid;
	int row; /* a function's; -1: none */
} KnownObject;

static struct
{
	bool				watching;	/* callbacks are registered */
	bool				is_current; /* the rest is known, and nothing has changed since */
	Oid					extension;	/* invalid: there is none */
	Oid					geometry;
	Oid					geography;
	bool				version_read;
	const KnownVersion *version;   /* NULL: it is none of known_versions */
	HTAB			   *functions; /* KnownObject, by OID */
} postgis;

/* A type or a function has changed. */
static void
forget(Datum arg, int cacheid, uint32 hashvalue)
{
	postgis.is_current = false;
}

static void
make_function_table(void)
{
	HASHCTL control = {0};

	if (postgis.functions != NULL)
		hash_destroy(postgis.functions);
	postgis.functions = NULL;
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(KnownObject);
	control.hcxt = CacheMemoryContext;
	postgis.functions = hash_create("pg_turbine PostGIS functions", 64, &control,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The extension's type of that name. The extension may be in a schema of any name, which
 * holds other objects, too. */
static Oid
find_type(Oid extension, const char *name)
{
	CatCList *list = SearchSysCacheList1(TYPENAMENSP, CStringGetDatum(name));
	Oid		  found = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Oid typid = ((Form_pg_type) GETSTRUCT(&list->members[i]->tuple))->oid;

		if (getExtensionOfObject(TypeRelationId, typid) == extension)
			found = typid;
	}
	ReleaseSysCacheList(list);
	return found;
}

/* Afterwards `postgis` says what there is now. */
static void
refresh(void)
{
	if (!postgis.watching)
	{
		CacheRegisterSyscacheCallback(TYPEOID, forget, (Datum) 0);
		CacheRegisterSyscacheCallback(PROCOID, forget, (Datum) 0);
		postgis.watching = true;
	}
	if (postgis.is_current)
		return;
	make_function_table();
	/* An invalidation that arrives meanwhile counts. */
	postgis.is_current = true;
	postgis.version_read = false;
	postgis.version = NULL;
	postgis.geometry = postgis.geography = InvalidOid;
	postgis.extension = get_extension_oid(EXTENSION, true);
	if (OidIsValid(postgis.extension))
	{
		postgis.geometry = find_type(postgis.extension, "geometry");
		postgis.geography = find_type(postgis.extension, "geography");
	}
}

bool
tb_postgis_is_geometry(Oid typid)
{
	/* Nearly all types are PostgreSQL's own. */
	if (typid < FirstNormalObjectId)
		return false;
	refresh();
	return OidIsValid(postgis.geometry) && typid == postgis.geometry;
}

bool
tb_postgis_is_geography(Oid typid)
{
	if (typid < FirstNormalObjectId)
		return false;
	refresh();
	return OidIsValid(postgis.geography) && typid == postgis.geography;
}

Oid
tb_postgis_geometry(void)
{
	refresh();
	return postgis.geometry;
}

/*
 * PostGIS's typmod: bit 0 says that there is m, bit 1 z; bits 2 to 7 are the shape, the
 * next 21 bits the SRID.
 */
bool
tb_postgis_point_form(int32 typmod, uint32 *form)
{
	uint32 bits = (uint32) typmod;
	uint32 srid = bits >> 8 & 0x1fffff;
	uint32 flags = ((bits & 2) ? TB_GEOMETRY_Z : 0) | ((bits & 1) ? TB_GEOMETRY_M : 0);

	if (typmod < 0 || (bits >> 2 & 0x3f) != TB_SHAPE_POINT || srid > TB_MOST_SRID)
		return false;
	*form = tb_point_form(srid, flags, 0);
	return true;
}

/* The version of the library, by the extension's function without arguments. */
static const KnownVersion *
read_version(void)
{
	CatCList *list = SearchSysCacheList1(PROCNAMEARGSNSP,
										 CStringGetDatum("postgis_lib_version"));
	Oid		  function = InvalidOid;
	char	 *version;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(&list->members[i]->tuple);

		if (proc->pronargs == 0 && proc->prorettype == TEXTOID &&
			getExtensionOfObject(ProcedureRelationId, proc->oid) == postgis.extension)
			function = proc->oid;
	}
	ReleaseSysCacheList(list);
	if (!OidIsValid(function))
		return NULL;
	version = TextDatumGetCString(OidFunctionCall0(function));
	for (int i = 0; i < (int) lengthof(known_versions); i++)
		if (strncmp(version, known_versions[i].begins, strlen(known_versions[i].begins)) ==
			0)
			return &known_versions[i];
	return NULL;
}

/* Whether the version gives the row's answers. */
static bool
has_answers_of(const KnownVersion *version, const TbFunction *row)
{
	if (strcmp(row->variant, BOUNDS) == 0)
		return true;
	for (const char *const *changed = version->changed; *changed != NULL; changed++)
		if (strncmp(*changed, row->signature, strlen(*changed)) == 0)
			return false;
	return true;
}

/* `name`: how the row's signature goes on. Values of both types of shapes have one form. */
static bool
is_of_type(Oid typid, uint8 type, const char *name)
{
	switch (type)
	{
		case TB_TYPE_GEOMETRY:
			return typid ==
				(strncmp(name, "geography", strlen("geography")) == 0 ? postgis.geography :
																		postgis.geometry);
		case TB_TYPE_BOOL:
			return typid == BOOLOID;
		case TB_TYPE_INT4:
			return typid == INT4OID;
		case TB_TYPE_FLOAT8:
			return typid == FLOAT8OID;
		default:
			return false;
	}
}

/* Whether the row's signature is the function's. */
static bool
has_signature_of(const TbFunction *row, Form_pg_proc proc)
{
	const char *types = strchr(row->signature, '(') + 1;
	Size		length = types - 1 - row->signature;

	if (row->nargs != proc->pronargs || strlen(NameStr(proc->proname)) != length ||
		strncmp(row->signature, NameStr(proc->proname), length) != 0 ||
		!is_of_type(proc->prorettype, row->result, "geometry"))
		return false;
	for (int i = 0; i < row->nargs; i++)
	{
		if (!is_of_type(proc->proargtypes.values[i], row->args[i], types))
			return false;
		types += strcspn(types, ",)") + 1;
	}
	return true;
}

/* The first row of the function, of any version; -1: none. */
static int
find_row(Oid funcid)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	int		  row = -1;

	if (!HeapTupleIsValid(tuple))
		return -1;
	for (int i = 0; i < TB_FUNCTION_COUNT && row < 0; i++)
		if (of_postgis[i] &&
			has_signature_of(&tb_functions[i], (Form_pg_proc) GETSTRUCT(tuple)))
			row = i;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang != ClanguageId ||
		!((Form_pg_proc) GETSTRUCT(tuple))->proisstrict)
		row = -1;
	ReleaseSysCache(tuple);
	if (row >= 0 && getExtensionOfObject(ProcedureRelationId, funcid) != postgis.extension)
		row = -1;
	return row;
}

/* The first row of the same function, from this one on, that holds for the version; -1:
 * none. Exact rows come before those of BOUNDS. */
static int
row_of_version(int row, const KnownVersion *version)
{
	const char *signature = tb_functions[row].signature;

	if (version == NULL)
		return -1;
	for (; row < TB_FUNCTION_COUNT; row++)
		if (of_postgis[row] && strcmp(tb_functions[row].signature, signature) == 0 &&
			has_answers_of(version, &tb_functions[row]))
			return row;
	return -1;
}

int
tb_postgis_function(Oid funcid)
{
	KnownObject *known;
	bool		 found;
	int			 row;

	refresh();
	if (!OidIsValid(postgis.geometry))
		return -1;
	known = hash_search(postgis.functions, &funcid, HASH_FIND, NULL);
	if (known != NULL)
		return known->row;
	row = find_row(funcid);
	if (row >= 0 && !postgis.version_read)
	{
		postgis.version = read_version();
		postgis.version_read = true;
	}
	if (row >= 0)
		row = row_of_version(row, postgis.version);
	/* A change that was seen meanwhile is looked at with the next question. */
	known = hash_search(postgis.functions, &funcid, HASH_ENTER, &found);
	known->row = row;
	return row;
}
