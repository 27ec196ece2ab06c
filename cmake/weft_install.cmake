# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Install rules: headers, one file of targets per component, the configuration and the finders it uses.
include(CMakePackageConfigHelpers)

set(weft_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/weft" CACHE STRING "Where weftConfig.cmake goes")
mark_as_advanced(weft_INSTALL_CMAKEDIR)

foreach(component IN LISTS weft_COMPONENTS)
  if(component STREQUAL "weft" AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
    install(TARGETS weft_weft EXPORT weft_weftTargets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
            COMPONENT weft_devel)
  else()
    install(TARGETS weft_${component} EXPORT weft_${component}Targets COMPONENT weft_devel)
  endif()
  install(EXPORT weft_${component}Targets NAMESPACE weft:: DESTINATION "${weft_INSTALL_CMAKEDIR}" COMPONENT weft_devel)
endforeach()
if(CMAKE_VERSION VERSION_LESS 3.23)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT weft_devel
          FILES_MATCHING PATTERN "*.hpp")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/weftConfig.cmake"
                              INSTALL_DESTINATION "${weft_INSTALL_CMAKEDIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/weft_find_kokkos.cmake" "${PROJECT_SOURCE_DIR}/cmake/weft_find_cblas.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/weft_find_mpi.cmake" "${PROJECT_SOURCE_DIR}/cmake/weft_find_nccl.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/weft_promote.cmake"
        DESTINATION "${weft_INSTALL_CMAKEDIR}" COMPONENT weft_devel)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT weft_devel)
