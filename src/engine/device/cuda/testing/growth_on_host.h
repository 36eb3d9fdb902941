/*
 * growth_on_host.h - the kernel that moves groups, run by the host's thread that plays a stream of the fake
 * driver; for tests only.
 */
#pragma once

#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {

void set_growth_kernel(FakeDriver& fake);

}  // namespace turbine::cuda::testing
