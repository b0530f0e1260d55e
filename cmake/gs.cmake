# Rooms, warnings and sanitizers: everything CMakeLists.txt needs to read like a plan.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Assertions stay on in every build; NDEBUG is not ours to define.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
endforeach()

set(GS_WARNINGS
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Wvla -Wdouble-promotion -Wundef -Wcast-qual
  -Wcast-align -Wformat=2 -Wswitch-enum -Wnull-dereference -Werror)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # Texts for people are cut at their buffer on purpose.
  list(APPEND GS_WARNINGS -Wno-format-truncation -Wlogical-op -Wduplicated-cond -Wduplicated-branches)
endif()

set(GS_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined")
set(GS_ANALYZER OFF CACHE BOOL "Compile with gcc -fanalyzer")
set(GS_COVERAGE OFF CACHE BOOL "Compile for gcovr")

add_library(gs_options INTERFACE)
# No contraction: a fused multiply-add gives other bits than the two operations it replaces, and
# results must be equal across compilers and optimisation levels (tools/check_determinism.sh).
set(GS_FLOAT_FLAGS -ffp-contract=off -fno-math-errno)
target_compile_options(gs_options INTERFACE ${GS_WARNINGS} ${GS_FLOAT_FLAGS})
target_compile_definitions(gs_options INTERFACE _POSIX_C_SOURCE=200809L
  $<$<CONFIG:Debug>:GS_SLOW_CHECKS>)
target_include_directories(gs_options INTERFACE "${CMAKE_SOURCE_DIR}")
if(GS_SANITIZE)
  target_compile_options(gs_options INTERFACE -fsanitize=${GS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(gs_options INTERFACE -fsanitize=${GS_SANITIZE})
endif()
if(GS_ANALYZER)
  target_compile_options(gs_options INTERFACE -fanalyzer)
endif()
if(GS_COVERAGE)
  # Threads count too, and counts that lose updates come out negative.
  target_compile_options(gs_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(gs_options INTERFACE --coverage)
endif()

# Random123 without optimisation is ten times slower; tests draw hundreds of millions of
# numbers, many of them for resamples. Laws of noise take several draws at a time, at -O3 only.
set_source_files_properties("${CMAKE_SOURCE_DIR}/traces/stats/bootstrap.c"
  PROPERTIES COMPILE_OPTIONS -O2)
set_source_files_properties("${CMAKE_SOURCE_DIR}/base/rng.c" "${CMAKE_SOURCE_DIR}/traces/noise.c"
  "${CMAKE_SOURCE_DIR}/traces/normal_quantile.c" PROPERTIES COMPILE_OPTIONS -O3)

# Likewise the layers of networks, which tests train; at -O2 gcc vectorises few of their loops.
if(NOT GS_COVERAGE)
  file(GLOB layers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/models/layers/*.c")
  set_source_files_properties(${layers} "${CMAKE_SOURCE_DIR}/models/loss.c" PROPERTIES
    COMPILE_OPTIONS -O3)
  # The turns of a ring too: at -O2 gcc takes no two of its maxima at a time.
  set_source_files_properties("${CMAKE_SOURCE_DIR}/sim/ring_times.c" PROPERTIES COMPILE_OPTIONS -O3)
endif()

# gs_room(NAME DEPS targets... SYSTEM include-dirs...): static library gs_NAME of all NAME/**.c but
# those in folders named mpi, nccl or cuda, which cmake/mpi.cmake and cmake/cuda.cmake make modules of.
function(gs_room name)
  cmake_parse_arguments(ARG "" "" "DEPS;SYSTEM" ${ARGN})
  file(GLOB_RECURSE sources RELATIVE "${CMAKE_SOURCE_DIR}" CONFIGURE_DEPENDS
    "${CMAKE_SOURCE_DIR}/${name}/*.c")
  list(FILTER sources EXCLUDE REGEX "/(mpi|nccl|cuda)/")
  add_library(gs_${name} STATIC ${sources})
  target_link_libraries(gs_${name} PRIVATE gs_options PUBLIC ${ARG_DEPS})
  if(ARG_SYSTEM)
    target_include_directories(gs_${name} SYSTEM PUBLIC ${ARG_SYSTEM})
  endif()
endfunction()

# The version header is written at build time, so that --version names the commit that was built.
function(gs_version_header)
  add_custom_target(gs_version ALL
    COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/generated/gs_version.h
            -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR} -DTYPE=${CMAKE_BUILD_TYPE}
            -DSANITIZE=${GS_SANITIZE}
            "-DCUDA_TOOLKIT=${GS_CUDA_TOOLKIT}" "-DNCCL=${GS_NCCL}"
            -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
    BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/gs_version.h
    COMMENT "" VERBATIM)
endfunction()

# gs_program(NAME ROOM DEPS targets...): the executable of ROOM/main.c and of the library gs_ROOM of
# all other ROOM/**.c, installed with its data.
function(gs_program name room)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${room}/*.c")
  list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/${room}/main.c")
  # All but main is a library, so that tests reach it.
  add_library(gs_${room} STATIC ${sources})
  add_dependencies(gs_${room} gs_version)
  target_include_directories(gs_${room} PRIVATE "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(gs_${room} PRIVATE gs_options PUBLIC ${ARG_DEPS})
  # Bundled scenarios and data are found relative to the program: in the source tree where it was
  # built, in share/gradsync once it is installed.
  target_compile_definitions(gs_${room} PRIVATE GS_SOURCE_DATA="${CMAKE_SOURCE_DIR}")
  add_executable(${name} "${CMAKE_SOURCE_DIR}/${room}/main.c")
  target_link_libraries(${name} PRIVATE gs_options gs_${room})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY traces/scenarios traces/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/gradsync/traces)
  install(DIRECTORY models/data DESTINATION ${CMAKE_INSTALL_DATADIR}/gradsync/models)
endfunction()
