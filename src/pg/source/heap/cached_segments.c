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

#include "pg/source/heap/cached_segments.h"

/* Of larger relations, what a message has room for: two bits a block, and LSNs. */
#define MOST_BLOCKS (1500 * TB_BLOCKS_PER_MAP_PAGE)
StaticAssertDecl(sizeof(TbSegments) + sizeof(TbSegmentsTaken) + MOST_BLOCKS / 4 +
						 1500 * sizeof(uint64) <
					 TB_MAX_MESSAGE,
				 "bits of a part fit into a message");

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

static bool
send_question(TbServiceQuery *query, const TbSegments *head, const uint64 *lsn,
			  const uint8 *bits)
{
	struct iovec parts[3];

	parts[0].iov_base = unconstify(TbSegments *, head);
	parts[0].iov_len = sizeof(*head);
	parts[1].iov_base = unconstify(uint64 *, lsn);
	parts[1].iov_len = head->nmap_pages * sizeof(uint64);
	parts[2].iov_base = unconstify(uint8 *, bits);
	parts[2].iov_len = (head->nblocks + 7) / 8;
	return tb_service_query_send_parts(query, TB_MSG_SEGMENTS, parts, 3, NULL, 0);
}

TbCachedSegments *
tb_cached_segments_ask(TbServiceQuery *query, Relation rel, TbDirect *direct,
					   const TbBlockSet *wanted, BlockNumber nblocks, uint32 layout,
					   uint32 number, bool *ok)
{
	TbSegments		 *head;
	TbCachedSegments *segments;

	*ok = true;
	segments = palloc0(sizeof(TbCachedSegments));
	segments->direct = direct;
	head = &segments->question;
	if (!identify_file(rel, &head->file))
		return NULL;
	head->part = number;
	head->layout = layout;
	head->nblocks = Min(nblocks, MOST_BLOCKS);
	head->nmap_pages = (head->nblocks - 1) / TB_BLOCKS_PER_MAP_PAGE + 1;
	if (RecoveryInProgress())
		head->flags |= TB_SEGMENTS_RECOVERY;
	segments->bits = palloc(bits_size(segments));
	segments->lsn = palloc(head->nmap_pages * sizeof(uint64));
	if (tb_direct_export(direct, head->nblocks, wanted, segments->lsn, segments->bits) == 0)
		return NULL;
	*ok = send_question(query, head, segments->lsn, segments->bits);
	return segments;
}

/* Blocks of an answer must be some of the question's. */
static bool
are_some_of(const uint8 *answer, const uint8 *question, Size size)
{
	for (Size i = 0; i < size; i++)
		if ((answer[i] & ~question[i]) != 0)
			return false;
	return true;
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

	if (tb_service_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_SEGMENTS_TAKEN || message.length < sizeof(answer))
		return tb_service_query_protocol_error(query, "unexpected answer to SEGMENTS");
	memcpy(&answer, message.payload, sizeof(answer));
	bits = (const uint8 *) message.payload + sizeof(answer);
	if (message.length != sizeof(answer) + size * (answer.doubtful > 0 ? 2 : 1) ||
		answer.part != segments->question.part ||
		(answer.doubtful > 0 && doubtful == NULL) || !are_some_of(bits, asked, size) ||
		pg_popcount((const char *) bits, size) != answer.blocks)
		return tb_service_query_protocol_error(query, "SEGMENTS_TAKEN of other blocks");
	if (answer.doubtful > 0)
	{
		if (!are_some_of(bits + size, asked, size) ||
			pg_popcount((const char *) bits + size, size) != answer.doubtful)
			return tb_service_query_protocol_error(query, "SEGMENTS_TAKEN of other blocks");
		memcpy(doubtful, bits + size, size);
	}
	*ndoubtful = answer.doubtful;
	for (Size i = 0; i < size; i++)
		taken[i] |= bits[i];
	segments->blocks += answer.blocks;
	segments->excluded += answer.excluded;
	segments->rows += answer.rows;
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
	return true;
}

/* Of doubtful blocks, those whose pages the file has as they are. */
static uint64
keep_clean(TbCachedSegments *segments)
{
	uint64 clean = 0;

	for (BlockNumber block = 0; block < segments->question.nblocks; block++)
	{
		uint8 *byte = &segments->doubtful_bits[block / 8];

		if (*byte == 0)
			block |= 7;
		else if ((*byte & (1 << (block % 8))) == 0)
			continue;
		else if (tb_direct_block(segments->direct, block))
			clean++;
		else
			*byte &= ~(1 << (block % 8));
	}
	return clean;
}

bool
tb_cached_segments_ask_again(TbCachedSegments *segments, TbServiceQuery *query)
{
	uint64 doubtful;

	if (keep_clean(segments) == 0)
		return true;
	segments->question.flags |= TB_SEGMENTS_CLEAN;
	return send_question(query, &segments->question, segments->lsn,
						 segments->doubtful_bits) &&
		receive_answer(segments, query, segments->doubtful_bits, segments->bits, NULL,
					   &doubtful);
}

BlockNumber
tb_cached_segments_skip(const TbCachedSegments *segments, BlockNumber block)
{
	while (block < segments->question.nblocks)
	{
		uint8 byte = segments->bits[block / 8];

		if (byte == 0xff && block % 8 == 0)
			block += 8;
		else if ((byte & (1 << (block % 8))) != 0)
			block++;
		else
			break;
	}
	return block;
}
