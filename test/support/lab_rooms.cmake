# SPDX-License-Identifier: MIT OR Apache-2.0
# lab_rooms: the lab's library, for tests of torture and of what reads files. A variant without the lab builds just the
# rooms that these need.
if(TARGET rtrcu_lab AND NOT RTRCU_LIBFUZZER)
    add_library(lab_rooms ALIAS rtrcu_lab)
    return()
endif()
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
include(${PROJECT_SOURCE_DIR}/lab/library.cmake)
file(GLOB rooms CONFIGURE_DEPENDS ${LAB_FOLDER}/torture/*.cc ${LAB_FOLDER}/machine/*.cc ${LAB_FOLDER}/measure/*.cc)
set(files command/common.cc command/parser.cc command/torture.cc report/campaign.cc report/document.cc report/row.cc
          report/table.cc report/verdict.cc workload/loadfile.cc workload/prefixes.cc)
list(TRANSFORM files PREPEND ${LAB_FOLDER}/)
lab_library(lab_rooms ${rooms} ${files} LIBRARIES rtrcu_static)
torture_embed_scenarios(lab_rooms)
if(RTRCU_LIBFUZZER)
    target_compile_options(lab_rooms PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(lab_rooms_text PRIVATE -fsanitize=fuzzer-no-link)
endif()
