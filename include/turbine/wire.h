/*
 * wire.h - messages between a backend (B) and turbined (D) over a unix stream
 * socket, <data directory>/pg_turbine/pgsql_tmp.turbined.sock (backends connect by the
 * relative path, since their working directory is the data directory).
 *
 * One connection runs at most one query at a time. A backend keeps a few idle
 * connections for reuse and opens more for queries that overlap (cursors,
 * several nodes). Closing the connection releases everything of its query;
 * that is also how a query is cancelled.
 *
 * Every message is a TbMessage header and `length` bytes of payload, native
 * byte order, structs below. Descriptors travel by SCM_RIGHTS with the first
 * byte of the header. A receiver checks type, length, every index, count and
 * offset; a violation closes the connection.
 *
 * A query:
 *   B HELLO                  once a connection, D answers WELCOME
 *   B FILES ...              the relation's relation files (direct reading)
 *   B QUERY {program, params}
 *   D READY {slots}          with the slot memory's memfd, or REFUSED {reason}
 *   B SNAPSHOT {open transactions}   if blocks that are not all-visible may be cached as
 * well B SEGMENTS {blocks}      for each part of the input of which segments may be cached;
 *     D SEGMENTS_TAKEN       what D takes from its own columns: B sends no such block.
 *                            B need not wait for READY. D ignores them after a QUERY
 *                            that it refuses
 *   then, for every chunk, in a slot of the memory that is free:
 *     B CHUNK {slot, pages, runs to read}    B has filled the other pages
 *     D CHUNK_READ                     only if the chunk has runs: their pages are in
 *                                      the slot, or D has decoded them already
 *     B CHUNK_RELEASE                  for every chunk; one with runs only after
 *                                      re-checking the visibility map (and
 *                                      rewriting pages that moved)
 *     D CHUNK_DONE {row ids, deferred rows, verdict}
 *   B owns the slot again after CHUNK_DONE. It may release a chunk with runs only after
 *   its CHUNK_READ, and no sink consumes a chunk before its release. Runs ascend and do
 *   not overlap. A side may hold messages about chunks back, in order, as long as it does
 *   not wait itself.
 *   B INPUT_END
 *   AGGREGATE, PROJECT: D RESULT_BATCH {slot, rows} as slots allow, B SLOT_FREE {slot} ...
 *   PROJECT with a stream: D STREAM_BATCH as batches get full, the input's end or not, and
 *       B STREAM_TAKEN for each, after EXPORT_STREAMED on its connection for exports. The
 *       query is not done before the last of them: D forgets its batches then
 *   D TRACE ...                  if the QUERY asked for it
 *   D QUERY_DONE {statistics}    the connection is idle again
 *   D FAILED {reason}            at any time instead: nothing more comes of this
 *                                query; the connection is idle again once B has
 *                                sent QUERY_CLOSE (D ignores what was in flight)
 *
 * At INPUT_END all slots belong to D until it passes them by RESULT_BATCH.
 *
 * A partitioned table is the input of one query, partition after partition. All pages of a
 * chunk belong to one partition. FILES within the query are those of the partition that
 * follows: from file 0 on, they replace the files that later chunks are read from. If the
 * tuples of a partition are not laid out as the QUERY's program says, a LAYOUT comes before
 * its first chunk.
 *
 * Parts of a query's input may be what D reads itself, such as files of columns (Arrow,
 * Parquet). After READY, B sends FILES with the descriptor of a file, as file 0, then PART.
 * B sends no chunk for it. A partitioned table may have both such files and heap tables as
 * leaves.
 *
 * Between queries B may ask what the column cache holds (CACHE_REPORT, CACHE_REPORTED), and
 * have it forget a file (CACHE_DROP, CACHE_DROPPED).
 *
 * A join: B sends PREPARE {program} for each of its programs, so that they are compiled at
 * the same time. Then it sends a QUERY with sink BUILD for every join table. The connection
 * keeps the table after QUERY_DONE, under the number that the QUERY gave it, and later
 * QUERYs probe it. The last QUERY has another sink. All tables are dropped when that one is
 * over, however it ended. They are also dropped when a BUILD fails, by a QUERY_CLOSE
 * between queries, and with the connection.
 *
 * Parallel feeding: B's parallel workers (feeders) fill pages of the query's slots. B tells
 * them which. To map the slot memory, a feeder opens a connection of its own and sends
 * ATTACH {lease of READY}. D answers ATTACHED with the memfd, or REFUSED if that query is
 * over. A feeder sends nothing else: all messages about chunks are B's. While a feeder's
 * connection is open, D gives the memory to no other query. So a feeder that outlives B's
 * query writes into memory that nobody reads.
 */
#ifndef TURBINE_WIRE_H
#define TURBINE_WIRE_H

#include <stdint.h>

#include "export.h"
#include "profile.h"
#include "program.h"
#include "types.h"

#define TB_WIRE_MAGIC 0x57505442u /* "BTPW" */
#define TB_WIRE_VERSION 28
#define TB_MAX_MESSAGE (16u << 20)
#define TB_MAX_FDS 250	  /* below SCM_MAX_FD */
#define TB_MAX_SLOTS 64
#define TB_MAX_DEVICES 17 /* the host and 16 GPUs */

