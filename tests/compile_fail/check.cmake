# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -DSOURCE=<file> -DCOMPILER=<c++> -DFLAGS=<file of flags> -P check.cmake
#
# SOURCE must fail to compile, and every `// expect: <words>` line of it must be found in what the compiler says. With
# -DWEFT_TWIN the same file is the correct program and must compile: otherwise the failure could be any failure.

# FATAL_ERROR folds its lines; the finding is printed before it, as it is.
function(refuse finding)
  message(NOTICE "${finding}")
  message(FATAL_ERROR "compile-fail test failed")
endfunction()

file(STRINGS "${FLAGS}" flags)
# To an object and not merely -fsyntax-only, under which g++ leaves function templates alone.
set(compile "${COMPILER}" ${flags} -O0 -c "${SOURCE}" -o /dev/null)

file(STRINGS "${SOURCE}" lines REGEX "^// expect: ")
if(NOT lines)
  refuse("${SOURCE} has no '// expect:' line; write which words its user must read")
endif()

# Quotation marks follow the locale; the expected words are plain.
set(ENV{LC_ALL} C)
execute_process(COMMAND ${compile} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(result EQUAL 0)
  refuse("${SOURCE} compiled, but must not")
endif()
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^// expect: " "" words "${line}")
  string(FIND "${said}" "${words}" position)
  if(position EQUAL -1)
    refuse("${SOURCE} failed to compile, but this was not said:\n  ${words}\nThe compiler said:\n${said}")
  endif()
endforeach()

execute_process(COMMAND ${compile} -DWEFT_TWIN RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT result EQUAL 0)
  refuse("${SOURCE} must compile with -DWEFT_TWIN. The compiler said:\n${said}")
endif()
