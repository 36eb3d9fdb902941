/*
 * cached_segments.c - see cached_segments.h.
 *
 * Owns the bits of one part. Called by heap_parts.c before the first chunk. Must never
 * claim a block whose map page has an LSN that proves nothing, and takes no block from
 * turbined that it has not claimed.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "access/xlog.h"
#include "common/relpath.h"
#include "port/pg_bitutils.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/source/heap/cached_segments.h"

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

	parts[0].iov_base = unconstify(TbSegments *, head);
	parts[0].iov_len = sizeof(*head);
	parts[1].iov_base = unconstify(uint64 *, lsn);
	parts[1].iov_len = head->nmap_pages * sizeof(uint64);
	parts[2].iov_base = dirty->lsn;
	parts[2].iov_len = dirty->count * sizeof(uint64);
	parts[3].iov_base = dirty->blocks;
	parts[3].iov_len = dirty->count * sizeof(uint32);
	parts[4].iov_base = full;
	parts[4].iov_len = (head->nmap_pages + 7) / 8;
	parts[5].iov_base = rest;
	parts[5].iov_len = compress_bits(head, bits, full, rest);
	ok = tb_service_query_send_parts(query, TB_MSG_SEGMENTS, parts, 6, NULL, 0);
	pfree(full);
	pfree(rest);
	return ok;
}

TbCachedSegments *
tb_cached_segments_ask(TbServiceQuery *query, Relation rel, TbDirect *direct,
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

bool
tb_cached_segments_await(TbCachedSegments *segments, TbServiceQuery *query)
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
	lsn = tb_direct_buffer_lsn(segments->direct, block);
	if (lsn == 0)
		return false;
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

bool
tb_cached_segments_ask_again(TbCachedSegments *segments, TbServiceQuery *query)
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

BlockNumber
tb_cached_segments_skip(const TbCachedSegments *segments, BlockNumber block)
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

uint32
tb_cached_segments_run(const TbCachedSegments *segments, BlockNumber block, uint32 most)
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
