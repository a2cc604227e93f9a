# SPDX-License-Identifier: MIT OR Apache-2.0
# rtrcu_inspect: the code that reads the block that a copy of the library shows to other processes.
include_guard(GLOBAL)
file(GLOB INSPECT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
add_library(rtrcu_inspect STATIC ${INSPECT_SOURCES})
target_include_directories(rtrcu_inspect PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_compile_definitions(rtrcu_inspect PRIVATE _GNU_SOURCE)
target_link_libraries(rtrcu_inspect PRIVATE rtrcu_options)
target_compile_options(rtrcu_inspect PRIVATE -g1 $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>) # see UNITY_BUILD
set_target_properties(rtrcu_inspect PROPERTIES UNITY_BUILD ON)
