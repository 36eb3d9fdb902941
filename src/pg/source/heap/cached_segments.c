/*
 * cached_segments.c - see cached_segments.h.
 *
 * Owns the bits of each part. Asked for before the first chunk. Must never take a block
 * from turbined that it has not asked for. Called by heap_parts.c.
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
#include "pg/compat/pg18.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/cached_segments.h"
#include "pg/source/heap/visibility/buffer_lookup.h"
#include "pg/source/heap/visibility/fresh_blocks.h"

/* Of larger relations, what a message has room for: two bits a block, and LSNs. */
#define MOST_BLOCKS (1500 * TB_BLOCKS_PER_MAP_PAGE)
/* Between the block that is asked of and the one that is fetched. */
#define AHEAD 4
StaticAssertDecl(sizeof(TbSegments) + sizeof(TbSegmentsTaken) + MOST_BLOCKS / 4 +
						 1501 * sizeof(uint64) <
					 TB_MAX_MESSAGE,
				 "bits of a part fit into a message");
StaticAssertDecl(TB_BLOCKS_PER_MAP_PAGE % 64 == 32,
				 "words of a map page's bits, and half of one");

/* What tells the relation's file from any that was there before or will be. File systems
 * that keep no time of birth have the inode alone. */
static bool
identify_file(Relation rel, TbFileIdentity *file)
{
	RelFileLocator node = TB_SMGR_LOCATOR(rel);
	char		  *path = tb_relation_path(rel);
	struct statx   status;
	bool		   found = statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &status) == 0;

	pfree(path);
	if (!found)
		return false;
	memset(file, 0, sizeof(*file));
	file->tablespace = TB_LOCATOR_TABLESPACE(node);
	file->database = TB_LOCATOR_DATABASE(node);
	file->file_number = TB_LOCATOR_NUMBER(node);
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

/* Blocks in shared buffers, and the LSNs that their pages have there. */
typedef struct BufferedPages
{
	uint32	count;
	uint32	room;
	uint64 *lsn;
	uint32 *blocks; /* ascending */
	uint32 *buffers;
} BufferedPages;

/* `head` says how many of the bits are set. */
static bool
send_question(TbServiceQuery *query, const TbCachedSegments *segments,
			  const BufferedPages *pages, const uint8 *bits, const uint8 *fresh_bits)
{
	const TbSegments *head = &segments->question;
	struct iovec	  parts[9];
	uint8			 *full = palloc0((head->nmap_pages + 7) / 8);
	uint8			 *rest = palloc((head->nblocks + 7) / 8);
	bool			  ok;

	/* Head and LSNs of map pages. */
	parts[0].iov_base = unconstify(TbSegments *, head);
	parts[0].iov_len = sizeof(*head);
	parts[1].iov_base = segments->lsn;
	parts[1].iov_len = head->nmap_pages * sizeof(uint64);
	/* Pages in memory. */
	parts[2].iov_base = pages->lsn;
	parts[2].iov_len = pages->count * sizeof(uint64);
	parts[3].iov_base = pages->blocks;
	parts[3].iov_len = pages->count * sizeof(uint32);
	parts[4].iov_base = pages->buffers;
	parts[4].iov_len = pages->count * sizeof(uint32);
	/* Columns that stay. */
	parts[5].iov_base = segments->pinned;
	parts[5].iov_len = head->npinned * sizeof(uint32);
	/* Visibility: full pages, then the rest. */
	parts[6].iov_base = full;
	parts[6].iov_len = (head->nmap_pages + 7) / 8;
	parts[7].iov_base = rest;
	parts[7].iov_len = compress_bits(head, bits, full, rest);
	/* Blocks that are not all-visible, unless all the others are wanted. */
	parts[8].iov_base = unconstify(uint8 *, fresh_bits);
	parts[8].iov_len = (head->flags & TB_SEGMENTS_FRESH_BITS) != 0 ?
		(head->nblocks + 7) / 8 :
		0;
	ok = tb_service_query_send_parts(query, TB_MSG_SEGMENTS, parts, 9, NULL, 0);
	pfree(full);
	pfree(rest);
	return ok;
}

/* Which blocks are wanted although they are not all-visible; returns how many. `fresh` has
 * room for each block. */
