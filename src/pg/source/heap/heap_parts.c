/*
 * heap_parts.c - see heap_parts.h.
 *
 * Cached segments. Owns the bits of each part. Asked for before the first chunk. Must never
 * claim a block whose map page has an LSN that proves nothing, and takes no block from
 * turbined that it has not claimed.
 *
 * Files. The backend opens a relation's files, since it holds the relation's lock and knows
 * its path; turbined never opens one by name and never keeps one, since DROP and TRUNCATE
 * rely on everyone letting go. turbined's side: src/engine/source/heap/relation_files.h.
 *
 * Parts. Owns the cursor over blocks and the readers of all parts. A layout is announced
 * once, before the first part that has it. Must never open a relation: that is done, under
 * its lock, by whoever made the input. Called by the heap source and by heap scans.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "access/xlog.h"
#include "common/relpath.h"
#include "port/pg_bitutils.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/conversation/service_query.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"
#include "pg/shmem/cache_progress.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/heap/relation_statistics.h"

typedef enum TbFilesSent
{
	TB_FILES_SENT,
	TB_FILES_NONE, /* could not open them all: read buffered */
	TB_FILES_LOST  /* the connection is closed */
} TbFilesSent;

/* Of larger relations, what a message has room for: two bits a block, and LSNs. */
#define MOST_BLOCKS (1500 * TB_BLOCKS_PER_MAP_PAGE)
/* Dirty blocks that are asked for by their pages' LSNs; others are copied. */
#define MOST_DIRTY (1 << 18)
StaticAssertDecl(sizeof(TbSegments) + sizeof(TbSegmentsTaken) + MOST_BLOCKS / 4 +
						 1500 * sizeof(uint64) +
						 MOST_DIRTY * (sizeof(uint64) + sizeof(uint32)) <
					 TB_MAX_MESSAGE,
				 "bits of a part fit into a message");
StaticAssertDecl(TB_BLOCKS_PER_MAP_PAGE % 64 == 32,
				 "words of a map page's bits, and half of one");

/* What tells the relation's file from any that was there before or will be. File systems
 * that keep no time of birth have the inode alone. */
static bool
identify_file(Relation rel, TbFileIdentity *file)
{
	RelFileNode	 node = RelationGetSmgr(rel)->smgr_rnode.node;
	char		*path = relpath(RelationGetSmgr(rel)->smgr_rnode, MAIN_FORKNUM);
	struct statx status;
	bool		 found = statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &status) == 0;

	pfree(path);
	if (!found)
		return false;
	memset(file, 0, sizeof(*file));
	file->tablespace = node.spcNode;
	file->database = node.dbNode;
	file->file_number = node.relNode;
	file->inode = status.stx_ino;
	if (status.stx_mask & STATX_BTIME)
		file->birth_ns = (uint64) status.stx_btime.tv_sec * UINT64CONST(1000000000) +
			status.stx_btime.tv_nsec;
	return true;
}

static Size
bits_size(const TbCachedSegments *segments)
{
	return (segments->question.nblocks + 7) / 8;
}

/* Are the bits of so many blocks all set? */
static bool
all_set(const uint8 *bits, BlockNumber nblocks)
{
	BlockNumber nbytes = nblocks / 8;
	uint64		all = ~UINT64CONST(0);
	uint64		word;
	BlockNumber i = 0;

	for (; i + sizeof(word) <= nbytes; i += sizeof(word))
	{
		memcpy(&word, bits + i, sizeof(word));
		all &= word;
	}
	for (; i < nbytes; i++)
		all &= bits[i] | ~UINT64CONST(0xff);
	if (nblocks % 8 != 0)
		all &= bits[nbytes] | ~((UINT64CONST(1) << (nblocks % 8)) - 1);
	return all == ~UINT64CONST(0);
}

/* Takes the bits of map pages together that are not all set; returns their size. `full`: a
 * bit a page whose bits are. */
