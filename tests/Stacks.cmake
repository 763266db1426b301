# SPDX-License-Identifier: MIT
# The programs of targets/unwind, each built by gcc and clang in the ways that change a frame's shape,
# and one test per program that runs them all under the checking recorder.
set(unwind_dir ${CMAKE_CURRENT_SOURCE_DIR}/targets/unwind)
set(unwind_out ${CMAKE_CURRENT_BINARY_DIR}/unwind)
file(MAKE_DIRECTORY ${unwind_out})

# VARIANT:FLAG,FLAG… In `make test` those that differ most: frames with and without a frame pointer, which -O2 keeps on aarch64 only.
set(unwind_variants O0:-O0 O2:-O2)
set(unwind_variants_more O3:-O3 omit:-O2,-fomit-frame-pointer keep:-O2,-fno-omit-frame-pointer)
if(HEAPWISE_CPU STREQUAL "aarch64")
	list(APPEND unwind_variants omit:-O2,-fomit-frame-pointer pac:-O2,-mbranch-protection=standard)
	list(REMOVE_ITEM unwind_variants_more omit:-O2,-fomit-frame-pointer)
endif()

find_program(HEAPWISE_CLANG clang)
find_program(HEAPWISE_CLANGXX clang++)
mark_as_advanced(HEAPWISE_CLANG HEAPWISE_CLANGXX)
set(unwind_compilers gcc)
set(unwind_cc_gcc ${CMAKE_C_COMPILER})
set(unwind_cxx_gcc ${CMAKE_CXX_COMPILER})
if(HEAPWISE_CLANG AND HEAPWISE_CLANGXX)
	list(APPEND unwind_compilers clang)
	set(unwind_cc_clang ${HEAPWISE_CLANG} --target=${HEAPWISE_CPU}-linux-gnu)
	set(unwind_cxx_clang ${HEAPWISE_CLANGXX} --target=${HEAPWISE_CPU}-linux-gnu)
	set(unwind_clang ON)
endif()
heapwise_test_part("tests of stacks with clang" "${unwind_clang}" stacks.clang clang)

# heapwise_unwind_build(OUTPUT COMPILER FLAGS SOURCE...)   compiles and links in one command, since
# CMake itself knows one compiler per language only.
function(heapwise_unwind_build output compiler flags)
	set(sources ${ARGN})
	list(GET sources 0 main_source)
	if(main_source MATCHES "\\.cpp$")
		set(command ${unwind_cxx_${compiler}} -std=c++17)
	else()
		set(command ${unwind_cc_${compiler}} -std=gnu11 -D_GNU_SOURCE=)
	endif()
	add_custom_command(OUTPUT ${output}
		COMMAND ${command} -Wall -Wextra ${flags} -g -pthread ${sources} -o ${output}
		DEPENDS ${sources} ${unwind_dir}/stacks.h VERBATIM
		COMMENT "Building target ${output}")
endfunction()

# heapwise_stacks(SOURCE [ARGUMENT...])   a program's test, and that of its further variants, which make test-full runs.
function(heapwise_stacks source)
	get_filename_component(name ${source} NAME_WE)
	heapwise_stacks_of(stacks.${name} tests unwind_variants ${ARGV})
	list(APPEND HEAPWISE_LABEL full)
	heapwise_stacks_of(stacks.${name}-more tests_long unwind_variants_more ${ARGV})
endfunction()

# heapwise_stacks_of(TEST TARGET VARIANTS SOURCE [ARGUMENT...])   TARGET builds the program in all VARIANTS, a list's name.
function(heapwise_stacks_of test target variants source)
	get_filename_component(name ${source} NAME_WE)
	set(programs "")
	set(sources ${unwind_dir}/${source})
	set(start "")
	if(EXISTS ${unwind_dir}/arch/${HEAPWISE_CPU}/${name}.S)
		list(APPEND sources ${unwind_dir}/arch/${HEAPWISE_CPU}/${name}.S)
	endif()
	if(name STREQUAL "start")
		set(start -nostartfiles)
	endif()
	foreach(compiler IN LISTS unwind_compilers)
		foreach(variant IN LISTS ${variants})
			string(REGEX MATCH "^([^:]*):(.*)$" _ ${variant})
			string(REPLACE "," ";" flags ${CMAKE_MATCH_2})
			set(program ${unwind_out}/${name}.${compiler}-${CMAKE_MATCH_1})
			heapwise_unwind_build(${program} ${compiler} "${flags};${start}" ${sources})
			list(APPEND programs ${program})
		endforeach()
	endforeach()
	string(REPLACE . _ built ${test})
	add_custom_target(${built} DEPENDS ${programs})
	add_dependencies(${target} ${built})
	heapwise_script_test(${test} ${CMAKE_CURRENT_SOURCE_DIR}/run/stacks.sh
		$<TARGET_FILE:recorder_check> ${unwind_emulator} ${programs} ${ARGN})
endfunction()

if(TARGET recorder_check)
	add_dependencies(tests recorder_check)
	if(CMAKE_CROSSCOMPILING)
		string(REPLACE ";" "|" unwind_emulator "--emulator=${CMAKE_CROSSCOMPILING_EMULATOR}")
	endif()
	set(HEAPWISE_TIMEOUT 900)
	foreach(letter a b)
		heapwise_unwind_build(${unwind_out}/libreuse_${letter}.so gcc "-O2;-fPIC;-shared"
			${unwind_dir}/libreuse_${letter}.c)
		list(APPEND unwind_libraries ${unwind_out}/libreuse_${letter}.so)
	endforeach()
	add_custom_target(stacks_libraries DEPENDS ${unwind_libraries})
	add_dependencies(tests stacks_libraries)
	foreach(source calls.c exceptions.cpp signals.c coroutines.c remap.c jumps.c drap.c deep.c large.c
		threads.c iconv.c nocfi.c start.c)
		heapwise_stacks(${source})
	endforeach()
	heapwise_stacks(reuse.c -- ${unwind_libraries})
	unset(HEAPWISE_TIMEOUT)
endif()
