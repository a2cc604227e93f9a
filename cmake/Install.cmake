# SPDX-License-Identifier: MIT OR Apache-2.0
# Installation: headers, both libraries, pkg-config, the CMake package, man pages, licences.
#
# No compiled file contains the prefix: `cmake --install TREE --prefix ANY` needs no new build.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(EXISTS ${PROJECT_SOURCE_DIR}/cxx/include/rtrcu)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/cxx/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.hpp")
    # The header <rcu> of the C++ draft.  A program finds it if an -I option names this folder.
    install(FILES ${PROJECT_SOURCE_DIR}/cxx/std/rcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rtrcu/std)
endif()

# find_package(rtrcu) defines the targets rtrcu::rtrcu (shared) and rtrcu::static.
set_target_properties(rtrcu_static PROPERTIES EXPORT_NAME static)
install(TARGETS rtrcu rtrcu_static EXPORT rtrcu-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# A program that runs with this folder in LD_LIBRARY_PATH gets the checked library; `pkg-config` names the folder.
if(RTRCU_CHECKED)
    install(TARGETS rtrcu_checked LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rtrcu/checked NAMELINK_SKIP)
endif()
install(EXPORT rtrcu-targets NAMESPACE rtrcu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rtrcu-config.cmake.in ${PROJECT_BINARY_DIR}/rtrcu-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
# Before 1.0 a new minor version may break programs.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rtrcu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rtrcu-config.cmake ${PROJECT_BINARY_DIR}/rtrcu-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)

set(RTRCU_PC rtrcu)
if(RTRCU_LIBURCU)
    list(APPEND RTRCU_PC rtrcu-liburcu)
endif()
# The .pc files contain the prefix relative to themselves, so that an installed tree may be moved.  If libdir has an
# absolute path, it may be outside the prefix, and the .pc files contain absolute paths.
install(CODE "set(PROJECT_VERSION ${PROJECT_VERSION})
set(libdir ${CMAKE_INSTALL_LIBDIR})
set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
if(NOT IS_ABSOLUTE \"\${libdir}\")
    file(RELATIVE_PATH up \"\${prefix}/\${libdir}/pkgconfig\" \"\${prefix}\")
    string(REGEX REPLACE \"/\\$\" \"\" prefix \"\\\${pcfiledir}/\${up}\")
endif()
foreach(folder libdir includedir)
    if(NOT IS_ABSOLUTE \"\${\${folder}}\")
        set(\${folder} \"\\\${prefix}/\${\${folder}}\")
    endif()
endforeach()
set(is_checked ${RTRCU_CHECKED})
if(is_checked)
    set(checkedlibdir \"checkedlibdir=\\\${libdir}/rtrcu/checked\\n\")
endif()
foreach(package IN ITEMS ${RTRCU_PC})
    configure_file(\"${PROJECT_SOURCE_DIR}/cmake/\${package}.pc.in\" \"${PROJECT_BINARY_DIR}/\${package}.pc\" @ONLY)
endforeach()")
list(TRANSFORM RTRCU_PC REPLACE "(.+)" "${PROJECT_BINARY_DIR}/\\1.pc")
install(FILES ${RTRCU_PC} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# gdb loads the script whose path below its auto-load folder is the library's, so the folder depends on the prefix.
install(CODE "set(libdir ${CMAKE_INSTALL_LIBDIR})
set(datadir ${CMAKE_INSTALL_DATADIR})
foreach(folder libdir datadir)
    if(NOT IS_ABSOLUTE \"\${\${folder}}\")
        set(\${folder} \"\${CMAKE_INSTALL_PREFIX}/\${\${folder}}\")
    endif()
endforeach()
file(INSTALL \"${PROJECT_SOURCE_DIR}/tools/gdb/rtrcu-gdb.py\" DESTINATION \"\${datadir}/gdb/auto-load\${libdir}\"
     RENAME librtrcu.so.${PROJECT_VERSION}-gdb.py)")
install(FILES ${PROJECT_SOURCE_DIR}/tools/rtrcu.supp DESTINATION ${CMAKE_INSTALL_DATADIR}/rtrcu)
file(GLOB RTRCU_SCRIPTS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/bpftrace/*.bt)
if(RTRCU_LAB)
    install(PROGRAMS ${RTRCU_SCRIPTS} DESTINATION ${CMAKE_INSTALL_DATADIR}/rtrcu/bpftrace COMPONENT tools)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE-MIT ${PROJECT_SOURCE_DIR}/LICENSE-APACHE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Each function that a page names before its description gets a link to the page under the function's name.
function(rtrcu_man_links page section)
    get_filename_component(own ${page} NAME_WE)
    file(READ ${page} text)
    string(REGEX REPLACE "\n[.]Sh DESCRIPTION.*" "" text "${text}")
    string(REGEX MATCHALL "\n[.](Nm|Fn) [A-Za-z_0-9]+" lines "${text}")
    list(TRANSFORM lines REPLACE "^.*[.](Nm|Fn) " "")
    list(REMOVE_DUPLICATES lines)
    list(REMOVE_ITEM lines ${own})
    foreach(name ${lines})
        set(link ${PROJECT_BINARY_DIR}/man/${name}.${section})
        file(GENERATE OUTPUT ${link} CONTENT ".so man${section}/${own}.${section}\n")
        install(FILES ${link} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endforeach()
endfunction()

# Pages of section 1 belong to the program, which is the component `tools`.
file(GLOB RTRCU_MAN_PAGES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-9])
foreach(page ${RTRCU_MAN_PAGES})
    string(REGEX REPLACE "^.*\\.([1-9])$" "\\1" section ${page})
    if(NOT section EQUAL 1)
        install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
        rtrcu_man_links(${page} ${section})
    elseif(RTRCU_LAB)
        install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    endif()
endforeach()
