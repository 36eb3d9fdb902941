/*
 * export.h - copies of rows that other processes open: what a backend (B) tells turbined
 * (D) of them over its connection (wire.h), and what an importer says at the export socket.
 *
 * A copy is the rows of a query as columns that no query reads, each in an allocation of
 * its own. B fills a memfd a column, sends them by FILES and describes them by
 * EXPORT_CREATE. D keeps them, or copies them into memory of a GPU. A token, made of a
 * copy, is the right to open it.
 *
 * One connection of B, used for nothing else, is the session of its copies: they go when it
 * is closed, except those that are kept. Any of these messages, on any connection: B
 * EXPORT_RESERVE    how much memory the copy in the making takes by now; D answers
 *                       EXPORT_RESERVED, or REFUSED if there is no room
 *   B FILES, EXPORT_CREATE    D answers EXPORT_CREATED or REFUSED; no FILES where a query
 *                       has left the columns on a GPU
 *   B EXPORT_STREAMED   as EXPORT_CREATE, of a batch that a query has streamed (wire.h); D
 *                       answers EXPORT_CREATED, REFUSED, or EXPORT_UNKNOWN if there is none
 *   B EXPORT_TOKEN      D answers EXPORT_TOKEN_MADE, or EXPORT_UNKNOWN if there is no such
 *                       copy
 *   B EXPORT_RELEASE    of a copy or a token; D answers EXPORT_RELEASED
 *   B EXPORT_LIST       D answers EXPORT_LISTED
 *   B EXPORT_DESCRIBE   D answers EXPORT_DESCRIBED, or EXPORT_UNKNOWN
 *
 * A column's memfd is sparse. Its regions begin at fixed places, so that each can grow
 * while rows come; it is sealed against shrinking, growing and future writes. If there are
 * more columns than TB_EXPORT_MOST_FILES, some share a file (tb_export_file_of). In memory
 * of a GPU each column is by itself, its regions one behind the other.
 */
#ifndef TURBINE_EXPORT_H
#define TURBINE_EXPORT_H

#include <stdint.h>

/* How values lie in memory: as Arrow has them. */
typedef enum TbExportFormat
{
	TB_EXPORT_BOOL = 1, /* a byte each, 0 or 1; and as bits */
	TB_EXPORT_INT16,
	TB_EXPORT_INT32,
	TB_EXPORT_INT64,
	TB_EXPORT_UINT32,
	TB_EXPORT_FLOAT32,
	TB_EXPORT_FLOAT64,
	TB_EXPORT_DATE32,	   /* days since 1970 */
	TB_EXPORT_TIME64,	   /* microseconds since midnight */
	TB_EXPORT_TIMESTAMP,   /* microseconds since 1970, no zone */
	TB_EXPORT_TIMESTAMPTZ, /* likewise, UTC */
	TB_EXPORT_DECIMAL128,  /* integers of 16 bytes in units of the scale */
	TB_EXPORT_UUID,		   /* 16 bytes */
	TB_EXPORT_UTF8,		   /* values: int64 offsets, one more than rows; then the bytes */
	TB_EXPORT_BINARY	   /* likewise */
} TbExportFormat;

/* Bytes of a value; of texts, of an offset. 0: no such format. */
static inline uint32_t
tb_export_width(uint32_t format)
{
	switch (format)
	{
		case TB_EXPORT_BOOL:
			return 1;
		case TB_EXPORT_INT16:
			return 2;
		case TB_EXPORT_INT32:
		case TB_EXPORT_UINT32:
		case TB_EXPORT_FLOAT32:
		case TB_EXPORT_DATE32:
			return 4;
		case TB_EXPORT_INT64:
		case TB_EXPORT_FLOAT64:
		case TB_EXPORT_TIME64:
		case TB_EXPORT_TIMESTAMP:
		case TB_EXPORT_TIMESTAMPTZ:
		case TB_EXPORT_UTF8:
		case TB_EXPORT_BINARY:
			return 8;
		case TB_EXPORT_DECIMAL128:
		case TB_EXPORT_UUID:
			return 16;
		default:
			return 0;
	}
}