typedef enum TbMessageType
{
	TB_MSG_HELLO = 1,
	TB_MSG_WELCOME,
	TB_MSG_STATUS,		 /* B asks; no payload */
	TB_MSG_STATUS_REPLY, /* TbStatusReply */
	TB_MSG_FILES,
	TB_MSG_QUERY,
	TB_MSG_READY,
	TB_MSG_REFUSED, /* TbFailure */
	TB_MSG_CHUNK,
	TB_MSG_CHUNK_READ,
	TB_MSG_CHUNK_RELEASE,
	TB_MSG_CHUNK_DONE,
	TB_MSG_INPUT_END,	   /* no payload */
	TB_MSG_RESULT_BATCH,
	TB_MSG_SLOT_FREE,	   /* TbSlotFree */
	TB_MSG_QUERY_DONE,
	TB_MSG_FAILED,		   /* TbFailure */
	TB_MSG_QUERY_CLOSE,	   /* no payload */
	TB_MSG_PREPARE,		   /* TbPrepare; no reply */
	TB_MSG_LAYOUT,		   /* TbLayout; no reply */
	TB_MSG_ATTACH,		   /* TbAttach */
	TB_MSG_ATTACHED,	   /* TbAttached, with the slot memory's memfd */
	TB_MSG_TRACE,		   /* TbTrace */
	TB_MSG_SEGMENTS,	   /* TbSegments */
	TB_MSG_SEGMENTS_TAKEN, /* TbSegmentsTaken */
	TB_MSG_CACHE_REPORT,   /* no payload */
	TB_MSG_CACHE_REPORTED, /* TbCacheReported */
	TB_MSG_CACHE_DROP, /* TbFileIdentity: of one relation, whatever inode and birth; or of a
						* file of columns (no database; the number is its device's),
						* whatever birth */
	TB_MSG_CACHE_DROPPED, /* TbCacheDropped */
	TB_MSG_PART,		  /* TbPart; no reply */
	TB_MSG_SNAPSHOT,	  /* TbSnapshot; no reply */
	/* Copies for other processes: export.h */
	TB_MSG_EXPORT_RESERVE,
	TB_MSG_EXPORT_RESERVED,
	TB_MSG_EXPORT_CREATE,
	TB_MSG_EXPORT_CREATED, /* TbExportInfo */
	TB_MSG_EXPORT_TOKEN,
	TB_MSG_EXPORT_TOKEN_MADE,
	TB_MSG_EXPORT_RELEASE,
	TB_MSG_EXPORT_RELEASED,
	TB_MSG_EXPORT_LIST, /* no payload */
	TB_MSG_EXPORT_LISTED,
	TB_MSG_EXPORT_DESCRIBE,
	TB_MSG_EXPORT_DESCRIBED,
	TB_MSG_EXPORT_UNKNOWN,	/* no payload */
	TB_MSG_EXPORT_STREAMED, /* TbStreamId, then what EXPORT_CREATE says */
	TB_MSG_STREAM_BATCH,	/* TbStreamBatch */
	TB_MSG_STREAM_TAKEN,	/* no payload */
	TB_MSG_RESULT_LEFT,		/* TbResultLeft; no reply */
	TB_MSG_TOPOLOGY,		/* B asks between queries; no payload */
	TB_MSG_TOPOLOGY_REPLY	/* TbTopologyReply */
} TbMessageType;

typedef struct TbMessage
{
	uint32_t type;
	uint32_t length; /* of the payload */
} TbMessage;

/* The nonce is the postmaster's: supervisor makes it, passes it to turbined at
 * start, and to backends through shared memory. */
typedef struct TbHello
{
	uint32_t magic;
	uint32_t version;
	uint8_t	 nonce[16];
	int32_t	 pid; /* backend's, for logs */
	uint32_t reserved;
} TbHello;

typedef struct TbWelcome
{
	uint32_t version;
	uint32_t ndevices;
	uint64_t generation; /* changes with every start of turbined */
} TbWelcome;

/* Device 0 is always the host. */
#define TB_DEVICE_HOST 0
typedef struct TbDeviceInfo
{
	uint32_t kind;			/* 0 host threads, 1 CUDA */
	uint32_t units;			/* threads, or multiprocessors */
	char	 name[64];		/* "NVIDIA H200"; host: processor's name */
	char	 target[32];	/* "sm_90"; host: LLVM CPU name */
	uint64_t memory_total;	/* bytes */
	uint64_t memory_budget; /* bytes that queries may use together */
	uint64_t memory_used;
	uint64_t cache_size;	/* GPU: bytes kept between queries at most, besides these */
	uint64_t cache_used;
	uint32_t usable;		/* 0: quarantined, see message */
	uint32_t queries_running;
	uint64_t queries_total;
	/* GPU: columns of segments of which queries found copies in its cache, and others */
	uint64_t cache_hits;
	uint64_t cache_misses;
	uint64_t l2_bytes;		  /* GPU; 0: not known */
	uint32_t clock_mhz;		  /* GPU; 0: not known */
	int32_t	 numa_node;		  /* GPU; -1: not known */
	char	 pci_address[24]; /* GPU: "0000:19:00.0"; "": not known */
	char	 message[128];
} TbDeviceInfo;

typedef struct TbStatusReply
{
	uint64_t	 generation;
	int32_t		 pid;
	uint32_t	 ndevices;
	uint64_t	 shared_bytes; /* of all slot memory */
	uint64_t	 sessions;
	uint64_t	 open_queries;
	uint64_t	 code_compiled; /* programs compiled since start */
	uint64_t	 code_memory_hits;
	uint64_t	 code_disk_hits;
	TbDeviceInfo devices[];
} TbStatusReply;

