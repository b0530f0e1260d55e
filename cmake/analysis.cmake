# Slow readers of the code, run by hand: targets `tidy` (.clang-tidy) and `cppcheck`, over the rooms
# and tools. They read compile_commands.json, so the build decides what is looked at and how.
set(rooms "/(base|strategies|models|traces|sim|live|tools)/.*\\.c$")

find_program(GS_RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
if(GS_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND "${GS_RUN_CLANG_TIDY}" -p "${CMAKE_BINARY_DIR}" -quiet -j 2
            -extra-arg=-Wno-unknown-warning-option "${CMAKE_SOURCE_DIR}${rooms}"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" USES_TERMINAL VERBATIM)
endif()

find_program(GS_CPPCHECK cppcheck)
if(GS_CPPCHECK)
  add_custom_target(cppcheck
    COMMAND "${GS_CPPCHECK}" "--project=${CMAKE_BINARY_DIR}/compile_commands.json"
            "-i${CMAKE_SOURCE_DIR}/tests" --enable=warning,style,performance,portability
            "--suppressions-list=${CMAKE_SOURCE_DIR}/cmake/cppcheck.txt"
            --inline-suppr --error-exitcode=1 --quiet -j 2
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" USES_TERMINAL VERBATIM)
endif()

# Lines that tests reach, after a run of the tests in the preset `coverage`: 95 % on the ground
# floor and where strategies live, 85 % elsewhere.
find_program(GS_GCOVR gcovr)
if(GS_COVERAGE AND GS_GCOVR)
  set(commands "")
  foreach(room base:95 strategies:95 models:85 traces:85 sim:85 live:85 tools:85)
    string(REPLACE ":" ";" room "${room}")
    list(GET room 0 name)
    list(GET room 1 least)
    list(APPEND commands COMMAND "${GS_GCOVR}" --root "${CMAKE_SOURCE_DIR}" --filter "${name}/"
      --gcov-ignore-parse-errors --fail-under-line ${least} "${CMAKE_BINARY_DIR}")
  endforeach()
  add_custom_target(coverage ${commands}
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" USES_TERMINAL VERBATIM)
endif()
