/*
 * foreign_inputs.c - see foreign_inputs.h.
 *
 * Owns the table of kinds. Called by the planner's check of relations, and when the
 * executor makes inputs.
 */
#include "postgres.h"

#include "catalog/pg_class.h"

#include "pg/files/file_relation.h"
#include "pg/planner/foreign_inputs.h"
#include "pg/source/files/files_input.h"

extern Datum turbine_arrow_fdw_handler(PG_FUNCTION_ARGS);

#define MAX_KINDS 4

typedef struct ForeignKind
{
	PGFunction		   handler;
	TbMakeForeignInput make;
} ForeignKind;

static ForeignKind kinds[MAX_KINDS] = {
	{turbine_arrow_fdw_handler, tb_files_input_make},
};
static int nkinds = 1;

TbMakeForeignInput
tb_foreign_input(Oid relid, char relkind)
{
	PGFunction handler = relkind == RELKIND_FOREIGN_TABLE ? tb_foreign_handler(relid) :
															NULL;

	for (int i = 0; i < nkinds && handler != NULL; i++)
		if (kinds[i].handler == handler)
			return kinds[i].make;
	return NULL;
}

void
tb_foreign_input_add(PGFunction handler, TbMakeForeignInput make)
{
	Assert(nkinds < MAX_KINDS);
	kinds[nkinds++] = (ForeignKind) {handler, make};
}
