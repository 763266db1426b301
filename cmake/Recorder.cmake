# SPDX-License-Identifier: MIT
# libheapwise.so, which runs inside other people's programs, and libheapwise-check.so, the same
# code built to compare each of its stacks with libgcc's unwinder. Never built with a sanitizer.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	set(HEAPWISE_CPU aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
	set(HEAPWISE_CPU x86_64)
else()
	message(FATAL_ERROR "no unwinder for ${CMAKE_SYSTEM_PROCESSOR}: x86_64 and aarch64 only")
endif()

set(recorder_dir ${PROJECT_SOURCE_DIR}/src/recorder)
file(GLOB recorder_sources CONFIGURE_DEPENDS
	${recorder_dir}/*.c
	${recorder_dir}/unwind/*.c
	${recorder_dir}/unwind/arch/${HEAPWISE_CPU}/*.c
	${recorder_dir}/unwind/arch/${HEAPWISE_CPU}/*.S)

set(recorder_options
	-fvisibility=hidden
	-ftls-model=initial-exec
	-fasynchronous-unwind-tables
	-fno-omit-frame-pointer
	-fno-stack-protector
	-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
	-fno-builtin-aligned_alloc -fno-builtin-memalign -fno-builtin-posix_memalign
	-fno-builtin-strdup -fno-builtin-strndup)

function(heapwise_recorder target name)
	add_library(${target} SHARED ${recorder_sources})
	set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
		LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
		${PROJECT_SOURCE_DIR}/include ${recorder_dir}/unwind/arch/${HEAPWISE_CPU})
	# -O2 also in debug builds: at -O0 the hooks would not keep to their stack limit.
	target_compile_options(${target} PRIVATE ${HEAPWISE_C_OPTIONS} -O2
		"$<$<COMPILE_LANGUAGE:C>:${recorder_options}>"
		$<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-fstack-usage>)
	target_compile_definitions(${target} PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")
	target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete
		-Wl,--no-undefined)
endfunction()

if(recorder_sources)
	heapwise_recorder(recorder heapwise)
	target_link_options(recorder PRIVATE -static-libgcc)
	heapwise_recorder(recorder_check heapwise-check)
	set_target_properties(recorder_check PROPERTIES EXCLUDE_FROM_ALL ON)
	target_compile_definitions(recorder_check PRIVATE HWR_CHECK)
	target_link_libraries(recorder_check PRIVATE gcc_s)
endif()
