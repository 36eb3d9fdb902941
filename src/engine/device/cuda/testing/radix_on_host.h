/*
 * radix_on_host.h - the sort's own kernels, run by the host's thread that plays a stream of
 * the fake driver; for tests only.
 */
#pragma once

#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {

void set_radix_kernels(FakeDriver& fake);
/* From now on the second tile of each pass is left to nobody. */
void lose_a_tile(FakeDriver& fake);

}  // namespace turbine::cuda::testing