static Size
compress_bits(const TbSegments *head, const uint8 *bits, uint8 *full, uint8 *rest)
{
	Size size = 0;

	for (uint32 page = 0; page < head->nmap_pages; page++)
	{
		BlockNumber	 first = page * TB_BLOCKS_PER_MAP_PAGE;
		BlockNumber	 nblocks = Min(head->nblocks - first, TB_BLOCKS_PER_MAP_PAGE);
		const uint8 *of_page = bits + first / 8;

		if (all_set(of_page, nblocks))
			full[page / 8] |= 1 << (page % 8);
		else
		{
			memcpy(rest + size, of_page, (nblocks + 7) / 8);
			size += (nblocks + 7) / 8;
		}
	}
	return size;
}

/* Blocks that are dirty in shared buffers, and the LSNs that their pages have there. */
typedef struct DirtyPages
{
	uint32	count;
	uint32	room;
	uint64 *lsn;
	uint32 *blocks; /* ascending */
} DirtyPages;

/* `head` says how many of the bits are set. */
static bool
send_question(TbServiceQuery *query, const TbSegments *head, const uint64 *lsn,
			  const DirtyPages *dirty, const uint8 *bits)
{
	struct iovec parts[6];
	uint8		*full = palloc0((head->nmap_pages + 7) / 8);
	uint8		*rest = palloc((head->nblocks + 7) / 8);
	bool		 ok;

	/* Head and LSNs of map pages. */
	parts[0].iov_base = unconstify(TbSegments *, head);
	parts[0].iov_len = sizeof(*head);
	parts[1].iov_base = unconstify(uint64 *, lsn);
	parts[1].iov_len = head->nmap_pages * sizeof(uint64);
	/* Pages that are newer in memory. */
	parts[2].iov_base = dirty->lsn;
	parts[2].iov_len = dirty->count * sizeof(uint64);
	parts[3].iov_base = dirty->blocks;
	parts[3].iov_len = dirty->count * sizeof(uint32);
	/* Visibility: full pages, then the rest. */
	parts[4].iov_base = full;
	parts[4].iov_len = (head->nmap_pages + 7) / 8;
	parts[5].iov_base = rest;
	parts[5].iov_len = compress_bits(head, bits, full, rest);
	ok = tb_service_query_send_parts(query, TB_MSG_SEGMENTS, parts, 6, NULL, 0);
	pfree(full);
	pfree(rest);
	return ok;
}

/* Asks for the part's blocks, `alone` if the query has no other part; NULL, and nothing
 * sent, where none could be taken or kept. *ok: as tb_service_query_send. In the
 * current memory context. */
static TbCachedSegments *
ask_for_segments(TbServiceQuery *query, Relation rel, TbDirect *direct,
				 const TbBlockSet *wanted, BlockNumber nblocks, uint32 layout,
				 uint32 number, bool in_chunks, bool alone, bool *ok)
{
	TbSegments		 *head;
	TbCachedSegments *segments;
	DirtyPages		  none = {0};
	TbCachePolicy	  policy = tb_cache_policy_of(RelationGetRelid(rel));

	*ok = true;
	if (policy == TB_CACHE_OFF)
		return NULL;
	/* Name the file and part. */
	segments = palloc0(sizeof(TbCachedSegments));
	segments->direct = direct;
	head = &segments->question;
	if (!identify_file(rel, &head->file))
		return NULL;
	head->part = number;
	head->layout = layout;
	head->nblocks = Min(nblocks, MOST_BLOCKS);
	head->nmap_pages = (head->nblocks - 1) / TB_BLOCKS_PER_MAP_PAGE + 1;
	/* What turbined may rely on. */
	if (RecoveryInProgress())
		head->flags |= TB_SEGMENTS_RECOVERY;
	if (policy == TB_CACHE_PINNED)
		head->flags |= TB_SEGMENTS_PINNED;
	if (tb_cache_is_loading())
		head->flags |= TB_SEGMENTS_LOAD;
	if (alone && wanted == NULL && nblocks <= MOST_BLOCKS)
		head->flags |= TB_SEGMENTS_WHOLE;
	/* Which blocks are wanted? */
	segments->bits = palloc(bits_size(segments));
	segments->lsn = palloc(head->nmap_pages * sizeof(uint64));
	segments->in_chunks = in_chunks;
	segments->excluded_bits = in_chunks ? palloc0(bits_size(segments)) : NULL;
	head->asked = tb_direct_export(direct, head->nblocks, wanted, segments->lsn,
								   segments->bits);
	if (head->asked == 0)
		return NULL;
	/* May the answer end the input? */
	if ((head->flags & TB_SEGMENTS_WHOLE) != 0 && !in_chunks && head->asked == nblocks)
		head->flags |= TB_SEGMENTS_ENDS;
	*ok = send_question(query, head, segments->lsn, &none, segments->bits);
	return segments;
}

