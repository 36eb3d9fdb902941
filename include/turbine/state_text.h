/*
 * state_text.h - states of min(text) and max(text) on a GPU, while its kernels run.
 *
 * Such a state is one word at the start of its TbGroupText, which compare-and-swap replaces
 * as a whole: bits 0-39 are the text's offset in the arena, 8-aligned; bits 40-63 are its
 * length. The bytes of a text that was replaced stay in the arena until the query ends. The
 * engine makes a TbGroupText of the word when it fetches the rows.
 */
#ifndef TURBINE_STATE_TEXT_H
#define TURBINE_STATE_TEXT_H

#include <stdint.h>

#define TB_STATE_TEXT_OFFSET_BITS 40
#define TB_STATE_TEXT_MOST_BYTES ((1u << 24) - 2)
#define TB_STATE_TEXT_NONE (~(uint64_t) 0) /* no value yet */

static inline uint64_t
tb_state_text(uint64_t offset, uint32_t length)
{
	return offset | (uint64_t) length << TB_STATE_TEXT_OFFSET_BITS;
}

static inline uint64_t
tb_state_text_offset(uint64_t word)
{
	return word & (((uint64_t) 1 << TB_STATE_TEXT_OFFSET_BITS) - 1);
}

static inline uint32_t
tb_state_text_length(uint64_t word)
{
	return (uint32_t) (word >> TB_STATE_TEXT_OFFSET_BITS);
}

#endif
