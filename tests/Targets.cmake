# SPDX-License-Identifier: MIT
# Target programs of tests/run. -fno-builtin: no call of the malloc family may be optimised away.
set(target_dir ${CMAKE_CURRENT_SOURCE_DIR}/targets)

# heapwise_target(NAME SOURCE...)
function(heapwise_target name)
	list(TRANSFORM ARGN PREPEND ${target_dir}/ OUTPUT_VARIABLE sources)
	add_executable(target_${name} EXCLUDE_FROM_ALL ${sources})
	set_target_properties(target_${name} PROPERTIES OUTPUT_NAME ${name}
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/targets)
	target_compile_options(target_${name} PRIVATE ${HEAPWISE_C_OPTIONS} -O1 -g -fno-builtin
		$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsized-deallocation>)
	target_link_libraries(target_${name} PRIVATE Threads::Threads)
	add_dependencies(tests target_${name})
endfunction()

foreach(name family threads children killed surroundings sampled)
	heapwise_target(${name} ${name}.c expect.c)
endforeach()
foreach(name newdelete lifecycle)
	heapwise_target(${name} ${name}.cpp expect.c)
endforeach()
heapwise_target(containers containers.cpp)
heapwise_target(empty empty.c)
heapwise_target(memory memory.c)
heapwise_target(api api.c)
target_include_directories(target_api PRIVATE ${PROJECT_SOURCE_DIR}/include)
heapwise_target(hard hard.cpp)
target_include_directories(target_hard PRIVATE ${PROJECT_SOURCE_DIR}/include)
heapwise_target(plugins plugins.c)
target_link_libraries(target_plugins PRIVATE ${CMAKE_DL_LIBS})
foreach(letter a b)
	add_library(target_plugin_${letter} MODULE EXCLUDE_FROM_ALL ${target_dir}/plugin.cpp)
	set_target_properties(target_plugin_${letter} PROPERTIES OUTPUT_NAME plugin-${letter} PREFIX ""
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/targets)
	target_compile_options(target_plugin_${letter} PRIVATE ${HEAPWISE_C_OPTIONS} -O1 -fno-builtin)
	target_link_options(target_plugin_${letter} PRIVATE -static-libstdc++ -static-libgcc)
	add_dependencies(tests target_plugin_${letter})
endforeach()
heapwise_target(static empty.c)
target_link_options(target_static PRIVATE -static)

add_library(target_libbump SHARED EXCLUDE_FROM_ALL ${target_dir}/libbump.c)
set_target_properties(target_libbump PROPERTIES OUTPUT_NAME bump
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/targets)
target_compile_options(target_libbump PRIVATE ${HEAPWISE_C_OPTIONS} -O2 -fno-builtin)
heapwise_target(handlers handlers.c expect.c)
target_link_libraries(target_handlers PRIVATE target_libbump)
