# What of CUDA and NCCL is on this machine, for `doctor`, and the CUDA module made of it.
#   GS_CUDA_TOOLKIT, GS_NCCL   version and place, such as "13.0 (/opt/cuda/bin/nvcc)"; empty: not found
# GS_CUDA=ON asks for the module; a machine without the toolkit still configures and builds.
find_program(GS_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
  DOC "The CUDA compiler")
set(GS_CUDA_TOOLKIT "")
set(GS_NCCL "")
if(GS_NVCC)
  execute_process(COMMAND "${GS_NVCC}" --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "release ([0-9.]+)")
    set(GS_CUDA_TOOLKIT "${CMAKE_MATCH_1} (${GS_NVCC})")
  endif()
endif()

find_path(GS_NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES include)
find_library(GS_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ENV NCCL_HOME ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES lib lib64)
if(GS_NCCL_INCLUDE_DIR AND GS_NCCL_LIBRARY)
  file(STRINGS "${GS_NCCL_INCLUDE_DIR}/nccl.h" lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
  set(numbers "")
  foreach(line ${lines})
    string(REGEX REPLACE "^#define NCCL_[A-Z]+ +([0-9]+).*" "\\1" number "${line}")
    list(APPEND numbers "${number}")
  endforeach()
  list(JOIN numbers "." text)
  set(GS_NCCL "${text} (${GS_NCCL_LIBRARY})")
endif()

foreach(fact TOOLKIT NCCL)
  set(text "${GS_NCCL}")
  set(what "NCCL")
  if(fact STREQUAL "TOOLKIT")
    set(text "${GS_CUDA_TOOLKIT}")
    set(what "CUDA toolkit")
  endif()
  if(text)
    message(STATUS "${what}: ${text}")
  else()
    message(STATUS "${what}: not found")
  endif()
endforeach()
if(NOT GS_CUDA)
  return()
endif()
cmake_path(GET GS_NVCC PARENT_PATH folder)
cmake_path(GET folder PARENT_PATH folder)
find_path(GS_CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS "${folder}" PATH_SUFFIXES include)
find_library(GS_CUDA_RUNTIME cudart_static HINTS "${folder}" PATH_SUFFIXES lib64 lib)
if(NOT GS_CUDA_TOOLKIT OR NOT GS_NCCL OR NOT GS_CUDA_INCLUDE_DIR OR NOT GS_CUDA_RUNTIME)
  message(STATUS "GS_CUDA is on, but toolkit or NCCL is missing: all but the CUDA module is built")
  return()
endif()

# The module gradsync_cuda.so: the NCCL carrier and the kernels, which nvcc compiles by a command of
# its own, as CMake's language CUDA would want a device's architecture at configuration. What is
# made of them needs no C++ library.
set(GS_CUDA_ARCHITECTURE "all-major" CACHE STRING
  "What nvcc compiles kernels for: its -arch; native: the devices of this machine")
set(kernels "${CMAKE_BINARY_DIR}/kernels.cu.o")
add_custom_command(OUTPUT "${kernels}"
  COMMAND "${GS_NVCC}" -arch=${GS_CUDA_ARCHITECTURE} -O3 -std=c++17 -fmad=false
          -Xcompiler=-fPIC,-fvisibility=hidden,-fno-threadsafe-statics -I "${CMAKE_SOURCE_DIR}" -MD -MF "${kernels}.d"
          -c "${CMAKE_SOURCE_DIR}/models/cuda/kernels.cu" -o "${kernels}"
  DEPFILE "${kernels}.d" MAIN_DEPENDENCY "${CMAKE_SOURCE_DIR}/models/cuda/kernels.cu"
  COMMENT "Compiling CUDA kernels" VERBATIM)
file(GLOB sources CONFIGURE_DEPENDS
  "${CMAKE_SOURCE_DIR}/live/carriers/nccl/*.c" "${CMAKE_SOURCE_DIR}/models/cuda/*.c")
gs_module(cuda SOURCES ${sources} "${kernels}")
function(gs_link_cuda target)
  target_include_directories(${target} SYSTEM PRIVATE
    "${GS_CUDA_INCLUDE_DIR}" "${GS_NCCL_INCLUDE_DIR}")
  target_link_libraries(${target} PRIVATE
    "${GS_NCCL_LIBRARY}" "${GS_CUDA_RUNTIME}" Threads::Threads ${CMAKE_DL_LIBS} rt m)
endfunction()
gs_link_cuda(gradsync_cuda)
target_link_options(gradsync_cuda PRIVATE LINKER:--no-undefined)

# What tools/gpu_check.sh runs where there is a device; it needs no test framework.
file(GLOB check CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/gpu/*.c")
add_executable(gpu_check ${check} ${sources} "${kernels}"
  "${CMAKE_SOURCE_DIR}/tests/fake_cuda/thread_carrier.c"
  "${CMAKE_SOURCE_DIR}/models/kernels.c" "${CMAKE_SOURCE_DIR}/models/halves.c"
  "${CMAKE_SOURCE_DIR}/base/status.c")
target_link_libraries(gpu_check PRIVATE gs_options)
gs_link_cuda(gpu_check)