/* How a GPU and a drive reach each other, the nearest first. */
typedef enum TbRoute
{
	TB_ROUTE_SWITCH = 0,  /* PIX: through one PCI switch */
	TB_ROUTE_SWITCHES,	  /* PXB: through several */
	TB_ROUTE_HOST_BRIDGE, /* PHB: through the processor's host bridge */
	TB_ROUTE_NODE,		  /* NODE: through host bridges of one NUMA node */
	TB_ROUTE_SYSTEM,	  /* SYS: between NUMA nodes */
	TB_ROUTE_UNKNOWN,
	TB_ROUTE_COUNT
} TbRoute;

typedef enum TbTopologyKind
{
	TB_TOPOLOGY_GPU = 0,
	TB_TOPOLOGY_NVME,
	TB_TOPOLOGY_DISK,
	TB_TOPOLOGY_PARTITION,
	TB_TOPOLOGY_RAID0,
	TB_TOPOLOGY_RAID1,
	TB_TOPOLOGY_KIND_COUNT
} TbTopologyKind;

/* A GPU, or a block device that files may be on, as D found it when it started. */
typedef struct TbTopologyDevice
{
	uint32_t kind;		   /* TbTopologyKind */
	int32_t	 numa_node;	   /* -1: not known */
	uint32_t major_number; /* of block devices: what stat() gives of their files */
	uint32_t minor_number;
	uint32_t near_gpus;	   /* those of the nearest route, a bit each; 0: none is known */
	uint32_t reserved;
	char	 name[32];	   /* "nvme0n1", "gpu0" */
	char	 model[64];
	char pci_path[160]; /* from a host bridge to the function, with spaces between; "": none
						 */
	char members[256];	/* of an array, a partition's disk; with spaces between */
	struct
	{
		uint16_t route;	   /* TbRoute */
		uint16_t distance; /* UINT16_MAX: not known */
	} to_gpus[TB_MAX_DEVICES - 1];
} TbTopologyDevice;

#define TB_MAX_TOPOLOGY_DEVICES 1024u /* in a message */
typedef struct TbTopologyReply
{
	uint32_t		 ngpus;
	uint32_t		 ndevices;
	TbTopologyDevice devices[];
} TbTopologyReply;

/* Relation files first_file, first_file + 1, ... as descriptors. A query's
 * files are those sent since the last QUERY, until others come within it, which
 * replace them. D closes them when no chunk needs them, at last with the query. */
typedef struct TbFiles
{
	uint32_t first_file;
	uint32_t count;
} TbFiles;

#define TB_QUERY_CHECKSUMS 0x01u  /* verify page checksums of direct reads */
#define TB_QUERY_ALLOW_HOST 0x02u /* the host device may stand in for a GPU */
#define TB_QUERY_GPU_OK 0x04u	  /* device == TB_ANY_DEVICE may pick a GPU */
/* tests: wait for fully optimised code, whatever the input's size */
#define TB_QUERY_FULL_CODE 0x08u
#define TB_QUERY_COPIED 0x10u  /* B brings most pages, from its buffers */
#define TB_QUERY_PROFILE 0x20u /* QUERY_DONE says how wall time was spent */
#define TB_QUERY_TRACE 0x40u   /* besides, TRACE messages come before it */
/* PROJECT without a result plan: rows come back in the table's order, or the query fails */
#define TB_QUERY_IN_ORDER 0x80u
#define TB_QUERY_SPLIT 0x100u /* several of `gpus` run it, if it can be split */
#define TB_QUERY_WHOLE 0x200u /* one of `gpus` runs it */
/* The way of direct blocks and of files: one of these, or neither for `auto` */
#define TB_QUERY_PAST_CACHE 0x400u	  /* all with O_DIRECT */
#define TB_QUERY_BY_PAGE_CACHE 0x800u /* none */
#define TB_ANY_DEVICE 0xffffffffu
typedef struct TbQuery
{
	uint32_t device;		   /* index, or TB_ANY_DEVICE */
	uint32_t flags;
	uint64_t nblocks;		   /* of the relation, an estimate of the input */
	double	 estimated_rows;
	double	 estimated_groups; /* AGGREGATE: planner's estimate; BUILD, PROJECT:
								* rows kept */
	uint32_t wait_ms;		   /* how long admission may queue this query */
	uint32_t program_size;
	uint64_t params_size;
	uint64_t debug_fault; /* tests: see fault.h of the engine's CUDA device */
	uint32_t join_table;  /* BUILD: the table's number, < TB_MAX_JOIN_TABLES and
						   * free; else 0 */
	uint32_t result_size; /* of the result plan (result.h); 0: none */
	/* AGGREGATE, PROJECT: a bit for each of the first 64 columns of the results that nobody
	 * reads. RESULT_BATCH has no values of it: its offsets are 0. */
	uint64_t unread_columns;
	uint32_t continuation_size; /* of the TbContinuation with what follows it; 0: none */
	uint32_t compile_wait_ms; /* how long the query may wait for its code; 0: as long as it
							   * takes */
	uint32_t columns_left;	  /* how many TbColumnLeft there are; 0: rows come back */
	/* Which GPUs may run it instead of `device`, which is one: a bit each, GPU 0 first. D
	 * takes the one with the fewest queries, of equal ones one that has run a query of the
	 * same `affinity`: a hash of the table that most rows come from; 0: none. Or D takes
	 * several of them at once, if the columns do not fit one, or if that is faster, or as
	 * TB_QUERY_SPLIT and TB_QUERY_WHOLE say. */
	uint32_t gpus;
	uint64_t affinity;
	uint32_t stream_size;  /* of the TbStream with its columns; 0: none */
	float	 direct_share; /* of D's memory: from a table of this size on, `auto` reads with
							* O_DIRECT what the page cache has not got */
	uint32_t near_gpus;	   /* of `gpus`, those near the drives of the input: preferred among
							* those that have as few queries and know the table as well */
	uint32_t reserved;
	/* program bytes, padded to 8; the parameter block, padded to 8; the result
	 * plan, padded to 8; the continuation, padded to 8; TbColumnLeft columns[columns_left];
	 * the stream. What is not there needs no padding before it */
} TbQuery;

