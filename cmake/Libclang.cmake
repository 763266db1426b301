# SPDX-License-Identifier: MIT
# The headers of libclang, for `heapwise trace types-index`. The library itself is loaded when that command runs.
# Without headers the command is there and says what to install.
file(GLOB libclang_folders /usr/lib/llvm-*/include /usr/lib64/llvm*/include)
list(SORT libclang_folders COMPARE NATURAL ORDER DESCENDING)
# They are the same for every CPU.
find_path(HEAPWISE_LIBCLANG_INCLUDE clang-c/CXCompilationDatabase.h HINTS ${libclang_folders} NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(HEAPWISE_LIBCLANG_INCLUDE)
set(HEAPWISE_CLANG_MAJOR 14)
if(HEAPWISE_LIBCLANG_INCLUDE)
	get_filename_component(libclang_include ${HEAPWISE_LIBCLANG_INCLUDE} REALPATH)
	if(libclang_include MATCHES "llvm-?([0-9]+)")
		set(HEAPWISE_CLANG_MAJOR ${CMAKE_MATCH_1})
	endif()
endif()
file(GLOB libclang_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/host/symbols/indexer/*.c)
list(FILTER libclang_sources EXCLUDE REGEX "/absent\\.c$")
set(libclang_header ${HEAPWISE_LIBCLANG_INCLUDE})
if(HEAPWISE_LIBCLANG_INCLUDE)
	set(libclang_header ${HEAPWISE_LIBCLANG_INCLUDE}/clang-c/Index.h)
endif()
heapwise_part_tries(types-index "${libclang_header}" ${heapwise_part_compiler} -fPIC -shared -D_GNU_SOURCE=
	-DHEAPWISE_CLANG_MAJOR=${HEAPWISE_CLANG_MAJOR} -I${HEAPWISE_LIBCLANG_INCLUDE} ${libclang_sources})
heapwise_part(types-index "types-index" "" libclang-dev)

# Either the indexer or what stands in for it.
function(heapwise_libclang_sources variable)
	set(sources ${${variable}})
	if(types-index_builds)
		list(FILTER sources EXCLUDE REGEX "/absent\\.c$")
	else()
		list(FILTER sources INCLUDE REGEX "/absent\\.c$")
	endif()
	set(${variable} ${sources} PARENT_SCOPE)
endfunction()

function(heapwise_libclang_target target)
	if(types-index_builds)
		target_include_directories(${target} SYSTEM PRIVATE ${HEAPWISE_LIBCLANG_INCLUDE})
		target_compile_definitions(${target} PRIVATE HEAPWISE_CLANG_MAJOR=${HEAPWISE_CLANG_MAJOR})
	endif()
endfunction()