/* Blocks of an answer must be some of the question's. */
static bool
are_some_of(const uint8 *answer, const uint8 *question, Size size)
{
	uint8 others = 0;

	/* To the end, so that the compiler takes many at once. */
	for (Size i = 0; i < size; i++)
		others |= answer[i] & ~question[i];
	return others == 0;
}

/* One of the sets of blocks that end an answer: some of `asked`, in number as it says.
 * NULL: it is not. */
static const uint8 *
take_set(const uint8 **bits, const uint8 *asked, Size size, uint64 count)
{
	const uint8 *set = *bits;

	*bits += size;
	if (!are_some_of(set, asked, size) || pg_popcount((const char *) set, size) != count)
		return NULL;
	return set;
}

static void
add_bits(uint8 *to, const uint8 *bits, Size size)
{
	for (Size i = 0; i < size; i++)
		to[i] |= bits[i];
}

/* One answer to a question of `asked`: blocks that are taken, and those that may be
 * asked for again. Both have the part's size; `doubtful` may be left as it is. */
static bool
receive_answer(TbCachedSegments *segments, TbServiceQuery *query, const uint8 *asked,
			   uint8 *taken, uint8 *doubtful, uint64 *ndoubtful)
{
	Size			size = bits_size(segments);
	TbIncoming		message;
	TbSegmentsTaken answer;
	const uint8	   *bits;
	const uint8	   *set;
	bool			all;
	bool			names_excluded;

	/* Take the message. */
	if (tb_service_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_SEGMENTS_TAKEN || message.length < sizeof(answer))
		return tb_service_query_protocol_error(query, "unexpected answer to SEGMENTS");
	memcpy(&answer, message.payload, sizeof(answer));
	/* Check sizes and numbers. */
	bits = (const uint8 *) message.payload + sizeof(answer);
	all = (answer.flags & TB_SEGMENTS_TAKEN_ALL) != 0;
	names_excluded = segments->in_chunks && answer.excluded > 0;
	if (message.length !=
			sizeof(answer) + size * (!all + (answer.doubtful > 0) + names_excluded) ||
		(all && answer.blocks != segments->question.asked) ||
		answer.part != segments->question.part || answer.excluded > answer.blocks ||
		answer.segments > answer.blocks || answer.excluded_by_filter > answer.segments ||
		answer.excluded_by_join > answer.segments - answer.excluded_by_filter ||
		(answer.doubtful > 0 && doubtful == NULL))
		return tb_service_query_protocol_error(query, "malformed SEGMENTS_TAKEN");
	/* Blocks that are taken. */
	set = all ? asked : take_set(&bits, asked, size, answer.blocks);
	if (set == NULL)
		return tb_service_query_protocol_error(query, "SEGMENTS_TAKEN of other blocks");
	add_bits(taken, set, size);
	/* Blocks to ask for again. */
	if (answer.doubtful > 0)
	{
		set = take_set(&bits, asked, size, answer.doubtful);
		if (set == NULL)
			return tb_service_query_protocol_error(query, "SEGMENTS_TAKEN of other blocks");
		memcpy(doubtful, set, size);
	}
	/* Blocks without a row that passes. */
	if (names_excluded)
	{
		set = take_set(&bits, taken, size, answer.excluded);
		if (set == NULL)
			return tb_service_query_protocol_error(query, "SEGMENTS_TAKEN of other blocks");
		add_bits(segments->excluded_bits, set, size);
	}
	/* Add up the figures. */
	*ndoubtful = answer.doubtful;
	segments->not_looked = (answer.flags & TB_SEGMENTS_TAKEN_NOT_LOOKED) != 0;
	segments->blocks += answer.blocks;
	segments->excluded += answer.excluded;
	segments->rows += answer.rows;
	segments->excluded_rows += answer.excluded_rows;
	segments->segments += answer.segments;
	segments->excluded_by_filter += answer.excluded_by_filter;
	segments->excluded_by_join += answer.excluded_by_join;
	return true;
}

