# SPDX-License-Identifier: MIT OR Apache-2.0
# What `make install` puts where: headers, both libraries, pkg-config, the CMake package, man pages, licences.
#
# Nothing that is compiled knows the prefix: `cmake --install TREE --prefix ANY` needs no new build.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(EXISTS ${PROJECT_SOURCE_DIR}/cxx/include/rtrcu)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/cxx/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.hpp")
    # The draft's <rcu>, for -I of this folder.
    install(FILES ${PROJECT_SOURCE_DIR}/cxx/std/rcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rtrcu/std)
endif()

# Programs find rtrcu::rtrcu (shared) and rtrcu::static.
set_target_properties(rtrcu_static PROPERTIES EXPORT_NAME static)
install(TARGETS rtrcu rtrcu_static EXPORT rtrcu-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT rtrcu-targets NAMESPACE rtrcu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rtrcu-config.cmake.in ${PROJECT_BINARY_DIR}/rtrcu-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
# Before 1.0 a new minor version may break programs.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rtrcu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rtrcu-config.cmake ${PROJECT_BINARY_DIR}/rtrcu-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)

# The .pc files name the prefix that is installed to; a folder with a whole path of its own is not below it.
install(CODE "set(PROJECT_VERSION ${PROJECT_VERSION})
set(libdir ${CMAKE_INSTALL_LIBDIR})
set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
foreach(folder libdir includedir)
    if(NOT IS_ABSOLUTE \"\${\${folder}}\")
        set(\${folder} \"\${CMAKE_INSTALL_PREFIX}/\${\${folder}}\")
    endif()
endforeach()
foreach(package rtrcu rtrcu-liburcu)
    configure_file(\"${PROJECT_SOURCE_DIR}/cmake/\${package}.pc.in\" \"${PROJECT_BINARY_DIR}/\${package}.pc\" @ONLY)
endforeach()")
install(FILES ${PROJECT_BINARY_DIR}/rtrcu.pc ${PROJECT_BINARY_DIR}/rtrcu-liburcu.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# gdb loads what has the library's whole name below its auto-load folder, which the prefix decides.
install(CODE "set(libdir ${CMAKE_INSTALL_LIBDIR})
set(datadir ${CMAKE_INSTALL_DATADIR})
foreach(folder libdir datadir)
    if(NOT IS_ABSOLUTE \"\${\${folder}}\")
        set(\${folder} \"\${CMAKE_INSTALL_PREFIX}/\${\${folder}}\")
    endif()
endforeach()
file(INSTALL \"${PROJECT_SOURCE_DIR}/tools/gdb/rtrcu-gdb.py\" DESTINATION \"\${datadir}/gdb/auto-load\${libdir}\"
     RENAME librtrcu.so.${PROJECT_VERSION}-gdb.py)")
file(GLOB RTRCU_SCRIPTS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/bpftrace/*.bt)
if(RTRCU_LAB)
    install(PROGRAMS ${RTRCU_SCRIPTS} DESTINATION ${CMAKE_INSTALL_DATADIR}/rtrcu/bpftrace)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE-MIT ${PROJECT_SOURCE_DIR}/LICENSE-APACHE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Pages of section 1 belong to the program, which lab/ installs.
file(GLOB RTRCU_MAN_PAGES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-9])
foreach(page ${RTRCU_MAN_PAGES})
    string(REGEX REPLACE "^.*\\.([1-9])$" "\\1" section ${page})
    if(RTRCU_LAB OR NOT section EQUAL 1)
        install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()
