/*
 * window_on_host.h - the kernels of window functions, run by the host's thread that plays a stream of
 * the fake driver; for tests only.
 */
#pragma once

#include "engine/device/cuda/testing/fake_driver.h"

namespace turbine::cuda::testing {

/* With those that pack keys. */
void set_window_kernels(FakeDriver& fake);
void set_key_kernels(FakeDriver& fake);

}  // namespace turbine::cuda::testing