/* Awaits the answer; answers come in the order of the questions. */
static bool
await_segments(TbCachedSegments *segments, TbServiceQuery *query)
{
	Size   size = bits_size(segments);
	uint8 *taken = palloc0(size);

	segments->doubtful_bits = palloc(size);
	if (!receive_answer(segments, query, segments->bits, taken, segments->doubtful_bits,
						&segments->doubtful))
		return false;
	Assert(pg_popcount((const char *) taken, size) == segments->blocks);
	pfree(segments->bits);
	segments->bits = taken;
	segments->input_ended = (segments->question.flags & TB_SEGMENTS_ENDS) != 0 &&
		segments->blocks == segments->question.nblocks;
	return true;
}

/* Notes the page's LSN; false if there is none to be had. On a standby only the file's
 * counts. */
static bool
add_dirty(const TbCachedSegments *segments, BlockNumber block, DirtyPages *dirty)
{
	uint64 lsn;

	if ((segments->question.flags & TB_SEGMENTS_RECOVERY) != 0 ||
		dirty->count >= MOST_DIRTY)
		return false;
	/* Only a page in shared buffers has one. */
	lsn = tb_direct_buffer_lsn(segments->direct, block);
	if (lsn == 0)
		return false;
	/* Make room for it. */
	if (dirty->count == dirty->room)
	{
		dirty->room = Max(1024, 2 * dirty->room);
		dirty->lsn = dirty->lsn == NULL ?
			palloc(dirty->room * sizeof(uint64)) :
			repalloc(dirty->lsn, dirty->room * sizeof(uint64));
		dirty->blocks = dirty->blocks == NULL ?
			palloc(dirty->room * sizeof(uint32)) :
			repalloc(dirty->blocks, dirty->room * sizeof(uint32));
	}
	dirty->lsn[dirty->count] = lsn;
	dirty->blocks[dirty->count++] = block;
	return true;
}

/* Of doubtful blocks, those whose pages the file has as they are, and those that are dirty
 * in shared buffers. */
static uint64
keep_known(TbCachedSegments *segments, DirtyPages *dirty)
{
	uint64 known = 0;

	for (BlockNumber block = 0; block < segments->question.nblocks; block++)
	{
		uint8 *byte = &segments->doubtful_bits[block / 8];

		if (*byte == 0)
			block |= 7;
		else if ((*byte & (1 << (block % 8))) == 0)
			continue;
		else if (tb_direct_block(segments->direct, block) ||
				 add_dirty(segments, block, dirty))
			known++;
		else
			*byte &= ~(1 << (block % 8));
	}
	return known;
}

/* Asks for doubtful blocks, by the files' pages or, of dirty ones, by the LSNs in
 * shared buffers, and awaits the answer. turbined has the part's files. */
