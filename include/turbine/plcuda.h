/*
 * plcuda.h - what a backend (B) and its runner (R) tell each other, and what a compiled
 * function of LANGUAGE plcuda is given.
 *
 * R is a process of one session (src/plcuda). It has a socket to B as descriptor 3 and
 * reads one call after the other: B TbPlcudaRequest, the path of the function's library,
 * then the arguments: a TbPlcudaArgument for each, and their bytes R TbPlcudaFrame ROW for
 * each row of the result, then DONE; or FAILED with a message A ROW holds a value for each
 * column: an int32 length, or -1 for NULL, and so many bytes. After FAILED with
 * TB_PLCUDA_IS_LOST, and when it has been idle, R ends. R keeps copies of tables for calls
 * to come, one a table: those of the TB_PLCUDA_MOST_KEPT tables that were used last, unless
 * memory is short.
 */
#ifndef TURBINE_PLCUDA_H
#define TURBINE_PLCUDA_H

#include <stddef.h>
#include <stdint.h>

#define TB_PLCUDA_MAGIC 0x43554c50u /* "PLUC" */
#define TB_PLCUDA_SOCKET 3
#define TB_PLCUDA_MOST_ARGUMENTS 100u
#define TB_PLCUDA_MOST_ROW (UINT32_C(1) << 30)
#define TB_PLCUDA_MOST_KEPT 8u

/* The exit status of a runner that nobody has called for a while. */
#define TB_PLCUDA_EXIT_IDLE 75

typedef enum TbPlcudaKind
{
	TB_PLCUDA_VALUE = 1, /* up to 8 bytes, by value */
	TB_PLCUDA_VARLENA,	 /* as PostgreSQL has it in memory, with a header of 4 bytes */
	TB_PLCUDA_STRING,	 /* its text, which ends with a zero byte */
	TB_PLCUDA_STORE		 /* a TbPlcudaStore: the columns of a table */
} TbPlcudaKind;

typedef struct TbPlcudaRequest
{
	uint32_t magic;
	uint32_t nargs;
	uint64_t bytes; /* of the arguments */
	uint32_t path_length;
	uint32_t drop;	/* not 0: no call, no answer; the kept copy of this relation goes */
} TbPlcudaRequest;

#define TB_PLCUDA_DROP_ALL UINT32_MAX

typedef struct TbPlcudaArgument
{
	uint32_t kind;	 /* TbPlcudaKind */
	uint32_t isnull; /* the rest is 0 */
	uint64_t offset; /* from the first argument, a multiple of 16 */
	uint64_t length;
} TbPlcudaArgument;

/* A token of an export (export.h), and the table's columns by their numbers. */
typedef struct TbPlcudaStore
{
	uint32_t token_length;
	uint32_t ncolumns;
	uint32_t relation;
	uint32_t zero;
	/* Of the copy: without a token R has kept it under this number, with one it is to be
	 * kept so; 0: it is for this call alone. */
	uint64_t serial;
	/* TbPlcudaStoreColumn columns[ncolumns]; the token */
} TbPlcudaStore;

typedef struct TbPlcudaStoreColumn
{
	uint32_t type; /* 0: there is no such column any more */
	int32_t	 modifier;
	int16_t	 length;
	int8_t	 byval;
	uint8_t	 align;
	uint32_t exported; /* its number among the columns of the export */
} TbPlcudaStoreColumn;

typedef enum TbPlcudaFrameKind
{
	TB_PLCUDA_ROW = 1,
	TB_PLCUDA_DONE,	 /* length 0 */
	TB_PLCUDA_FAILED /* a TbPlcudaFailure's number, then the message */
} TbPlcudaFrameKind;

typedef struct TbPlcudaFrame
{
	uint32_t kind;
	uint32_t length;
} TbPlcudaFrame;

typedef enum TbPlcudaFailure
{
	TB_PLCUDA_RAISED = 1, /* by the function; the runner goes on */
	TB_PLCUDA_NO_MEMORY,
	TB_PLCUDA_IS_LOST,	  /* the device's state is in doubt: the runner ends */
	TB_PLCUDA_NO_DEVICE,  /* the function needs a GPU; the runner goes on */
	TB_PLCUDA_NO_LIBRARY, /* the compiled function cannot be loaded; it goes on */
	TB_PLCUDA_NO_COPY	  /* a copy was not kept: nothing was called; it goes on */
} TbPlcudaFailure;

/* What a library of a compiled function exports, and is given. */
typedef struct TbPlcudaCall
{
	const TbPlcudaArgument *args; /* where they are, in memory of turbine_plcuda_allocate */
	uint32_t				nargs;
	void *const			   *stores; /* by argument: a GstoreIpcMapping, or NULL */
	void				   *context;
	void					(*row)(void *context, const void *bytes, size_t length);
	void					(*fail)(void *context, uint32_t failure, const char *message);
	/* Gives back the memory of copies that this call does not use. Whether there was any.
	 */
	int						(*release)(void *context);
} TbPlcudaCall;

/* Memory for arguments that devices can read, until the next such call; NULL: none. */
typedef void *(*TbPlcudaAllocate)(size_t bytes);
typedef void  (*TbPlcudaFunction)(const TbPlcudaCall *call);

#define TB_PLCUDA_ALLOCATE "turbine_plcuda_allocate"
#define TB_PLCUDA_FUNCTION "turbine_plcuda_call"

#ifdef __cplusplus
static_assert(sizeof(TbPlcudaRequest) == 24, "TbPlcudaRequest layout");
static_assert(sizeof(TbPlcudaArgument) == 24, "TbPlcudaArgument layout");
static_assert(sizeof(TbPlcudaStore) == 24, "TbPlcudaStore layout");
static_assert(sizeof(TbPlcudaStoreColumn) == 16, "TbPlcudaStoreColumn layout");
static_assert(sizeof(TbPlcudaFrame) == 8, "TbPlcudaFrame layout");
#endif

#endif
