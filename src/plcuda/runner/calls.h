/* calls.h - the runner's loop: one call after the other, from the backend at descriptor 3. */
#pragma once

namespace turbine {

/* Until the backend has gone, nobody has called for a minute, or a device is lost; an exit status. */
int serve_calls();

}  // namespace turbine
