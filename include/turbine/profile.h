/*
 * profile.h - what a query's time goes to: the phases that EXPLAIN shows, and the
 * spans that a trace is made of.
 *
 * Both processes measure with CLOCK_MONOTONIC, in nanoseconds, so spans of the
 * backend and of the service lie on one time line.
 */
#ifndef TURBINE_PROFILE_H
#define TURBINE_PROFILE_H

#include <stdint.h>

/* Every nanosecond of a query's wall time belongs to one phase. */
typedef enum TbPhase
{
	TB_PHASE_PLAN = 0, /* parameters, choice of blocks, start in the service */
	TB_PHASE_COMPILE,  /* until the code is there */
	TB_PHASE_WAIT,	   /* for memory or for threads: nobody works on the query */
	TB_PHASE_READ,	   /* pages, from files or out of shared buffers */
	TB_PHASE_DECODE,   /* pages into columns */
	TB_PHASE_COPY,	   /* to and from a GPU */
	TB_PHASE_COMPUTE,  /* filters, joins, aggregation, order */
	TB_PHASE_RESULT,   /* result rows: written, read, turned into tuples */
	TB_PHASE_COUNT,
	TB_PHASE_NONE = TB_PHASE_COUNT /* of spans that do not count */
} TbPhase;

/*
 * F(kind, name in a trace, phase). Names of kernels are those of their functions.
 * Spans without a phase say what else happened meanwhile: states of slots, messages.
 */
#define TB_SPAN_KINDS(F) \
	F(COMPILE, "compile", TB_PHASE_COMPILE) \
	F(ADMISSION, "wait for memory", TB_PHASE_WAIT) \
	F(START, "start query", TB_PHASE_PLAN) \
	F(READ, "read", TB_PHASE_READ) \
	F(DECODE, "decode", TB_PHASE_DECODE) \
	F(PIPELINE, "pipeline", TB_PHASE_COMPUTE) \
	F(FINISH, "finish", TB_PHASE_COMPUTE) \
	F(SORT, "sort", TB_PHASE_COMPUTE) \
	F(WRITE_RESULT, "write result", TB_PHASE_RESULT) \
	F(LAUNCH, "launch", TB_PHASE_NONE) \
	F(COPY_TO_GPU, "copy to GPU", TB_PHASE_COPY) \
	F(COPY_FROM_GPU, "copy from GPU", TB_PHASE_COPY) \
	F(KERNEL_DECODE, "tb_decode", TB_PHASE_DECODE) \
	F(KERNEL_PROBE, "tb_probe", TB_PHASE_COMPUTE) \
	F(KERNEL_SINK, "sink", TB_PHASE_COMPUTE) \
	F(KERNEL_APPLY, "tb_apply", TB_PHASE_COMPUTE) \
	F(SLOT_TO_BE_READ, "to be read", TB_PHASE_NONE) \
	F(SLOT_HELD, "with the backend", TB_PHASE_NONE) \
	F(SLOT_TO_BE_RUN, "to be run", TB_PHASE_NONE) \
	F(MESSAGE, "message", TB_PHASE_NONE) \
	F(BACKEND_PLAN, "prepare", TB_PHASE_PLAN) \
	F(BACKEND_FEED, "feed", TB_PHASE_READ) \
	F(BACKEND_DETOAST, "detoast", TB_PHASE_DECODE) \
	F(BACKEND_RESULT, "form rows", TB_PHASE_RESULT) \
	F(BACKEND_AWAIT, "wait for the service", TB_PHASE_NONE) \
	F(BACKEND_FALLBACK, "PostgreSQL's plan", TB_PHASE_NONE) \
	F(BACKEND_ELSEWHERE, "outside of the node", TB_PHASE_NONE) \
	F(RATE_DRIVE, "drive", TB_PHASE_NONE) \
	F(RATE_PAGE_CACHE, "page cache", TB_PHASE_NONE) \
	F(RATE_COPY_TO_GPU, "copies to GPU", TB_PHASE_NONE) \
	F(RATE_KERNELS, "kernels", TB_PHASE_NONE)

/* RATE_*: no span, but how many bytes moved between begin and end; a trace shows GB/s. */
#define TB_SPAN_IS_RATE(kind) \
	((kind) >= TB_SPAN_RATE_DRIVE && (kind) <= TB_SPAN_RATE_KERNELS)

typedef enum TbSpanKind
{
#define TB_SPAN_KIND(kind, name, phase) TB_SPAN_##kind,
	TB_SPAN_KINDS(TB_SPAN_KIND)
#undef TB_SPAN_KIND
	TB_SPAN_KIND_COUNT
} TbSpanKind;

/*
 * OFFSET SIZE
 *      0    8  begin_ns   CLOCK_MONOTONIC
 *      8    8  end_ns     at least begin_ns
 *     16    4  kind       TbSpanKind
 *     20    4  track      a thread of the service, or what TbTrack calls it
 *     24    8  number     chunk in the query; MESSAGE: its type; RATE_*: bytes; else 0
 */
typedef struct TbSpan
{
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t kind;
	uint32_t track;
	uint64_t number;
} TbSpan;

/* A thread, a stream of a GPU, or a slot. Spans of one track nest or do not overlap. */
typedef struct TbTrack
{
	uint32_t track;
	char	 name[28]; /* ends with a zero */
} TbTrack;

#endif
