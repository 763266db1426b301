# SPDX-License-Identifier: MIT
# make install: bin/heapwise looks for its recorder in ../lib/heapwise, so the tree may be moved.
if(TARGET heapwise)
	install(TARGETS heapwise RUNTIME DESTINATION bin)
endif()
if(TARGET recorder)
	install(TARGETS recorder recorder_access recorder_watch LIBRARY DESTINATION lib/heapwise)
	get_property(stubs GLOBAL PROPERTY HEAPWISE_STUBS)
	install(FILES ${stubs} DESTINATION lib/heapwise)
endif()
if(TARGET lisp_ecl)
	install(TARGETS lisp_ecl LIBRARY DESTINATION lib/heapwise)
endif()
if(TARGET client)
	install(TARGETS client LIBRARY DESTINATION lib)
	install(FILES ${client_archive} DESTINATION lib)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/heapwise.pc.in ${PROJECT_BINARY_DIR}/heapwise.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heapwise.pc DESTINATION lib/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/toolchain.cmake DESTINATION share/heapwise
	RENAME heapwise.cmake)
install(DIRECTORY include/heapwise DESTINATION include OPTIONAL
	FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
file(GLOB heapwise_pages CONFIGURE_DEPENDS man/*.[1-8])
foreach(page IN LISTS heapwise_pages)
	string(REGEX MATCH "[1-8]$" section ${page})
	install(FILES ${page} DESTINATION share/man/man${section})
endforeach()
foreach(shell_folder
	"bash:share/bash-completion/completions"
	"zsh:share/zsh/site-functions"
	"fish:share/fish/vendor_completions.d")
	string(REPLACE ":" ";" pair ${shell_folder})
	list(GET pair 0 shell)
	list(GET pair 1 folder)
	install(DIRECTORY completions/${shell}/ DESTINATION ${folder} OPTIONAL)
endforeach()
file(GLOB heapwise_docs CONFIGURE_DEPENDS docs/*.md README.md CHANGELOG.md LICENSE)
install(FILES ${heapwise_docs} DESTINATION share/doc/heapwise)