static bool
ask_again(TbCachedSegments *segments, TbServiceQuery *query)
{
	uint64	   doubtful;
	DirtyPages dirty = {0};
	bool	   ok;

	segments->question.asked = keep_known(segments, &dirty);
	segments->question.ndirty = dirty.count;
	if (segments->question.asked == 0)
		return true;
	segments->question.flags |= TB_SEGMENTS_CLEAN;
	segments->question.flags &= ~TB_SEGMENTS_ENDS;
	ok = send_question(query, &segments->question, segments->lsn, &dirty,
					   segments->doubtful_bits) &&
		receive_answer(segments, query, segments->doubtful_bits, segments->bits, NULL,
					   &doubtful);
	if (dirty.room > 0)
	{
		pfree(dirty.lsn);
		pfree(dirty.blocks);
	}
	return ok;
}

static bool
has_bit(const uint8 *bits, BlockNumber block)
{
	return (bits[block / 8] & (1 << (block % 8))) != 0;
}

/* The first block from this one on of which something is left to do: turbined does not
 * take it, or waits to be asked for it. */
static BlockNumber
skip_taken(const TbCachedSegments *segments, BlockNumber block)
{
	const uint8 *skipped = segments->in_chunks ? segments->excluded_bits : segments->bits;

	if (!segments->in_chunks && segments->blocks == segments->question.nblocks)
		return Max(block, segments->question.nblocks);
	while (block < segments->question.nblocks)
	{
		if (block % 8 == 0 && skipped[block / 8] == 0xff)
			block += 8;
		else if (has_bit(skipped, block))
			block++;
		else
			break;
	}
	return block;
}

/* How many blocks from this one on, at most so many, may be asked for in one chunk of
 * segments; 0: this one may not. */
static uint32
run_of_segments(const TbCachedSegments *segments, BlockNumber block, uint32 most)
{
	uint32 count = 0;

	if (!segments->in_chunks)
		return 0;
	for (; count < most && block < segments->question.nblocks; block++, count++)
		if (!has_bit(segments->bits, block) || has_bit(segments->excluded_bits, block))
			break;
	return count;
}

void
tb_cached_segments_give_up(TbCachedSegments *segments)
{
	Assert(segments->in_chunks);
	memset(segments->bits, 0, bits_size(segments));
}

/* Open at a time: a backend may have few descriptors to spare. */
#define FILES_A_MESSAGE 16

static int
open_file(Relation rel, uint32 number)
{
	char *base = relpath(RelationGetSmgr(rel)->smgr_rnode, MAIN_FORKNUM);
	char *path = number == 0 ? base : psprintf("%s.%u", base, number);
	int	  fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);

	if (path != base)
		pfree(path);
	pfree(base);
	return fd;
}

static TbFilesSent
send_batch(TbServiceQuery *query, Relation rel, uint32 first, uint32 count)
{
	int			 fds[FILES_A_MESSAGE];
	TbFiles		 message = {.first_file = first, .count = count};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	TbFilesSent	 result = TB_FILES_SENT;
	uint32		 nopen = 0;

	while (nopen < count)
	{
		fds[nopen] = open_file(rel, first + nopen);
		if (fds[nopen] < 0)
			break;
		nopen++;
	}
	if (nopen < count)
		result = TB_FILES_NONE;
	else if (!tb_service_query_send_parts(query, TB_MSG_FILES, &part, 1, fds, count))
		result = TB_FILES_LOST;
	for (uint32 i = 0; i < nopen; i++)
		CloseTransientFile(fds[i]);
	return result;
}

/* Opens the main fork's relation files for reading, sends the descriptors, closes its
 * own. They are for the query to come, or for what the one under way reads next. */
static TbFilesSent
send_relation_files(TbServiceQuery *query, Relation rel, BlockNumber nblocks)
{
	uint32 nfiles = (nblocks - 1) / RELSEG_SIZE + 1;

	for (uint32 first = 0; first < nfiles; first += FILES_A_MESSAGE)
	{
		TbFilesSent sent = send_batch(query, rel, first,
									  Min(FILES_A_MESSAGE, nfiles - first));

		if (sent != TB_FILES_SENT)
			return sent;
	}
	return TB_FILES_SENT;
}

static uint32 padding[2]; /* zeros */

