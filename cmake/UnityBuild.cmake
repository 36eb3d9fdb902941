# Headers are most of what the compiler reads, so files that belong together are compiled together.
#
# A file still stands for itself: names that are its own are unique within its group, and with TURBINE_UNITY off, as in
# the sanitizers' build, it is compiled alone. Files with options or definitions of their own are always compiled alone.
option(TURBINE_UNITY "Compile the files of a folder together" ON)
if(TURBINE_SANITIZE)
  set(TURBINE_UNITY OFF)
endif()

# unity_groups(<target> <folders>...): each argument is a group, the folders whose files are compiled together, with all
# folders below them ("." is the target's own). A file goes to the longest folder that holds it.
function(unity_groups target)
  if(NOT TURBINE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    set(longest 0)
    foreach(group ${ARGN})
      separate_arguments(folders UNIX_COMMAND "${group}")
      foreach(candidate ${folders})
        get_filename_component(above ${candidate} ABSOLUTE)  # "." without a slash behind it
        cmake_path(IS_PREFIX above ${folder} NORMALIZE is_below)
        string(LENGTH ${above} length)
        if(is_below AND length GREATER longest)
          set(longest ${length})
          list(GET folders 0 name)
          string(MAKE_C_IDENTIFIER "${target}_${name}" name)
          set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
        endif()
      endforeach()
    endforeach()
  endforeach()
  compile_in_groups(${target})
endfunction()

# compile_in_groups(<target>): for a target of sources that another one of the same folder has put in groups.
function(compile_in_groups target)
  if(TURBINE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()
