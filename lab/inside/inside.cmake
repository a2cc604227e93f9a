# SPDX-License-Identifier: MIT OR Apache-2.0
# rtrcu_inside: reading the block that a copy of the library shows to other processes.
include_guard(GLOBAL)
file(GLOB INSIDE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
add_library(rtrcu_inside STATIC ${INSIDE_SOURCES})
target_include_directories(rtrcu_inside PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_compile_definitions(rtrcu_inside PRIVATE _GNU_SOURCE)
target_link_libraries(rtrcu_inside PRIVATE rtrcu_options)
target_compile_options(rtrcu_inside PRIVATE -g1 $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>) # see UNITY_BUILD
set_target_properties(rtrcu_inside PROPERTIES UNITY_BUILD ON)
