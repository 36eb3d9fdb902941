# Headers of the standard library, of GoogleTest and of LLVM are most of what the compiler reads for a file of ours.
# A target that names them here reads them once.
#
# A file still includes what it uses: the sanitizers' build has none of this, and a file that leaned on it fails there.
option(TURBINE_PRECOMPILED_HEADERS "Compile the libraries' headers once a target" ON)
if(TURBINE_SANITIZE)
  set(TURBINE_PRECOMPILED_HEADERS OFF)
endif()

set(standard_headers <algorithm> <array> <atomic> <bit> <chrono> <condition_variable> <cstring> <functional> <map>
                     <memory> <mutex> <optional> <random> <span> <string> <thread> <utility> <vector>)

# precompile_headers(<target> [more headers...])
function(precompile_headers target)
  if(TURBINE_PRECOMPILED_HEADERS)
    foreach(header ${standard_headers} ${ARGN})
      list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
    endforeach()
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# Unit tests are compiled for a developer who waits: half of -O2's time.
function(compile_as_test target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(NOT TURBINE_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -g1)
  endif()
  precompile_headers(${target} <gtest/gtest.h>)
endfunction()