/*
 * PROJECT without a result plan or a continuation, on a GPU: rows do not come back. They
 * are left as columns in memory of that GPU which other processes may open (export.h),
 * under a number that D makes: RESULT_LEFT comes before QUERY_DONE. Whoever knows the
 * number makes a copy of them by EXPORT_CREATE, once and soon (TB_LEFT_SECONDS).
 */
typedef struct TbColumnLeft
{
	uint32_t column; /* of the result's */
	uint32_t format; /* TbExportFormat, which the column's type must fit */
} TbColumnLeft;

#define TB_LEFT_SECONDS 30

typedef struct TbResultLeft
{
	uint8_t	 id[TB_EXPORT_ID_BYTES];
	uint64_t rows;
	uint32_t device;
	uint32_t ncolumns;
	uint64_t nulls[]; /* of each column that was asked for */
} TbResultLeft;

/*
 * PROJECT without a result plan or a continuation, of one heap table or of files that are
 * not cached, on the host: D writes the rows into memory that other processes open
 * (export.h), in the order in which they lie in the table or its files, and hands it over
 * batch by batch while there is input. A value that has no form there is a FAILED with
 * reason VALUE.
 */
#define TB_STREAM_MOST_ROWS (UINT64_C(1) << 36)
typedef struct TbStream
{
	uint64_t rows;	  /* of a batch, but the last */
	uint64_t skip;	  /* rows that B has had before: they are left out */
	uint32_t ncolumns;
	uint32_t batches; /* that D makes ahead of B at most: until STREAM_TAKEN */
	uint32_t device;  /* a GPU to whose memory D moves each batch, if it finds room; or the
						 host */
	uint32_t reserved;
	/* TbStreamColumn columns[ncolumns] */
} TbStream;

typedef struct TbStreamColumn
{
	uint32_t output; /* of the program */
	uint32_t format; /* TbExportFormat; of a DECIMAL128 in units of the output's scale */
} TbStreamColumn;

#define TB_STREAM_ID_BYTES 16
typedef struct TbStreamId
{
	uint8_t bytes[TB_STREAM_ID_BYTES];
} TbStreamId;

typedef struct TbStreamBatch
{
	TbStreamId id;
	uint64_t   rows;
	uint32_t   ncolumns;
	uint32_t   reserved;
	struct
	{
		uint64_t nulls;
		uint64_t bytes; /* of texts */
	} columns[];
} TbStreamBatch;

/*
 * AGGREGATE, PROJECT: a second program, whose source is the rows that the first one and its
 * result plan leave, and which the host runs. What comes back is the second one's rows,
 * which unread_columns speaks of then. Its source is TB_SOURCE_ROWS, its sink AGGREGATE or
 * PROJECT, it has no joins. It may have a result plan of its own.
 *
 * With sets the source has each row once for each of them, so that one program makes the
 * groups of all grouping sets: columns whose bit the set lacks are NULL, and a column of
 * its own has the set's number.
 */
typedef struct TbContinuation
{
	uint32_t program_size;
	uint32_t ncolumns;		   /* of the program's source */
	uint64_t params_size;
	double	 estimated_groups; /* AGGREGATE */
	uint32_t nsets;			   /* 0: each row comes once */
	uint32_t result_size;	   /* of the result plan of its rows; 0: none */
	/* uint64_t sets[nsets]: a bit for each of the source's first 64 columns; those behind
	 * are in all sets. uint32_t columns[ncolumns]: which column of the rows each of the
	 * source is, of the same type; with sets TB_NONE: the set's number, INT4; padded to 8;
	 * program bytes, padded to 8; the parameter block; the result plan, where there is one
	 * behind padding to 8 */
} TbContinuation;

#define TB_MAX_SETS 256

#define TB_MAX_JOIN_TABLES 64 /* of one connection */

/* Compile this soon: a QUERY will want it. */
typedef struct TbPrepare
{
	uint32_t device; /* as in TbQuery */
	uint32_t flags;
	uint32_t program_size;
	uint32_t reserved;
	/* program bytes */
} TbPrepare;

/*
 * Another physical layout of the columns of the QUERY under way, which reads a heap
 * and whose sink is not ROWS. Layouts are numbered 1, 2, ... as they come; 0 is
 * the QUERY's own. The program is one that decodes and nothing else: it has the
 * source's columns in their order, of the same types, scales and flags, and no
 * expressions or joins; sink AGGREGATE without keys. Its attributes, and its
 * columns' attnum and missing_param, are what differs; the parameters are just the
 * missing values. Partitions that were made alike share one.
 */
#define TB_MAX_LAYOUTS 256 /* of one query, its own included */
typedef struct TbLayout
{
	uint32_t program_size;
	uint32_t reserved;
	uint64_t params_size;
	/* program bytes, padded to 8; the parameter block */
} TbLayout;

