# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft_promote(<target>): makes an imported target, and the imported targets it links, visible to the whole build. A
# project that includes weft by add_subdirectory could not link them otherwise. Only for targets that this folder's
# find_package has just made.
function(weft_promote target)
  get_target_property(imported "${target}" IMPORTED)
  get_target_property(alias "${target}" ALIASED_TARGET)
  if(alias OR NOT imported)
    return()
  endif()
  get_target_property(global "${target}" IMPORTED_GLOBAL)
  if(global)
    return()
  endif()
  set_target_properties("${target}" PROPERTIES IMPORTED_GLOBAL TRUE)
  get_target_property(links "${target}" INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(TARGET "${link}")
      weft_promote("${link}")
    endif()
  endforeach()
endfunction()
