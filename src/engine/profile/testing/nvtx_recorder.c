/*
 * nvtx_recorder.c - what a profiler of NVIDIA's loads into turbined, in small: writes
 * the ranges of each thread to the file that TURBINE_NVTX_LOG names. For
 * test/profile.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*Function)(void);
typedef struct Callbacks
{
	size_t struct_size;
	int	   (*module_functions)(int module, Function ***table, unsigned *size);
} Callbacks;

static FILE *sink;

static int
range_push(const char *message)
{
	fprintf(sink, "%d push %s\n", (int) gettid(), message);
	fflush(sink);
	return 0;
}

static int
range_pop(void)
{
	fprintf(sink, "%d pop\n", (int) gettid());
	fflush(sink);
	return 0;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(uint32_t) )
{
	const Callbacks *callbacks = export_table(1);
	const char		*path = getenv("TURBINE_NVTX_LOG");
	Function	   **functions;
	Function	   **others;
	unsigned		 size;
	unsigned		 domain_functions;

	if (callbacks == NULL || path == NULL || (sink = fopen(path, "a")) == NULL ||
		!callbacks->module_functions(1, &functions, &size) || size != 16 ||
		functions[0] != NULL ||
		!callbacks->module_functions(5, &others, &domain_functions) ||
		domain_functions != 16 ||
		callbacks->module_functions(7, &others, &domain_functions))
		return 0;
	*functions[9] = (Function) range_push;
	*functions[11] = (Function) range_pop;
	return 1;
}
