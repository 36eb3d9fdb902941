/*
 * first_on_host.h - the kernels that drop rows behind a bound, run by the host's thread that plays a stream of the
 * fake driver; for tests only.
 */
#pragma once

#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {

void set_first_kernels(FakeDriver& fake);

}  // namespace turbine::cuda::testing