/* The first block that is read from `block` on; at or beyond the end: none. */
static BlockNumber
block_from(const TbHeapPart *part, BlockNumber block)
{
	for (;;)
	{
		BlockNumber next = part->blocks != NULL ? tb_block_set_next(part->blocks, block) :
												  block;

		if (part->cached == NULL || next >= part->nblocks)
			return next;
		block = skip_taken(part->cached, next);
		if (block == next)
			return next;
	}
}

/* Goes to the next part, as a sequential scan of it would begin. */
static void
enter_next(TbHeapParts *parts)
{
	TbHeapPart *part = &parts->parts[parts->next_part++];

	tb_buffered_begin(&part->reader, part->rel, parts->snapshot, part->blocks_to_read);
	parts->current = part;
	parts->next_block = block_from(part, 0);
}

/* On to one that has blocks left. */
static void
find_blocks(TbHeapParts *parts)
{
	while (!tb_heap_parts_blocks_left(parts) && parts->next_part < parts->nparts)
		enter_next(parts);
}

TbHeapParts *
tb_heap_parts_make(const TbHeapInput *input)
{
	TbHeapParts *parts = palloc0(sizeof(TbHeapParts));
	bool		 partitioned = input->parts != NULL;

	parts->snapshot = input->snapshot;
	parts->attributes = input->attributes;
	parts->created_before = input->created_before;
	parts->beside_others = input->beside_others;
	parts->layouts = input->layouts;
	parts->nlayouts = input->nlayouts;
	parts->nparts = partitioned ? input->nparts : 1;
	parts->parts = palloc0(sizeof(TbHeapPart) * Max(parts->nparts, 1));
	parts->layout_numbers = palloc0(sizeof(uint32) * (input->nlayouts + 1));
	/* Count each part's blocks */
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		part->rel = partitioned ? input->parts[i].rel : input->rel;
		part->layout = partitioned ? input->parts[i].layout : 0;
		Assert(part->layout <= (uint32) input->nlayouts);
		part->nblocks = RelationGetNumberOfBlocks(part->rel);
		part->blocks = partitioned ? input->parts[i].blocks : input->blocks;
		part->blocks_to_read = part->blocks != NULL ? tb_block_set_count(part->blocks) :
													  part->nblocks;
		parts->total_blocks += part->blocks_to_read;
	}
	/* Go to the first block */
	find_blocks(parts);
	return parts;
}

bool
tb_heap_parts_blocks_left(const TbHeapParts *parts)
{
	return parts->current != NULL && parts->next_block < parts->current->nblocks;
}

/* Blocks from this one on that a chunk of segments may have. */
static uint32
run_from(const TbHeapParts *parts, BlockNumber block, uint32 most)
{
	const TbCachedSegments *cached = parts->current->cached;

	return cached == NULL ? 0 : run_of_segments(cached, block, most);
}

uint32
tb_heap_parts_take_run(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity)
{
	uint32 count = run_from(parts, parts->next_block, capacity);

	for (uint32 i = 0; i < count; i++)
		blocks[i] = parts->next_block + i;
	if (count > 0)
		parts->next_block = block_from(parts->current, blocks[count - 1] + 1);
	return count;
}

uint32
tb_heap_parts_take(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity)
{
	uint32 count = 0;

	/* Blocks of one map page, so that those of a segment come together. */
	while (count < capacity && tb_heap_parts_blocks_left(parts) &&
		   (count == 0 || TB_VM_PAGE(parts->next_block) == TB_VM_PAGE(blocks[0])) &&
		   run_from(parts, parts->next_block, 1) == 0)
	{
		blocks[count++] = parts->next_block;
		parts->next_block = block_from(parts->current, parts->next_block + 1);
	}
	return count;
}

void
tb_heap_parts_go_back(TbHeapParts *parts, BlockNumber block)
{
	/* Within the current part, hence for sources of one part. */
	Assert(parts->nparts == 1 && block <= parts->next_block);
	parts->next_block = block;
}

