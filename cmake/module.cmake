# Modules: what needs a library that not every machine has, loaded at run time by the program
# (live/carrier_module.h), so that the program itself runs everywhere.

# gs_module(NAME SOURCES files...): gradsync_NAME.so, beside the program in the build tree and in
# LIBDIR/gradsync once it is installed. Calls nothing of the program: what it needs of base/ is
# compiled into it, and all but its entry is hidden.
function(gs_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(gradsync_${name} MODULE ${ARG_SOURCES}
    "${CMAKE_SOURCE_DIR}/base/assert.c" "${CMAKE_SOURCE_DIR}/base/status.c")
  target_link_libraries(gradsync_${name} PRIVATE gs_options)
  set_target_properties(gradsync_${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  install(TARGETS gradsync_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/gradsync")
endfunction()

# gs_module_host(TARGET): tells the room that loads modules where installed ones lie, as seen from
# the program.
function(gs_module_host target)
  file(RELATIVE_PATH modules "${CMAKE_INSTALL_FULL_BINDIR}"
    "${CMAKE_INSTALL_FULL_LIBDIR}/gradsync")
  target_compile_definitions(${target} PRIVATE GS_INSTALLED_MODULES="${modules}")
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()
