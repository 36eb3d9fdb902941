/*
 * compile.h - messages between turbined and turbine-compiler.
 *
 * turbined starts `turbine-compiler --zygote` with a SOCK_SEQPACKET socket as
 * descriptor 3. A request is ONE packet, a TbCompileRequest, with three
 * descriptors by SCM_RIGHTS: the program (a memfd to read), the artifact (an
 * empty memfd to write) and the status (write end of a pipe). The zygote forks
 * a child for it and returns to reading at once. The child writes the artifact,
 * then one TbCompileReply to the status pipe, and exits; a pipe that closes
 * without a reply means that the compiler crashed. turbined may kill nothing
 * but the zygote: a child ends itself after `timeout_s` (alarm).
 *
 * `turbine-compiler --program F --target host|ptx [--cpu C] [--quick] [--dump-ir]
 * [--output O]` compiles one program from the command line.
 */
#ifndef TURBINE_COMPILE_H
#define TURBINE_COMPILE_H

#include <stdint.h>

#define TB_COMPILE_MAGIC 0x43505442u /* "BTPC" */

typedef enum TbTarget
{
	TB_TARGET_HOST = 1, /* artifact: ELF shared object, entry points as
						 * default-visibility symbols, libm and libc
						 * its only needs */
	TB_TARGET_PTX = 2	/* artifact: PTX text, NUL-terminated */
} TbTarget;

/* What a compilation is worth. Both give the same results, bit for bit. */
typedef enum TbEffort
{
	TB_EFFORT_FULL = 0,	  /* fast code */
	TB_EFFORT_QUICK = 1,  /* host: code soon, several times slower. PTX is
						   * always compiled in full */
	TB_EFFORT_IMPROVE = 2 /* as full, of what runs already in quick code:
						   * gives way to those who run it */
} TbEffort;

typedef struct TbCompileRequest
{
	uint32_t magic;
	uint32_t target;		/* TbTarget */
	uint32_t timeout_s;
	uint32_t effort;		/* TbEffort */
	char	 cpu[64];		/* LLVM CPU ("znver4", "sm_90"); "" host's own */
	char	 features[512]; /* LLVM feature string, may be "" */
} TbCompileRequest;

typedef struct TbCompileReply
{
	uint32_t magic;
	uint32_t ok;
	uint64_t artifact_size;
	float	 emit_ms;	   /* IR emission and linking of bitcode */
	float	 optimize_ms;
	float	 codegen_ms;   /* machine code or PTX, and linking */
	char	 message[244]; /* the error, if not ok */
} TbCompileReply;

#endif