static uint64
export_others(const TbSegments *head, const uint8 *bits, const TbBlockSet *wanted,
			  uint8 *fresh)
{
	Size size = (head->nblocks + 7) / 8;

	if (wanted == NULL)
	{
		memset(fresh, 0xff, size);
		if (head->nblocks % 8 != 0)
			fresh[size - 1] = (1 << (head->nblocks % 8)) - 1;
	}
	else
	{
		memset(fresh, 0, size);
		for (BlockNumber block = tb_block_set_next(wanted, 0); block < head->nblocks;
			 block = tb_block_set_next(wanted, block + 1))
			fresh[block / 8] |= 1 << (block % 8);
	}
	for (Size i = 0; i < size; i++)
		fresh[i] &= ~bits[i];
	return pg_popcount((const char *) fresh, size);
}

/* Which columns turbined must not let go. */
static void
export_pin(TbCachedSegments *segments, const TbPin *pin)
{
	int attnum = -1;

	segments->question.flags |= TB_SEGMENTS_PIN;
	segments->pinned = palloc(sizeof(uint32) * Max(bms_num_members(pin->columns), 1));
	while ((attnum = bms_next_member(pin->columns, attnum)) >= 0)
		segments->pinned[segments->question.npinned++] = (uint32) attnum;
}

/* Tells turbined of the snapshot, once a query. */
static bool
send_snapshot(TbServiceQuery *query, Snapshot snapshot)
{
	struct iovec part;
	TbSnapshot	*exported = tb_fresh_export_snapshot(snapshot, &part.iov_len);
	bool		 ok;

	part.iov_base = exported;
	ok = tb_service_query_send_parts(query, TB_MSG_SNAPSHOT, &part, 1, NULL, 0);
	pfree(exported);
	return ok;
}

/* Asks for the part's blocks that are not all-visible as well, where there are such.
 * turbined must know the snapshot in any case: what it has may be newer than the map was.
 */
static bool
ask_for_fresh(TbServiceQuery *query, TbCachedSegments *segments, const TbBlockSet *wanted,
			  Snapshot snapshot, bool *snapshot_sent)
{
	TbSegments *head = &segments->question;
	uint64		count;

	if (!tb_fresh_suits(snapshot))
		return true;
	if (!*snapshot_sent && !send_snapshot(query, snapshot))
		return false;
	*snapshot_sent = true;
	if (wanted == NULL && head->asked == head->nblocks)
		return true;
	segments->fresh_bits = palloc(bits_size(segments));
	count = export_others(head, segments->bits, wanted, segments->fresh_bits);
	if (count == 0)
	{
		pfree(segments->fresh_bits);
		segments->fresh_bits = NULL;
		return true;
	}
	head->asked += count;
	head->flags |= TB_SEGMENTS_FRESH;
	if (wanted != NULL)
		head->flags |= TB_SEGMENTS_FRESH_BITS;
	return true;
}

TbCachedSegments *
tb_cached_segments_ask(TbServiceQuery *query, const TbCachedQuestion *question,
					   bool *snapshot_sent, bool *ok)
{
	const TbBlockSet *wanted = question->wanted;
	BlockNumber		  nblocks = question->nblocks;
	TbSegments		 *head;
	TbCachedSegments *segments;
	BufferedPages	  none = {0};
	TbCachePolicy	  policy = tb_cache_policy_of(RelationGetRelid(question->rel));
	TbPin			  pin;

	*ok = true;
	if (policy == TB_CACHE_OFF)
		return NULL;
	/* Name the file and part. */
	segments = palloc0(sizeof(TbCachedSegments));
	segments->direct = question->direct;
	head = &segments->question;
	if (!identify_file(question->rel, &head->file))
		return NULL;
	head->part = question->number;
	head->layout = question->layout;
	head->nblocks = Min(nblocks, MOST_BLOCKS);
	head->nmap_pages = (head->nblocks - 1) / TB_BLOCKS_PER_MAP_PAGE + 1;
	/* What turbined may rely on. */
	if (RecoveryInProgress())
		head->flags |= TB_SEGMENTS_RECOVERY;
	if (policy == TB_CACHE_KEEP)
		head->flags |= TB_SEGMENTS_KEEP;
	if (policy == TB_CACHE_PIN && tb_cache_pin_of(RelationGetRelid(question->rel), &pin))
		export_pin(segments, &pin);
	if (tb_cache_is_loading())
		head->flags |= TB_SEGMENTS_LOAD;
	if (question->alone && wanted == NULL && nblocks <= MOST_BLOCKS)
		head->flags |= TB_SEGMENTS_WHOLE;
	/* Which blocks are wanted? */
	segments->bits = palloc(bits_size(segments));
	segments->lsn = palloc(head->nmap_pages * sizeof(uint64));
	segments->in_chunks = question->in_chunks;
	segments->excluded_bits = question->in_chunks ? palloc0(bits_size(segments)) : NULL;
	head->asked = tb_direct_export(question->direct, head->nblocks, wanted, segments->lsn,
								   segments->bits);
	*ok = ask_for_fresh(query, segments, wanted, question->snapshot, snapshot_sent);
	if (head->asked == 0 || !*ok)
		return NULL;
	/* May the answer end the input? */
	if ((head->flags & TB_SEGMENTS_WHOLE) != 0 && !question->in_chunks &&
		head->asked == nblocks)
		head->flags |= TB_SEGMENTS_ENDS;
	*ok = send_question(query, segments, &none, segments->bits, segments->fresh_bits);
	return segments;
}