/* A slot is slot_size bytes at first_slot_offset + i * slot_size of the
 * memory. Within a slot:
 *   [0, slot_pages * TB_PAGE_SIZE)       pages
 *   [ids_offset, slot_size)              uint32 row ids, then deferred row ids
 */
typedef struct TbReady
{
	uint32_t device;	/* index of the device that runs the query, or the first of them */
	uint32_t nslots;
	uint64_t memory_id; /* unique in this generation; the memfd comes
						 * along unless has_fd is 0: same memory as
						 * this connection's last */
	uint64_t memory_size;
	uint64_t first_slot_offset;
	uint64_t slot_size;
	uint64_t ids_offset; /* within a slot */
	uint32_t slot_pages;
	uint32_t has_fd;
	uint32_t code_source; /* 0 compiled, 1 memory, 2 disk */
	float	 compile_ms;
	float	 queue_ms;
	uint32_t host_because; /* TbFallback: why the host device stands in for
							* a GPU; 0 if it does not */
	uint64_t lease;		   /* of the slot memory, to this query: for ATTACH; never
							* used twice in this generation */
	uint32_t gpus;		   /* that run it together, a bit each, GPU 0 first; 0: `device`
							* alone does */
	uint32_t reserved;
} TbReady;

/* Of a feeder, outside of a query and once a connection. */
typedef struct TbAttach
{
	uint64_t generation; /* of the turbined that sent READY */
	uint64_t lease;
} TbAttach;

typedef struct TbAttached
{
	uint64_t memory_id;
	uint64_t memory_size;
} TbAttached;

typedef struct TbFailure
{
	char	 sqlstate[6]; /* for the log: "53200" ... */
	uint16_t verdict;	  /* TB_ERR_* bits if a chunk's values did it */
	uint32_t reason;	  /* TbFallback */
	char	 message[240];
} TbFailure;

/* Why a query, or a part of it, went back to PostgreSQL: counted in
 * turbine.stat_queries. */
typedef enum TbFallback
{
	TB_FALLBACK_NONE = 0,
	TB_FALLBACK_NO_SERVICE, /* turbined not running or lost */
	TB_FALLBACK_NO_DEVICE,	/* the chosen device is absent or quarantined */
	TB_FALLBACK_DEVICE_MEMORY,
	TB_FALLBACK_HOST_MEMORY,
	TB_FALLBACK_DEVICE_LOST,
	TB_FALLBACK_COMPILE,   /* compiler failed or timed out */
	TB_FALLBACK_ADMISSION, /* queue time over */
	TB_FALLBACK_VALUE,	   /* a value that the device cannot hold */
	TB_FALLBACK_RAISED,	   /* a row may raise an error */
	TB_FALLBACK_PROTOCOL,
	TB_FALLBACK_COUNT
} TbFallback;

/* Runs: pages [page, page + count) of the slot come from blocks
 * [block, block + count) of the relation. Pages outside runs were filled by B. */
typedef struct TbRun
{
	uint32_t page;
	uint32_t block;
	uint32_t count;
} TbRun;

/*
 * Cached columns. A segment is TB_SEGMENT_BLOCKS blocks of a file, from a multiple of that
 * within their page of the visibility map; what is left at a map page's end is a shorter
 * one. A part is a relation or a leaf; B numbers those of a query from 1 on.
 *
 * B asks before the first CHUNK, for all parts at once, and D answers each. B has set the
 * bits of the blocks that it wants and that the map called all-visible under the LSN that
 * is sent for their map page, in one look. D takes those of them that were good under the
 * same LSN, and names others that it has, but not as of that LSN.
 *
 * Of these B may ask again, after FILES of the part. Then the bits are of blocks that are
 * not dirty in shared buffers, so that their pages in the files are what they are, and of
 * dirty ones whose LSNs in shared buffers B sends along. D takes those whose pages have the
 * LSN that they were decoded with: nothing has changed but the map.
 *
 * Fresh blocks. Blocks that are not all-visible are cached as well, once all transactions
 * that their rows depend on have ended. B asks for them beside the others if it has told D
 * of the query's snapshot. D names those of them that it has, and whose transactions have
 * all ended for the snapshot, with the doubtful ones, and B asks again by the LSNs of their
 * pages, in shared buffers or in the files. What D has taken that way it takes at once for
 * a snapshot that sees the same.
 *
 * What D takes runs at once, unless the sink is ROWS: then B asks for the row ids of blocks
 * that D has taken by CHUNKs of kind SEGMENTS, in its own order, and forms the tuples.
 */
#define TB_SEGMENT_BLOCKS 64u
#define TB_BLOCKS_PER_MAP_PAGE 32672u /* checked against PostgreSQL's in src/pg */
#define TB_MAX_PARTS (1u << 20)

/* A file's number may be used again; all of this is not. */
typedef struct TbFileIdentity
{
	uint32_t tablespace;
	uint32_t database;
	uint32_t file_number; /* relfilenode */
	uint32_t reserved;
	uint64_t inode;
	uint64_t birth_ns;
} TbFileIdentity;

#define TB_SEGMENTS_RECOVERY \
	0x01u						/* B runs in recovery: pages do not say whether they are \
								 * all-visible */
#define TB_SEGMENTS_CLEAN 0x02u /* the second question of a part */
#define TB_SEGMENTS_KEEP 0x04u	/* the file's columns give way last */
#define TB_SEGMENTS_WHOLE \
	0x08u /* the part is all that the query reads, with all its blocks */
#define TB_SEGMENTS_ENDS \
	0x10u /* WHOLE, and all bits are set: if D takes all of it the input has ended, and no \
		   * INPUT_END comes */
