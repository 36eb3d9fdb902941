/*
 * short_turns.h - for threads that sleep most of the time and feed a device when they wake.
 */
#pragma once

namespace turbine {

/* Asks the kernel to run the calling thread soon after it wakes, though threads that compute want all processors: its
 * sleeps end in time, and its turns are short (kernels from 6.12 on; others do not listen, which costs time alone). */
void want_short_turns();

}  // namespace turbine
