# Writes OUT when the version, the commit or the dirtiness of the tree has changed.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCE}" status --porcelain --untracked-files=no
  OUTPUT_VARIABLE dirty ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCE}" log -1 --format=%cs
  OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
set(is_dirty 0)
if(dirty)
  set(is_dirty 1)
endif()
# Another library multiplies then, and other bits may come out: a recording is of one of the two.
if(SANITIZE)
  string(APPEND TYPE ", sanitizers ${SANITIZE}")
endif()
foreach(name CUDA_TOOLKIT NCCL)
  set(has_${name} 0)
  if(${name})
    set(has_${name} 1)
  endif()
endforeach()
file(WRITE "${OUT}.new" "#define GS_VERSION \"${VERSION}\"
#define GS_COMMIT \"${commit}\"
#define GS_COMMIT_DIRTY ${is_dirty}
#define GS_COMMIT_DATE \"${date}\"
#define GS_BUILD_TYPE \"${TYPE}\"
#define GS_HAVE_CUDA_TOOLKIT ${has_CUDA_TOOLKIT}
#define GS_CUDA_TOOLKIT \"${CUDA_TOOLKIT}\"
#define GS_HAVE_NCCL ${has_NCCL}
#define GS_NCCL \"${NCCL}\"
")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different "${OUT}.new" "${OUT}")
