# What plug-ins need of the program: the services that strategies may call, exported by it, and the
# headers that declare them (docs/contract.md).

# gs_plugin_host(PROGRAM): exports what these headers declare, and nothing else of the program.
# Services that no strategy of ours calls are linked all the same.
set(GS_SERVICE_HEADERS
  base/assert.h base/status.h
  strategies/bucket.h strategies/coding.h strategies/collective.h strategies/world.h)
function(gs_plugin_host name)
  set(services "")
  foreach(header ${GS_SERVICE_HEADERS})
    set(file "${CMAKE_SOURCE_DIR}/${header}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(REGEX MATCHALL "gs_[a-z0-9_]+\\(" calls "${text}")
    list(APPEND services ${calls})
  endforeach()
  list(REMOVE_DUPLICATES services)
  set(list "{\n")
  foreach(service ${services})
    string(REPLACE "(" "" service "${service}")
    string(APPEND list "  ${service};\n")
    target_link_options(${name} PRIVATE "LINKER:--undefined=${service}")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/services.list" CONTENT "${list}};\n")
  target_link_options(${name} PRIVATE
    "LINKER:--dynamic-list=${CMAKE_BINARY_DIR}/generated/services.list")
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endfunction()

set(GS_PLUGIN_HEADERS
  base/arena.h base/assert.h base/config.h base/json.h base/nearest.h base/status.h base/units.h
  strategies/bucket.h strategies/codec.h strategies/coding.h strategies/collective.h
  strategies/group.h strategies/plugin.h strategies/strategy.h strategies/tensors.h
  strategies/vops.def strategies/world.h)
foreach(header ${GS_PLUGIN_HEADERS})
  cmake_path(GET header PARENT_PATH room)
  install(FILES "${CMAKE_SOURCE_DIR}/${header}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gradsync/${room}")
endforeach()
install(FILES "${CMAKE_SOURCE_DIR}/docs/plugin/every.c" DESTINATION ${CMAKE_INSTALL_DOCDIR}/plugin)
