/*
 * export_session.h - this session's copies of rows in memory that other processes open, as
 * turbined has them (turbine/export.h).
 *
 * One connection is kept for them, from the first on: it ends with the session, and with it
 * whatever is not kept. If turbined was restarted all copies are gone, and a new connection
 * is opened.
 *
 * All functions raise errors.
 */
#ifndef TURBINE_PG_RESULTS_EXPORT_SESSION_H
#define TURBINE_PG_RESULTS_EXPORT_SESSION_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/uuid.h"

#include "turbine/wire.h"

/* Asked where turbined has no memory for a copy: gives back what other copies take that are
 * kept for speed alone. True: some may be free within a second. NULL: nobody keeps any. */
extern bool (*tb_export_memory_is_short)(void);

/* Memory for a copy in the making, in all. */
extern void tb_export_reserve(uint64 bytes);

/* `payload`: EXPORT_CREATE's. */
extern void tb_export_create(const StringInfoData *payload, const int *files, int nfiles,
							 TbExportInfo *info);

/* The same of a batch that a query has streamed. False: the service has lost it. */
extern bool tb_export_streamed(const TbStreamId *id, const StringInfoData *payload,
							   TbExportInfo *info);

/* `columns`: numbers from 0 on; none: all. */
extern void tb_export_make_token(const pg_uuid_t *result, uint32 flags,
								 const uint32 *columns, int ncolumns,
								 uint8 secret[TB_EXPORT_SECRET_BYTES]);

/* Of a result, or of a token's secret; false: there is none of this role's. */
extern bool tb_export_release_result(const pg_uuid_t *result);
extern bool tb_export_release_token(const uint8 secret[TB_EXPORT_SECRET_BYTES]);

/* Of all sessions; palloc'd. NULL if turbined does not answer. */
extern TbExportListed *tb_export_list(void);

typedef struct TbResultColumn
{
	TbExportColumn shape;
	char		  *name; /* in the server's encoding */
	char		  *type;
} TbResultColumn;

typedef struct TbResultDescription
{
	TbExportInfo	info;
	TbResultColumn *columns; /* info.ncolumns */
} TbResultDescription;

/* Of a result of this session or a kept one that the current role may use; palloc'd. */
extern TbResultDescription *tb_export_describe(const pg_uuid_t *result);

#endif