/* Its name in descriptions. NULL: no such format. */
static inline const char *
tb_export_format_name(uint32_t format)
{
	static const char *const names[] = {"",			  "bool",		 "int16",
										"int32",	  "int64",		 "uint32",
										"float32",	  "float64",	 "date32",
										"time64us",	  "timestampus", "timestamptzus",
										"decimal128", "uuid",		 "utf8",
										"binary"};

	return format >= TB_EXPORT_BOOL && format <= TB_EXPORT_BINARY ? names[format] : 0;
}

static inline int
tb_export_has_bytes(uint32_t format)
{
	return format == TB_EXPORT_UTF8 || format == TB_EXPORT_BINARY;
}

/* Where regions of a column's memfd begin. */
#define TB_EXPORT_VALUES_AT UINT64_C(0)
#define TB_EXPORT_VALIDITY_AT (UINT64_C(1) << 40) /* bits, if any value is NULL */
#define TB_EXPORT_BYTES_AT (UINT64_C(2) << 40)	  /* of texts */
#define TB_EXPORT_BITS_AT (UINT64_C(3) << 40)	  /* of a BOOL: its values as bits */
#define TB_EXPORT_COLUMN_SIZE (UINT64_C(4) << 40)
#define TB_EXPORT_MOST_BYTES (UINT64_C(1) << 40)  /* of a region */

#define TB_EXPORT_MOST_COLUMNS 1664u			  /* of a query in PostgreSQL */

/* A backend may have few files open. */
#define TB_EXPORT_MOST_FILES 200u

static inline uint32_t
tb_export_files(uint32_t ncolumns)
{
	return ncolumns < TB_EXPORT_MOST_FILES ? ncolumns : TB_EXPORT_MOST_FILES;
}

/* The file that a column is in, and where it begins there: its regions count from that. */
static inline uint32_t
tb_export_file_of(uint32_t column)
{
	return column % TB_EXPORT_MOST_FILES;
}

static inline uint64_t
tb_export_base_of(uint32_t column)
{
	return column / TB_EXPORT_MOST_FILES * TB_EXPORT_COLUMN_SIZE;
}

static inline uint64_t
tb_export_file_size(uint32_t ncolumns)
{
	return (tb_export_base_of(ncolumns - 1)) + TB_EXPORT_COLUMN_SIZE;
}

typedef struct TbExportColumn
{
	uint32_t format;	/* TbExportFormat */
	uint16_t precision; /* of a DECIMAL128 */
	uint16_t scale;
	uint64_t nulls;
	uint64_t bytes;		  /* of texts */
	uint32_t name_length;
	uint32_t type_length; /* of the SQL type's name */
} TbExportColumn;

#define TB_EXPORT_ID_BYTES 16
#define TB_EXPORT_SECRET_BYTES 32

#define TB_EXPORT_ANY_DEVICE UINT32_MAX /* a GPU, or else the host */

#define TB_EXPORT_OF_TOKEN 0x01u /* nothing names the copy: it goes with its last token */
#define TB_EXPORT_MUST 0x02u	 /* REFUSED if that device has no memory for it */
/* no files: a query has left the columns (wire.h), under the number `left` */
#define TB_EXPORT_LEFT 0x04u
typedef struct TbExportCreate
{
	uint32_t device; /* index, or TB_EXPORT_ANY_DEVICE */
	uint32_t flags;
	uint64_t rows;
	uint32_t ncolumns;
	uint32_t owner;	   /* role */
	uint32_t database;
	uint32_t relation; /* 0: a query's rows */
	uint32_t source_length;
	uint32_t revision_length;
	uint8_t	 left[TB_EXPORT_ID_BYTES]; /* else 0 */
	/* TbExportColumn columns[ncolumns]; the source's name, the revision, and for each
	 * column its name and its type's, all in UTF-8 */
} TbExportCreate;

typedef struct TbExportInfo
{
	uint8_t	 id[TB_EXPORT_ID_BYTES];
	uint64_t rows;
	uint64_t bytes;
	int64_t	 created_us; /* since 1970 */
	uint32_t device;	 /* whose memory it is in */
	uint32_t ncolumns;
	uint32_t owner;
	uint32_t database;
	uint32_t relation;
	int32_t	 pid;		/* of the session's backend */
	uint32_t importers; /* that have it open */
	uint32_t tokens;	/* that are valid */
	uint32_t kept;		/* by a token or a name, whatever becomes of its session */
	uint32_t named;		/* not OF_TOKEN, and not released */
} TbExportInfo;

