/*
 * gpu_sort_bench.h - how fast results are sorted on a GPU, beside the host's threads; not part of
 * the product.
 */
#pragma once

namespace turbine {

/* Prints a table, and whether each order was right. `registers` of a thread, 0: no limit. Returns the
 * process's exit status. */
int bench_gpu_sort(unsigned threads, unsigned registers);

}  // namespace turbine