#define TB_SEGMENTS_LOAD \
	0x20u /* what is read is kept, however full the cache is of others */
#define TB_SEGMENTS_FRESH 0x40u		 /* blocks whose bit is not set are asked for as well */
#define TB_SEGMENTS_FRESH_BITS 0x80u /* FRESH: not all of them; bits tell which */
#define TB_SEGMENTS_PIN 0x100u		 /* columns of the file stay whatever else needs room */
typedef struct TbSegments
{
	TbFileIdentity file;
	uint32_t	   part;
	uint32_t	   layout;	   /* of the part's tuples */
	uint32_t	   nblocks;
	uint32_t	   nmap_pages; /* for that many blocks */
	uint32_t	   flags;
	uint32_t	   asked;	   /* blocks, all-visible or not */
	uint32_t	   nbuffered;  /* CLEAN: of these, which B has seen in shared buffers */
	uint32_t	   npinned;	   /* PIN: columns; 0: all */
	/* uint64_t lsn[nmap_pages], page_lsn[nbuffered]; uint32_t buffered[nbuffered]: blocks,
	 * ascending; uint32_t buffers[nbuffered]: where; uint32_t pinned[npinned]: attribute
	 * numbers, ascending; uint8_t full[(nmap_pages + 7) / 8]: of
	 * pages of the map, those whose blocks have all their bits set; then the bits of the
	 * blocks of the other pages, each page's from a byte on; FRESH_BITS: uint8_t
	 * fresh[(nblocks + 7) / 8] */
} TbSegments;

/* Where a query's snapshot sees what. Transactions by their 64-bit numbers. */
#define TB_SNAPSHOT_OVERFLOWED \
	0x01u						   /* some subtransactions are not among the open ones \
									*/
#define TB_SNAPSHOT_RECOVERY 0x02u /* taken on a standby */
#define TB_SNAPSHOT_WRITES 0x04u   /* B's own transaction may have changed rows */
typedef struct TbSnapshot
{
	uint64_t xmin;	/* all before have ended */
	uint64_t xmax;	/* none from here on had */
	uint32_t nopen; /* of those between, what had not ended */
	uint32_t flags;
	/* uint64_t open[nopen], ascending */
} TbSnapshot;

#define TB_SEGMENTS_TAKEN_ALL 0x01u /* what was asked for; the first bits are left out */
#define TB_SEGMENTS_TAKEN_NOT_LOOKED 0x02u /* the device takes none for this program */
#define TB_SEGMENTS_TAKEN_BUFFERS 0x04u	   /* where doubtful blocks were seen last */
typedef struct TbSegmentsTaken
{
	uint32_t part;
	uint32_t flags;
	uint64_t blocks;
	uint64_t rows;
	uint64_t excluded; /* of `blocks`: least and greatest values say that no row passes */
	uint64_t excluded_rows;
	uint64_t segments; /* that `blocks` are of */
	uint64_t excluded_by_filter; /* of `segments` */
	uint64_t excluded_by_join;	 /* of the others: no row has a match */
	uint64_t doubtful; /* blocks that B may ask for again, fresh ones among them; if there
						* are any, it asks a second time, and only then is told the figures
						* of what is taken now */
	/* uint8_t bits[(nblocks + 7) / 8]; if any are doubtful, as many again for these; ROWS:
	 * if any are excluded, as many again for these; BUFFERS: uint32_t buffers[doubtful], 0:
	 * not known */
} TbSegmentsTaken;

/* Who reads a part of the input. */
typedef enum TbPartKind
{
	TB_PART_FILE = 1, /* TbFilePart */
	TB_PART_NUMBERS	  /* TbNumbersPart; in tests only */
} TbPartKind;

/* A part of the input that D reads itself, after all SEGMENTS. */
typedef struct TbPart
{
	uint32_t kind; /* TbPartKind */
	uint32_t reserved;
	/* what its kind says */
} TbPart;

/* The numbers from 1 to `count`, as the only column of the program's source. */
typedef struct TbNumbersPart
{
	uint64_t count;
} TbNumbersPart;

/*
 * A file of columns: file 0 of the FILES before. D reads the columns that the program's
 * source has, of those batches (Arrow's record batches, Parquet's row groups) that may have
 * a row that passes. A file that has not what is asked for, or a value that the column's
 * type can not hold, is a FAILED with reason VALUE.
 */
typedef enum TbColumnFileFormat
{
	TB_COLUMN_FILE_ARROW = 1,	/* IPC file */
	TB_COLUMN_FILE_PARQUET,
	TB_COLUMN_FILE_ARROW_STREAM /* IPC stream */
} TbColumnFileFormat;

#define TB_FILE_PART_CACHED \
	0x01u /* what is read is kept, and what was kept is not read \
		   */
typedef struct TbFilePart
{
	uint32_t format;   /* TbColumnFileFormat */
	uint32_t ncolumns; /* of the program's source */
	uint32_t flags;
	uint32_t reserved;
	/* TbPartColumn columns[ncolumns]; the bytes that they point to */
} TbFilePart;

/* A column's name in the file; or a value that all rows have, which is not in the file. */
typedef struct TbPartColumn
{
	uint32_t is_constant;
	uint32_t is_null; /* the constant */
	uint32_t offset;  /* name, or the constant if it is a text: from the end of columns[] */
	uint32_t length;
	uint32_t most;	  /* what the declared type holds, characters or digits of a numeric; a
					   * file's value of more is an error. 0: any. Of a geometry:
					   * the type modifier, 0 if there is none */
	uint32_t reserved;
	uint64_t constant[2]; /* of other types: as in a parameter block */
} TbPartColumn;