typedef struct TbExportReserve
{
	uint64_t bytes; /* in all */
} TbExportReserve;

#define TB_EXPORT_KEEP 0x01u /* token and copy outlive the session */
#define TB_EXPORT_ONCE \
	0x02u					 /* good for one import, by whomever; else for many by `uid` \
							  */
typedef struct TbExportToken
{
	uint8_t	 id[TB_EXPORT_ID_BYTES];
	uint32_t flags;
	uint32_t uid;
	uint32_t lifetime_s; /* 0: no end */
	uint32_t ncolumns;	 /* 0: all */
						 /* uint32_t columns[ncolumns]: which, in this order */
} TbExportToken;

typedef struct TbExportTokenMade
{
	uint8_t secret[TB_EXPORT_SECRET_BYTES];
} TbExportTokenMade;

#define TB_EXPORT_RELEASE_TOKEN 0x01u /* else a copy */
#define TB_EXPORT_ANY_OWNER 0x02u	  /* else `owner`'s alone */
typedef struct TbExportRelease
{
	uint8_t	 key[TB_EXPORT_SECRET_BYTES]; /* of a copy: its id first */
	uint32_t flags;
	uint32_t owner;
} TbExportRelease;

typedef struct TbExportReleased
{
	uint32_t count; /* 0: there was none */
	uint32_t reserved;
} TbExportReleased;

typedef struct TbExportDescribe
{
	uint8_t id[TB_EXPORT_ID_BYTES];
} TbExportDescribe;

/* EXPORT_DESCRIBED: TbExportInfo, then what follows a TbExportCreate: its columns, and
 * their names and types alone. */

typedef struct TbExportListed
{
	uint64_t	 count;
	TbExportInfo copies[];
} TbExportListed;

#define TB_EXPORT_MOST_LISTED 100000u

/*
 * At the export socket: an importer connects, sends a TbImportRequest and gets a
 * TbImportReply, its JSON text, and then the descriptors: a byte 'F' for each
 * TB_IMPORT_FDS of them, which go with it. While the connection is open the memory counts
 * as in use.
 */
#define TB_IMPORT_VERSION 1
#define TB_IMPORT_FDS 200u
typedef struct TbImportRequest
{
	uint8_t	 magic[4]; /* "PGTI" */
	uint32_t version;
	uint8_t	 secret[TB_EXPORT_SECRET_BYTES];
} TbImportRequest;

typedef enum TbImportStatus
{
	TB_IMPORT_GRANTED = 0,
	TB_IMPORT_REFUSED = 1, /* the token is not known, over, or another user's */
	TB_IMPORT_BUSY = 2,
	TB_IMPORT_DAMAGED = 3
} TbImportStatus;

typedef struct TbImportReply
{
	uint8_t	 magic[4]; /* "PGTR" */
	uint32_t status;   /* TbImportStatus */
	uint32_t json_length;
	uint32_t nfds;
} TbImportReply;

/* A token: what SQL hands out. The path of the socket follows. */
typedef struct TbTokenHead
{
	uint8_t magic[4]; /* "PGTX" */
	uint8_t version;  /* TB_IMPORT_VERSION */
	uint8_t zero[3];
	uint8_t secret[TB_EXPORT_SECRET_BYTES];
	uint8_t host[16];		/* boot id of the kernel */
	uint8_t path_length[2]; /* lower byte first */
} TbTokenHead;

#ifdef __cplusplus
static_assert(sizeof(TbExportColumn) == 32, "TbExportColumn layout");
static_assert(sizeof(TbExportCreate) == 56, "TbExportCreate layout");
static_assert(sizeof(TbExportInfo) == 80, "TbExportInfo layout");
static_assert(sizeof(TbExportToken) == 32, "TbExportToken layout");
static_assert(sizeof(TbExportRelease) == 40, "TbExportRelease layout");
static_assert(sizeof(TbImportRequest) == 40, "TbImportRequest layout");
static_assert(sizeof(TbImportReply) == 16, "TbImportReply layout");
static_assert(sizeof(TbTokenHead) == 58, "TbTokenHead layout");
#endif

#endif
