# SPDX-License-Identifier: BSD-3-Clause
# For programs beside snapshot-lib: its workloads, pass and library, of which only the linked parts are built. Included after
# project().
find_package(Threads REQUIRED)

set(SNAPSHOT_TESTS OFF CACHE BOOL "" FORCE)
set(SNAPSHOT_MANUALS OFF CACHE BOOL "" FORCE)
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/../../snapshot-lib snapshot-lib EXCLUDE_FROM_ALL)
# Its functions look for the pass and its header from the project that they are called in.
set(PROJECT_SOURCE_DIR ${snapshot-lib_SOURCE_DIR})
set(PROJECT_BINARY_DIR ${snapshot-lib_BINARY_DIR})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
add_compile_options(-Wall -Wextra -Werror -ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}=.)