void
tb_heap_parts_classify(TbHeapParts *parts)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->nblocks > 0)
			part->direct = tb_direct_begin(part->rel, parts->snapshot, part->nblocks,
										   part->blocks_to_read,
										   tb_guc_enable_cache && !parts->rows,
										   parts->created_before);
	}
}

static bool
send_files(TbHeapPart *part, TbServiceQuery *query)
{
	if (tb_direct_is_small(part->direct))
		return true;
	switch (send_relation_files(query, part->rel, part->nblocks))
	{
		case TB_FILES_LOST:
			return false;
		case TB_FILES_NONE:
			part->direct = NULL;
			break;
		case TB_FILES_SENT:
			break;
	}
	return true;
}

bool
tb_heap_parts_send_files(TbHeapParts *parts, TbServiceQuery *query)
{
	if (!tb_heap_parts_blocks_left(parts) || parts->current->direct == NULL)
		return true;
	return send_files(parts->current, query);
}

static bool
send_layout(TbServiceQuery *query, const TbHeapLayout *layout)
{
	TbLayout	 header = {0};
	struct iovec parts[4];

	header.program_size = layout->program->total_size;
	header.params_size = layout->params->total_size;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, layout->program);
	parts[1].iov_len = layout->program->total_size;
	parts[2].iov_base = padding;
	parts[2].iov_len = TYPEALIGN(8, layout->program->total_size) -
		layout->program->total_size;
	parts[3].iov_base = unconstify(TbParamBlock *, layout->params);
	parts[3].iov_len = layout->params->total_size;
	return tb_service_query_send_parts(query, TB_MSG_LAYOUT, parts, 4, NULL, 0);
}

static bool
announce_layout(TbHeapParts *parts, TbServiceQuery *query, uint32 layout)
{
	if (layout == 0 || parts->layout_numbers[layout] != 0)
		return true;
	parts->layout_numbers[layout] = ++parts->layouts_sent;
	return send_layout(query, &parts->layouts[layout - 1]);
}

bool
tb_heap_parts_announce_layout(TbHeapParts *parts, TbServiceQuery *query)
{
	return announce_layout(parts, query,
						   parts->current != NULL ? parts->current->layout : 0);
}

bool
tb_heap_parts_ask_for_cached(TbHeapParts *parts, TbServiceQuery *query)
{
	uint32 asked = 0;
	bool   ok = true;

	for (uint32 i = 0; i < parts->nparts && ok; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->direct == NULL || asked >= TB_MAX_PARTS)
			continue;
		if (!announce_layout(parts, query, part->layout))
			return false;
		part->cached = ask_for_segments(query, part->rel, part->direct, part->blocks,
										part->nblocks,
										tb_heap_parts_layout_number(parts, part), asked + 1,
										parts->rows,
										parts->nparts == 1 && !parts->beside_others, &ok);
		if (part->cached != NULL)
			asked++;
	}
	return ok;
}

/* Where VACUUM has been, turbined must look at pages' headers. */
static bool
ask_for_doubtful(TbHeapParts *parts, TbServiceQuery *query)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL || part->cached->doubtful == 0)
			continue;
		if (!send_files(part, query))
			return false;
		if (part->direct != NULL && !ask_again(part->cached, query))
			return false;
	}
	return true;
}

bool
tb_heap_parts_take_cached(TbHeapParts *parts, TbServiceQuery *query)
{
	/* Await the answers */
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL)
			continue;
		if (!await_segments(part->cached, query))
			return false;
	}
	/* Ask again where VACUUM was */
	if (!ask_for_doubtful(parts, query))
		return false;
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		TbHeapPart *part = &parts->parts[i];

		if (part->cached == NULL)
			continue;
		part->stats.rows += parts->rows ? part->cached->excluded_rows : part->cached->rows;
		tb_cache_progress_add(part->cached->blocks);
		tb_count_cached_blocks(part->rel,
							   parts->rows ? part->cached->excluded : part->cached->blocks);
	}
	/* Pass over what is taken */
	if (parts->current != NULL)
		parts->next_block = block_from(parts->current, parts->next_block);
	find_blocks(parts);
	return true;
}

