# SPDX-License-Identifier: MIT OR Apache-2.0
# What `make install` puts where: headers, both libraries, pkg-config, the CMake package, man pages.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(EXISTS ${CMAKE_SOURCE_DIR}/cxx/include/rtrcu)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/cxx/include/rtrcu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.hpp")
endif()

# Programs find rtrcu::rtrcu (shared) and rtrcu::static.
set_target_properties(rtrcu_static PROPERTIES EXPORT_NAME static)
install(TARGETS rtrcu rtrcu_static EXPORT rtrcu-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT rtrcu-targets NAMESPACE rtrcu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/rtrcu-config.cmake.in ${CMAKE_BINARY_DIR}/rtrcu-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)
# Before 1.0 a new minor version may break programs.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rtrcu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/rtrcu-config.cmake ${CMAKE_BINARY_DIR}/rtrcu-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rtrcu)

# The .pc file finds its prefix from its own place, so that an installation can be moved or staged.
file(RELATIVE_PATH RTRCU_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/rtrcu.pc.in ${CMAKE_BINARY_DIR}/rtrcu.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/rtrcu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The rtrcu program is installed by lab/, which builds it.
file(GLOB RTRCU_MAN_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.[1-9])
foreach(page ${RTRCU_MAN_PAGES})
    string(REGEX REPLACE "^.*\\.([1-9])$" "\\1" section ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
