# Manual pages and completions, printed by the program itself from its own tables; made and installed
# with it.
function(gs_program_pages name)
  set(pages "${CMAKE_BINARY_DIR}/pages")
  set(outputs "${pages}/${name}.1" "${pages}/${name}-scenario.5" "${pages}/${name}.bash" "${pages}/_${name}" "${pages}/${name}.fish")
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -E make_directory "${pages}"
    COMMAND ${name} help --man -o "${pages}/${name}.1"
    COMMAND ${name} help scenario --man -o "${pages}/${name}-scenario.5"
    COMMAND ${name} completion bash -o "${pages}/${name}.bash"
    COMMAND ${name} completion zsh -o "${pages}/_${name}"
    COMMAND ${name} completion fish -o "${pages}/${name}.fish"
    DEPENDS ${name} COMMENT "Printing the manual pages and the completions" VERBATIM)
  add_custom_target(${name}_pages ALL DEPENDS ${outputs})
  install(FILES "${pages}/${name}.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES "${pages}/${name}-scenario.5" DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  install(FILES "${pages}/${name}.bash" RENAME ${name}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES "${pages}/_${name}" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES "${pages}/${name}.fish"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
