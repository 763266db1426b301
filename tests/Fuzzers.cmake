# SPDX-License-Identifier: MIT
# libFuzzer entries, tests/fuzz/fuzz_*.c: built in the tree that tools/fuzz configures.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
add_custom_target(fuzzers)
if(HEAPWISE_SANITIZE MATCHES "fuzzer")
	foreach(source IN LISTS fuzz_sources)
		get_filename_component(name ${source} NAME_WE)
		add_executable(${name} EXCLUDE_FROM_ALL ${source})
		set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
			${PROJECT_BINARY_DIR}/fuzzers)
		target_compile_options(${name} PRIVATE ${HEAPWISE_C_OPTIONS})
		foreach(room IN LISTS HEAPWISE_ROOMS)
			heapwise_room_target(library ${room})
			target_link_libraries(${name} PRIVATE ${library})
		endforeach()
		target_link_options(${name} PRIVATE -fsanitize=fuzzer)
		add_dependencies(fuzzers ${name})
	endforeach()
endif()
