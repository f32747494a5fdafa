# Compiler settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")

set(HORNBEAM_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")
option(HORNBEAM_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)

if(HORNBEAM_SANITIZE)
  add_compile_options(-fsanitize=${HORNBEAM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HORNBEAM_SANITIZE})
endif()

if(HORNBEAM_SANITIZE MATCHES thread)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/hide_symbols.map")
endif()

if(HORNBEAM_FUZZ)
  # libFuzzer follows only code that was built for it.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Two cores build this: the cache makes a switch of branches cheap, mold makes a link cheap.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# Warnings for our own code (hornbeam_library adds it); generated code is built without.
add_library(hornbeam_warnings INTERFACE)
target_compile_options(hornbeam_warnings INTERFACE -Wall -Wextra -Wno-unused-parameter -Werror=return-type)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 sees uninitialised reads in moves of Abseil's inlined storage, and overlaps in std::string::insert: there are none.
  target_compile_options(hornbeam_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(hornbeam_warnings INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
