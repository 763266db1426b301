# SPDX-License-Identifier: MIT
# libheapwise.so, which runs inside other people's programs, libheapwise-access.so, which also
# records accesses, the stubs that `heapwise cc` links into programs, and libheapwise-check.so, the same
# code built to compare each of its stacks with libgcc's unwinder. Never built with a sanitizer.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	set(HEAPWISE_CPU aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
	set(HEAPWISE_CPU x86_64)
else()
	message(FATAL_ERROR "no unwinder for ${CMAKE_SYSTEM_PROCESSOR}: x86_64 and aarch64 only")
endif()

set(recorder_dir ${PROJECT_SOURCE_DIR}/src/target/recorder)
set(access_dir ${PROJECT_SOURCE_DIR}/src/target/access)
file(GLOB recorder_sources CONFIGURE_DEPENDS
	${recorder_dir}/*/*.c
	${recorder_dir}/*/arch/${HEAPWISE_CPU}/*.[cS])

set(recorder_options
	${HEAPWISE_PROTECTION}
	-fvisibility=hidden
	-ftls-model=initial-exec
	-fasynchronous-unwind-tables
	-fno-omit-frame-pointer
	-foptimize-sibling-calls # hooks end in calls that must not have frames of ours behind them
	-fno-stack-protector
	-U_FORTIFY_SOURCE # distributions set it; its functions end the program
	-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
	-fno-builtin-aligned_alloc -fno-builtin-memalign -fno-builtin-posix_memalign
	-fno-builtin-strdup -fno-builtin-strndup)

function(heapwise_recorder_options target)
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
		${PROJECT_SOURCE_DIR}/include)
	# -O2 also in debug builds: at -O0 the hooks would not keep to their stack limit.
	target_compile_options(${target} PRIVATE ${HEAPWISE_C_OPTIONS} -O2
		"$<$<COMPILE_LANGUAGE:C>:${recorder_options}>"
		$<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-fstack-usage>)
	target_compile_definitions(${target} PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")
endfunction()

function(heapwise_recorder target name)
	add_library(${target} SHARED ${recorder_sources} ${ARGN})
	set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
		LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	heapwise_recorder_options(${target})
	target_link_options(${target} PRIVATE ${HEAPWISE_LIBRARY_LINK} -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete
		-Wl,--no-undefined)
endfunction()

# heapwise_stub(NAME SOURCE DEFINITION...): heapwise-stub-NAME.o, an object file so that it is linked always.
function(heapwise_stub name source)
	string(REPLACE - _ target stub_${name})
	set(object ${PROJECT_BINARY_DIR}/heapwise-stub-${name}.o)
	add_library(${target} OBJECT ${access_dir}/shadow/${source}.c)
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
	target_compile_options(${target} PRIVATE ${HEAPWISE_C_OPTIONS} ${HEAPWISE_PROTECTION} -O2 -g0 -fno-stack-protector
		-U_FORTIFY_SOURCE -fomit-frame-pointer -fno-builtin)
	target_compile_definitions(${target} PRIVATE ${ARGN})
	add_custom_command(OUTPUT ${object} DEPENDS ${target} $<TARGET_OBJECTS:${target}>
		COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${target}> ${object})
	add_custom_target(${target}_copy ALL DEPENDS ${object})
	set_property(GLOBAL APPEND PROPERTY HEAPWISE_STUBS ${object})
	set_property(GLOBAL APPEND PROPERTY HEAPWISE_STUB_TARGETS ${target}_copy)
endfunction()

# libheapwise.a: the recorder as a part of programs. Two objects, because only programs that call operators have a C++
# library, which ours need; each has its code and variables in sections of its own, see objects.c.
function(heapwise_linked)
	set(archive ${PROJECT_BINARY_DIR}/libheapwise.a)
	set(script ${PROJECT_SOURCE_DIR}/cmake/linked.ld)
	set(operators ${recorder_dir}/hooks/operators.c)
	set(others ${recorder_sources})
	list(REMOVE_ITEM others ${operators})
	list(APPEND operators ${recorder_dir}/hooks/linked/new.cpp)
	set(made "")
	foreach(part others operators)
		add_library(linked_${part} OBJECT ${${part}})
		heapwise_recorder_options(linked_${part})
		target_compile_definitions(linked_${part} PRIVATE HWR_LINKED)
		target_compile_options(linked_${part} PRIVATE -g1
			"$<$<COMPILE_LANGUAGE:CXX>:${HEAPWISE_PROTECTION};-fvisibility=hidden;-fno-stack-protector;-fno-omit-frame-pointer>")
		set(object ${PROJECT_BINARY_DIR}/heapwise-linked-${part}.o)
		add_custom_command(OUTPUT ${object}
			COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -Wl,-T,${script} -o ${object} $<TARGET_OBJECTS:linked_${part}>
			DEPENDS $<TARGET_OBJECTS:linked_${part}> ${script}
			COMMAND_EXPAND_LISTS)
		list(APPEND made ${object})
	endforeach()
	add_custom_command(OUTPUT ${archive}
		COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
		COMMAND ${CMAKE_AR} rcs ${archive} ${made}
		DEPENDS ${made})
	add_custom_target(recorder_linked ALL DEPENDS ${archive})
	set(HEAPWISE_LINKED_ARCHIVE ${archive} PARENT_SCOPE)
endfunction()

if(recorder_sources)
	heapwise_recorder(recorder heapwise)
	heapwise_linked()
	target_link_options(recorder PRIVATE -static-libgcc)
	file(GLOB access_sources CONFIGURE_DEPENDS
		${access_dir}/heap/*.c
		${access_dir}/ranges/*.c
		${access_dir}/shadow/*.c
		${access_dir}/shadow/arch/${HEAPWISE_CPU}/*.c
		${access_dir}/arch/${HEAPWISE_CPU}/*.S)
	list(FILTER access_sources EXCLUDE REGEX "/(plain_)?stub\\.c$")
	heapwise_recorder(recorder_access heapwise-access ${access_sources})
	# It defines functions that the compiler believes to know and that headers define inline.
	target_compile_definitions(recorder_access PRIVATE HWR_ACCESS __NO_INLINE__=1)
	target_compile_options(recorder_access PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-builtin>)
	# The path of every access has no frame; nothing is unwound from there.
	set_source_files_properties(${access_dir}/shadow/record.c PROPERTIES
		COMPILE_OPTIONS -fomit-frame-pointer)
	target_link_options(recorder_access PRIVATE -static-libgcc)
	# Page monitoring: the same heap with slots of its own, no instrumentation.
	file(GLOB pages_sources CONFIGURE_DEPENDS
		${access_dir}/heap/*.c
		${access_dir}/pages/*.c
		${access_dir}/pages/arch/${HEAPWISE_CPU}/*.[cS]
		${access_dir}/arch/${HEAPWISE_CPU}/*.S)
	heapwise_recorder(recorder_watch heapwise-watch ${pages_sources})
	target_compile_definitions(recorder_watch PRIVATE HWR_ACCESS HWR_PAGES)
	target_link_options(recorder_watch PRIVATE -static-libgcc)
	foreach(kind program library)
		foreach(compiler gcc clang)
			heapwise_stub(${kind}-${compiler} stub
				$<$<STREQUAL:${kind},program>:HW_STUB_PROGRAM>
				$<$<STREQUAL:${compiler},gcc>:HW_STUB_MERGES>)
		endforeach()
	endforeach()
	heapwise_stub(plain plain_stub)
	include(Musl)
	heapwise_recorder(recorder_check heapwise-check)
	set_target_properties(recorder_check PROPERTIES EXCLUDE_FROM_ALL ON)
	target_compile_definitions(recorder_check PRIVATE HWR_CHECK)
	target_link_libraries(recorder_check PRIVATE gcc_s)
	# For tests/inject: one of its system calls fails.
	heapwise_recorder(recorder_inject heapwise-inject)
	set_target_properties(recorder_inject PROPERTIES EXCLUDE_FROM_ALL ON)
	target_compile_definitions(recorder_inject PRIVATE HWR_INJECT)
	target_link_options(recorder_inject PRIVATE -static-libgcc)
endif()
