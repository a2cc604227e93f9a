# SPDX-License-Identifier: MIT OR Apache-2.0
# torture_embed_scenarios(TARGET): compile the scenario files into a program, so that it does not search for them.
set(TORTURE_SCENARIO_FOLDER ${CMAKE_CURRENT_LIST_DIR}/scenarios)

function(torture_embed_scenarios target)
    file(GLOB files CONFIGURE_DEPENDS ${TORTURE_SCENARIO_FOLDER}/*.json)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
    set(entries "")
    foreach(file ${files})
        get_filename_component(name ${file} NAME_WE)
        file(READ ${file} text)
        string(APPEND entries "        {\"${name}\", R\"scenario(${text})scenario\"},\n")
    endforeach()
    set(TORTURE_SCENARIO_ENTRIES "${entries}")
    configure_file(${TORTURE_SCENARIO_FOLDER}/embedded.cc.in ${CMAKE_CURRENT_BINARY_DIR}/${target}_scenarios.cc @ONLY)
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}_scenarios.cc)
endfunction()