/* A column of the cache. */
typedef struct TbCachedColumn
{
	TbFileIdentity file;
	uint32_t	   attnum;
	uint32_t	   type;			/* TB_TYPE_* */
	uint64_t	   bytes;
	uint64_t	   gpu_bytes;		/* of these, what a GPU has a copy of */
	uint64_t	   rows;
	uint32_t	   gpus;			/* bit i: GPU i has some of them */
	uint32_t	   pinned;			/* its table is pinned, and it with it */
	uint64_t	   good_blocks;		/* that were good when the map was last looked at */
	uint64_t	   doubtful_blocks; /* the others */
	uint64_t	   hits;			/* queries that took blocks of it */
	int64_t		   last_hit_us;		/* since 1970; 0: never */
} TbCachedColumn;

#define TB_MAX_CACHED_COLUMNS 100000u /* in a message */
typedef struct TbCacheReported
{
	uint64_t	   capacity; /* bytes */
	uint64_t	   used;
	uint64_t	   ncolumns;
	TbCachedColumn columns[];
} TbCacheReported;

typedef struct TbCacheDropped
{
	uint64_t bytes;
} TbCacheDropped;

#define TB_CHUNK_PAGES 1u
#define TB_CHUNK_COLUMNS 2u /* slot begins with a TbColumnsChunk */
#define TB_CHUNK_SEGMENTS \
	3u /* ROWS: one run, of blocks that D has taken of the part and that \
		* are not excluded; nothing is read or decoded */
typedef struct TbChunk
{
	uint32_t slot;
	uint32_t kind;
	uint32_t npages;   /* PAGES */
	uint32_t nruns;
	uint64_t sequence; /* number of the chunk in the query */
	uint32_t layout;   /* PAGES: of their tuples; else 0 */
	uint32_t part;	   /* whose blocks they are, if SEGMENTS has told of it; else 0 */
	uint64_t map_lsn; /* of the map page under which all runs, and those of the copied pages
					   * that say so, were found all-visible; TB_NO_MAP_LSN: of several, or
					   * none */
	uint32_t ncopied; /* PAGES: runs whose pages B fills from shared buffers, and that may
					   * be kept where they are all-visible, or fresh */
	uint32_t nplaced; /* PAGES: runs of all other pages, if the program has a column of
					   * TIDs: it needs the blocks of all pages. Else 0 */
	TbRun	 runs[];  /* nruns, then ncopied, then nplaced */
} TbChunk;

#define TB_NO_MAP_LSN UINT64_MAX

/*
 * What B writes into the header of a page that it has copied, in the place of fields that
 * nobody needs there, if all transactions have ended that its rows depend on: they may be
 * kept as a fresh block. Rows that a transaction deleted, or that were never committed, are
 * not in the copy. The page's LSN stays.
 */
#define TB_PAGE_IS_FRESH 0x8000u /* of pd_flags, where PostgreSQL has no such flag */
typedef struct TbFreshHeader
{
	uint64_t lsn;
	uint16_t
		least_low; /* pd_checksum: of the lower half of the least transaction's number */
	uint16_t flags;
	uint16_t bounds[3];	 /* pd_lower, pd_upper, pd_special */
	uint16_t least_high; /* pd_pagesize_version */
	uint32_t greatest;	 /* pd_prune_xid; 0: the rows depend on no transaction */
} TbFreshHeader;

/*
 * Rows as columns: those of another plan, or what the backend had to detoast.
 * A column for each of the program's source. At the start of the slot; offsets count from
 * there; all within slot_pages * TB_PAGE_SIZE. Text views count from bytes_offset.
 * CHUNK_DONE's row ids are row numbers.
 */
typedef struct TbColumnsChunk
{
	uint32_t nrows;
	uint32_t ncolumns;
	uint64_t bytes_offset;
	uint64_t bytes_size;
	struct
	{
		uint64_t values;
		uint64_t valid; /* of nullable columns; others: 0 */
	} columns[];
} TbColumnsChunk;

typedef enum TbReadOutcome
{
	TB_READ_DONE = 0,	/* the slot holds the runs' pages */
	TB_READ_FAILED = 1, /* some run could not be read or had a bad
						 * checksum: B must fill ALL runs' pages */
	TB_READ_DECODED = 2 /* they have been decoded on the way, and the slot
						 * does not hold them: if B must fill one of
						 * them it must fill ALL */
} TbReadOutcome;

typedef struct TbChunkRead
{
	uint32_t slot;
	uint32_t outcome; /* TbReadOutcome */
} TbChunkRead;

typedef struct TbChunkRelease
{
	uint32_t slot;
	uint32_t rewritten; /* 1: pages of runs are not as they were read */
} TbChunkRelease;

/*
 * verdict != 0: no row of the chunk was output or applied (ROWS: the backend
 * evaluates the chunk's pages itself; other sinks: a FAILED follows).
 * ROWS: nrows row ids at ids_offset of the slot, in order on the host device; some may
 * be marked as undecided (TB_ROWID_UNDECIDED), unless the chunk is one of columns.
 * Both: then ndeferred ids of rows not processed, at ids_offset + 4 * nrows.
 */
typedef struct TbChunkDone
{
	uint32_t slot;
	uint32_t verdict; /* TB_ERR_* */
	uint32_t nrows;
	uint32_t ndeferred;
	uint64_t rows_in; /* rows decoded */
} TbChunkDone;

