# The MPI carrier, one module for each MPI that is found: the two have different binary interfaces,
# and both may be on one machine. Without any the program still builds; `--transport mpi` then says
# what to install.
#   GS_MPI_OPENMPI, GS_MPI_MPICH   the compiler wrapper; empty: not found
set(GS_MPI_SOURCES
  "${CMAKE_SOURCE_DIR}/live/carriers/mpi/mpi.c" "${CMAKE_SOURCE_DIR}/live/carriers/mpi/mpi_link.c"
  "${CMAKE_SOURCE_DIR}/live/carriers/mpi/within.c"
  "${CMAKE_SOURCE_DIR}/live/carriers/frames.c")

# gs_mpi_wrapper(OUT SIGN NAMES...): the first wrapper whose mpi.h defines SIGN, and what it adds to
# a compiler's command in OUT_COMMAND. A wrapper by the name of mpicc may be of either MPI.
function(gs_mpi_wrapper out sign)
  foreach(name ${ARGN})
    find_program(GS_MPICC_${name} ${name} PATH_SUFFIXES openmpi/bin mpich/bin
      PATHS /usr/lib64 /usr/lib DOC "An MPI compiler wrapper")
    mark_as_advanced(GS_MPICC_${name})
    if(NOT GS_MPICC_${name})
      continue()
    endif()
    execute_process(COMMAND "${GS_MPICC_${name}}" -show OUTPUT_VARIABLE command
      ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(words UNIX_COMMAND "${command}")
    set(folders ${words})
    list(FILTER folders INCLUDE REGEX "^-I")
    list(TRANSFORM folders REPLACE "^-I" "")
    unset(header)
    find_file(header mpi.h PATHS ${folders} /usr/include NO_DEFAULT_PATH NO_CACHE)
    if(failed OR NOT header)
      continue()
    endif()
    file(STRINGS "${header}" found REGEX "^#[ ]*define[ ]+${sign}[ ]")
    if(found)
      set(${out} "${GS_MPICC_${name}}" PARENT_SCOPE)
      set(${out}_COMMAND "${words}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

# gs_mpi_link(TARGET COMMAND): with the folders and libraries of a wrapper.
function(gs_mpi_link target command)
  foreach(word ${command})
    if(word MATCHES "^-I(.+)")
      target_include_directories(${target} SYSTEM PRIVATE "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-L(.+)")
      target_link_directories(${target} PRIVATE "${CMAKE_MATCH_1}")
      set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "${CMAKE_MATCH_1}")
      set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-l")
      target_link_libraries(${target} PRIVATE "${word}")
    endif()
  endforeach()
endfunction()

gs_mpi_wrapper(GS_MPI_OPENMPI OPEN_MPI mpicc.openmpi mpicc)
gs_mpi_wrapper(GS_MPI_MPICH MPICH_VERSION mpicc.mpich mpicc)
foreach(name openmpi mpich)
  string(TOUPPER "${name}" upper)
  if(GS_MPI_${upper})
    message(STATUS "MPI ${name}: ${GS_MPI_${upper}}")
    gs_module(mpi_${name} SOURCES ${GS_MPI_SOURCES})
    target_link_libraries(gradsync_mpi_${name} PRIVATE Threads::Threads)
    gs_mpi_link(gradsync_mpi_${name} "${GS_MPI_${upper}_COMMAND}")
  else()
    message(STATUS "MPI ${name}: not found")
  endif()
endforeach()