static uint64
word_of(const uint8 *bits)
{
	uint64 word;

	memcpy(&word, bits, sizeof(word));
	return word;
}

/* Blocks of an answer must be some of the question's. A table of 20 GB has 300 kB of bits,
 * and PostgreSQL's compiler options make a byte as long as a word. */
static bool
are_some_of(const uint8 *answer, const uint8 *question, Size size)
{
	uint64 others = 0;
	Size   i = 0;

	for (; i + sizeof(others) <= size; i += sizeof(others))
		others |= word_of(answer + i) & ~word_of(question + i);
	for (; i < size; i++)
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
	Size i = 0;

	for (; i + sizeof(uint64) <= size; i += sizeof(uint64))
	{
		uint64 word = word_of(to + i) | word_of(bits + i);

		memcpy(to + i, &word, sizeof(word));
	}
	for (; i < size; i++)
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
	bool			names_buffers;

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
	names_buffers = (answer.flags & TB_SEGMENTS_TAKEN_BUFFERS) != 0;
	if (answer.doubtful > segments->question.nblocks ||
		message.length !=
			sizeof(answer) + size * (!all + (answer.doubtful > 0) + names_excluded) +
				(names_buffers ? answer.doubtful * sizeof(uint32) : 0) ||
		(all && answer.blocks != segments->question.asked) ||
		answer.part != segments->question.part ||
		answer.excluded_by_filter > answer.segments ||
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
	/* Where to look for the doubtful ones. */
	if (names_buffers)
	{
		segments->buffers = palloc_extended(answer.doubtful * sizeof(uint32),
											MCXT_ALLOC_HUGE);
		memcpy(segments->buffers, bits, answer.doubtful * sizeof(uint32));
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
	if (segments->fresh_bits != NULL)
		add_bits(segments->bits, segments->fresh_bits, size);
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

static bool
has_bit(const uint8 *bits, BlockNumber block)
{
	return (bits[block / 8] & (1 << (block % 8))) != 0;
}

static bool
is_fresh(const TbCachedSegments *segments, BlockNumber block)
{
	return segments->fresh_bits != NULL && has_bit(segments->fresh_bits, block);
}

/* Blocks in shared buffers that are asked for by their pages' LSNs: as many as a message
 * has room for, a million if the relation is no larger. Of others, those that are dirty are
 * copied. */
static uint32
most_buffered(const TbCachedSegments *segments)
{
	Size others = sizeof(TbSegments) + 2 * bits_size(segments) +
		(segments->question.nmap_pages + 1) * (sizeof(uint64) + 1) +
		TB_MAX_COLUMNS * sizeof(uint32);

	return (TB_MAX_MESSAGE - others) / (sizeof(uint64) + 2 * sizeof(uint32));
}

/* Notes the page's LSN and where it was seen. */
static void
add_buffered(BufferedPages *pages, BlockNumber block, uint64 lsn, Buffer buffer)
{
	/* Make room for it. */
	if (pages->count == pages->room)
	{
		bool first = pages->room == 0;

		pages->room = Max(1024, 2 * pages->room);
		pages->lsn = first ? palloc(pages->room * sizeof(uint64)) :
							 repalloc(pages->lsn, pages->room * sizeof(uint64));
		pages->blocks = first ? palloc(pages->room * sizeof(uint32)) :
								repalloc(pages->blocks, pages->room * sizeof(uint32));
		pages->buffers = first ? palloc(pages->room * sizeof(uint32)) :
								 repalloc(pages->buffers, pages->room * sizeof(uint32));
	}
	pages->lsn[pages->count] = lsn;
	pages->blocks[pages->count] = block;
	pages->buffers[pages->count++] = (uint32) buffer;
}

/* Of a block whose page turbined must know: false if it is not to be had. `buffer`: where
 * it was seen lately. */
static bool
keep_if_known(TbCachedSegments *segments, BlockNumber block, Buffer buffer,
			  BufferedPages *pages)
{
	bool   fresh = is_fresh(segments, block);
	uint64 lsn = 0;

	/* What the map calls all-visible: of the file, if it is there. On a standby nowhere
	 * else. */
	if (!fresh && tb_direct_block(segments->direct, block))
		return true;
	if (!fresh && (segments->question.flags & TB_SEGMENTS_RECOVERY) != 0)
		return false;
	/* Only a page in shared buffers has an LSN. */
	if (pages->count < most_buffered(segments))
		lsn = tb_direct_buffer_lsn(segments->direct, block, &buffer);
	if (lsn != 0)
		add_buffered(pages, block, lsn, buffer);
	return lsn != 0 || (fresh && tb_direct_is_on_file(segments->direct, block));
}

/* Of doubtful blocks, those whose pages are known: from shared buffers or from the file. */
static uint64
keep_known(TbCachedSegments *segments, BufferedPages *pages)
{
	const uint32 *buffers = segments->buffers;
	uint64		  known = 0;
	uint64		  place = 0; /* among the doubtful ones */
	uint64		  unhinted = segments->doubtful;

	if (buffers != NULL)
		for (uint64 i = 0; i < segments->doubtful; i++)
			unhinted -= buffers[i] != 0;
	tb_direct_expect_looks(segments->direct, unhinted);
	for (BlockNumber block = 0; block < segments->question.nblocks; block++)
	{
		uint8 *byte = &segments->doubtful_bits[block / 8];

		if (*byte == 0)
			block |= 7;
		else if ((*byte & (1 << (block % 8))) != 0)
		{
			Buffer buffer = buffers == NULL ? InvalidBuffer : (Buffer) buffers[place];

			if (buffers != NULL && place + AHEAD < segments->doubtful)
				tb_buffer_fetch_ahead((Buffer) buffers[place + AHEAD]);
			place++;
			if (keep_if_known(segments, block, buffer, pages))
				known++;
			else
				*byte &= ~(1 << (block % 8));
		}
	}
	return known;
}

bool
tb_cached_segments_ask_again(TbCachedSegments *segments, TbServiceQuery *query)
{
	uint64		  doubtful;
	BufferedPages pages = {0};
	uint8		 *asked;
	uint8		 *fresh = NULL;
	bool		  ok;

	segments->question.asked = keep_known(segments, &pages);
	segments->question.nbuffered = pages.count;
	segments->question.flags |= TB_SEGMENTS_CLEAN;
	segments->question.flags &= ~(TB_SEGMENTS_ENDS | TB_SEGMENTS_FRESH);
	asked = palloc(bits_size(segments));
	memcpy(asked, segments->doubtful_bits, bits_size(segments));
	/* Of the two kinds each goes by its own bits. */
	if (segments->fresh_bits != NULL)
	{
		segments->question.flags |= TB_SEGMENTS_FRESH | TB_SEGMENTS_FRESH_BITS;
		fresh = palloc(bits_size(segments));
		for (Size i = 0; i < bits_size(segments); i++)
		{
			fresh[i] = asked[i] & segments->fresh_bits[i];
			asked[i] &= ~fresh[i];
		}
	}
	ok = send_question(query, segments, &pages, asked, fresh) &&
		receive_answer(segments, query, segments->doubtful_bits, segments->bits, NULL,
					   &doubtful);
	if (pages.room > 0)
	{
		pfree(pages.lsn);
		pfree(pages.blocks);
		pfree(pages.buffers);
	}
	return ok;
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

bool
tb_cached_segments_were_doubtful(const TbCachedSegments *segments, BlockNumber block)
{
	return segments->doubtful > 0 && block < segments->question.nblocks &&
		has_bit(segments->doubtful_bits, block);
}

void
tb_cached_segments_give_up(TbCachedSegments *segments)
{
	Assert(segments->in_chunks);
	memset(segments->bits, 0, bits_size(segments));
}
