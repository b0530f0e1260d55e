# libgradsync_hook: the controller (strategies/controller) alone, for training loops of others; as an
# archive and as a shared library that shows gradsync_hook_* and nothing else.
file(GLOB hook_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/strategies/controller/*.c")
foreach(kind STATIC SHARED)
  string(TOLOWER "gradsync_hook_${kind}" target)
  add_library(${target} ${kind} ${hook_sources})
  target_link_libraries(${target} PRIVATE gs_options)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME gradsync_hook C_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(${target} PRIVATE m)
  target_include_directories(${target} INTERFACE "${CMAKE_SOURCE_DIR}/strategies/controller")
  install(TARGETS ${target} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
install(FILES "${CMAKE_SOURCE_DIR}/strategies/controller/gradsync_hook.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gradsync")
install(FILES "${CMAKE_SOURCE_DIR}/docs/hook/mpi_loop.c" DESTINATION ${CMAKE_INSTALL_DOCDIR}/hook)