bool
tb_heap_parts_end_by_themselves(const TbHeapParts *parts)
{
	return parts->nparts == 1 && parts->parts[0].cached != NULL &&
		parts->parts[0].cached->input_ended;
}

bool
tb_heap_parts_more(TbHeapParts *parts, TbServiceQuery *query, bool *more)
{
	TbHeapPart *before = parts->current;

	find_blocks(parts);
	*more = tb_heap_parts_blocks_left(parts);
	if (!*more || parts->current == before)
		return true;
	/* Opening files takes long: what is held goes first. */
	return tb_service_query_flush(query) && tb_heap_parts_send_files(parts, query) &&
		tb_heap_parts_announce_layout(parts, query);
}

static bool
is_in_use(const TbHeapParts *parts, uint32 layout)
{
	for (uint32 i = 0; i < parts->nparts; i++)
		if (parts->parts[i].layout == layout && parts->parts[i].nblocks > 0)
			return true;
	return false;
}

bool
tb_heap_parts_prepare_layouts(TbHeapParts *parts, TbServiceQuery *query)
{
	for (int i = 0; i < parts->nlayouts; i++)
		if (is_in_use(parts, i + 1) &&
			!tb_service_query_prepare(query, parts->layouts[i].program))
			return false;
	return true;
}

uint32
tb_heap_parts_layout_number(const TbHeapParts *parts, const TbHeapPart *part)
{
	Assert(part->layout == 0 || parts->layout_numbers[part->layout] != 0);
	return parts->layout_numbers[part->layout];
}

const TbProgram *
tb_heap_parts_layout(const TbHeapParts *parts, const TbHeapPart *part,
					 const TbProgram *program)
{
	return part->layout == 0 ? program : parts->layouts[part->layout - 1].program;
}

void
tb_heap_parts_count_cached(const TbHeapParts *parts, TbRunStats *stats)
{
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		const TbCachedSegments *cached = parts->parts[i].cached;

		if (cached == NULL)
			continue;
		stats->blocks.cached += cached->blocks;
		stats->blocks.excluded += cached->excluded;
		stats->segments.taken += cached->segments;
		stats->segments.by_filter += cached->excluded_by_filter;
		stats->segments.by_join += cached->excluded_by_join;
	}
}

void
tb_heap_parts_note_cached(const TbHeapParts *parts)
{
	if (!tb_guc_enable_cache)
		return;
	for (uint32 i = 0; i < parts->nparts; i++)
	{
		const TbHeapPart *part = &parts->parts[i];
		double			  found = part->cached != NULL ? part->cached->blocks : 0;
		double			  all = part->blocks_to_read;

		if (part->cached != NULL && part->cached->not_looked)
			continue;
		/* What is true of few blocks need not be so of the table. */
		if (all < tb_guc_direct_threshold || all < part->nblocks / 2.0)
			continue;
		tb_advice_note_columns(RelationGetRelid(part->rel), parts->attributes, found / all,
							   Min(found + part->stats.blocks_direct, all) / all);
	}
}

double
tb_heap_parts_buffered_blocks(const TbHeapPart *part)
{
	double all = part->blocks_to_read;
	double left = all - (part->cached != NULL ? part->cached->blocks : 0);

	if (part->direct == NULL)
		return all;
	if (tb_direct_is_small(part->direct))
		return left;
	return Min(all * (1 - tb_direct_share(part->direct)), left);
}

bool
tb_heap_parts_most_is_buffered(const TbHeapParts *parts)
{
	double buffered = 0;

	for (uint32 i = 0; i < parts->nparts; i++)
		buffered += tb_heap_parts_buffered_blocks(&parts->parts[i]);
	return buffered > parts->total_blocks / 2.0;
}

void
tb_heap_parts_end(TbHeapParts *parts)
{
	for (uint32 i = 0; i < parts->nparts; i++)
		tb_buffered_end(&parts->parts[i].reader);
}