/*
 * A batch of groups, at the start of the slot: a column for each key, then one
 * for each aggregate state; PROJECT: a batch of rows, a column an output. Offsets count
 * from the start of the slot. Text views count from bytes_offset. COUNT columns have no
 * valid bytes.
 */
typedef struct TbResultBatch
{
	uint32_t slot;
	uint32_t nrows;
	uint32_t ncolumns;
	uint32_t reserved;
	uint64_t bytes_offset;
	uint64_t bytes_size;
	struct
	{
		uint64_t values;
		uint64_t valid; /* 0: no NULLs */
	} columns[];
} TbResultBatch;

typedef struct TbSlotFree
{
	uint32_t slot;
	uint32_t reserved;
} TbSlotFree;

/* All rows of a table have a key of min..max, but those with a NULL in any key. */
typedef struct TbKeyBounds
{
	int64_t	 min;	/* integers, dates and timestamps: as stored */
	int64_t	 max;
	uint64_t known; /* 0: nothing is known of the key, or no row has one */
} TbKeyBounds;

#define TB_MAX_KEY_BOUNDS 4 /* of a table's first keys */

/* What one of the GPUs has done of a query. */
typedef struct TbGpuShare
{
	uint64_t rows_in;
	uint64_t kernel_us; /* of decoding and computing */
} TbGpuShare;
/* How D reads past the page cache. */
typedef enum TbStorageMethod
{
	TB_STORAGE_THREADS, /* the kernel refuses io_uring */
	TB_STORAGE_IO_URING
} TbStorageMethod;

/* What EXPLAIN (ANALYZE) shows, and of a table what leaves need not be read for.
 * Times are summed over threads. */
typedef struct TbQueryDone
{
	uint64_t rows_in;
	uint64_t rows_passed; /* passed the filters */
	uint64_t groups;	  /* or rows kept: PROJECT, BUILD; with a result plan
						   * the rows that it left */
	uint64_t bytes_read;  /* direct, from files */
	uint64_t bytes_to_device;
	uint64_t bytes_from_device;
	uint64_t read_us;
	uint64_t transfer_us;
	uint64_t decode_us;
	uint64_t compute_us;
	uint64_t finish_us;			  /* merging and writing groups; building a table */
	uint64_t table_grows;
	uint64_t table_bytes;		  /* BUILD */
	uint32_t table_kind;		  /* BUILD: TbTableKind */
	uint32_t table_chained;		  /* BUILD: some rows have equal keys */
	uint32_t table_kept;		  /* BUILD: an earlier query has built it */
	uint32_t cached_columns;	  /* that were read */
	uint64_t join_rows[16];		  /* tuples after each join */
	uint64_t join_candidates[16]; /* pairs whose residual was asked, of joins that have one
								   * and are not UNIQUE */
	uint64_t cached_bytes;		  /* of cached columns that were read */
	uint64_t excluded_by_order;	  /* segments that were taken and not read: all rows come
								   * after those that the result plan's limit leaves */
	uint64_t blocks_excluded_by_order;
	uint64_t sort_us;			  /* result plan: windows, order, limit */
	uint64_t rows_sorted;		  /* rows that it was given */
	uint64_t rows_sorted_on_gpu;  /* by its windows and its order; 0: the host has sorted */
	uint64_t windows_on_gpu;	  /* window functions that it computed */
	uint64_t rows_continued;	  /* rows that the continuation was given */
	uint64_t continuation_us;
	TbKeyBounds key_bounds[TB_MAX_KEY_BOUNDS]; /* BUILD */
	uint64_t	file_batches;				   /* of parts that are files */
	uint64_t file_batches_excluded; /* of these, not read: their statistics or their indexes
									 * say that no row passes */
	uint64_t file_batches_excluded_by_bloom; /* of these: a Bloom filter has no value that
											  * passes */
	uint64_t file_batches_excluded_by_pages; /* of these: the least and greatest values of
											  * all pages */
	uint64_t file_pages; /* of batches that were read: those that an index tells of */
	uint64_t file_pages_excluded; /* of these: not read */
	uint64_t file_batches_cached; /* of file_batches: no row was read */
	uint64_t drive_bytes;	 /* of bytes_read: with O_DIRECT, the rest by the page cache */
	uint64_t drive_us;		 /* while at least one chunk was waiting for a drive */
	uint64_t page_cache_us;	 /* the same of reads by the page cache */
	uint32_t storage_method; /* TbStorageMethod */
	/* Dictionaries of texts for whose entries expressions were computed once, and looked
	 * up for each row; and entries of these. */
	uint32_t dictionaries;
	uint64_t dictionary_entries;
	uint64_t phase_ns[TB_PHASE_COUNT];	 /* PROFILE: from READY until now, each moment
										  * shared by what threads and streams were at; WAIT:
										  * nothing was done */
	TbGpuShare gpus[TB_MAX_DEVICES - 1]; /* GPU 0 first; of a query on several */
	uint64_t
		column_bytes[TB_MAX_COLUMNS]; /* of bytes_read, by column of the program: files */
} TbQueryDone;

/* Spans of a query, some thousands a message, and the names of all tracks so far. */
typedef struct TbTrace
{
	int32_t	 pid; /* of D */
	uint32_t nspans;
	uint32_t ntracks;
	uint32_t lost; /* spans that were too many to keep */
				   /* TbSpan spans[nspans]; TbTrack tracks[ntracks] */
} TbTrace;

#ifdef __cplusplus
#include "wire_sizes.h"
#endif

#endif
