# SPDX-License-Identifier: MIT
# HEAPWISE_PORTABLE, as `make tarball` builds: programs and libraries that need nothing but glibc 2.28. The libraries that they
# link with are inside: their archives take the names by which rooms know them. Those that are loaded when they are needed lie
# in lib/heapwise/libs (tools/make-tarball, host/base/library.c).
find_package(Threads REQUIRED)
option(HEAPWISE_PORTABLE "link libraries statically, and need only symbols of glibc 2.28" OFF)
if(NOT HEAPWISE_PORTABLE)
	return()
endif()

# heapwise_inside(NAME NEEDED...): libNAME.a, and what it needs.
function(heapwise_inside name)
	find_library(HEAPWISE_ARCHIVE_${name} lib${name}.a REQUIRED)
	mark_as_advanced(HEAPWISE_ARCHIVE_${name})
	add_library(${name} STATIC IMPORTED GLOBAL)
	set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${HEAPWISE_ARCHIVE_${name}} INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()
heapwise_inside(lzma Threads::Threads)
heapwise_inside(z)
heapwise_inside(zstd Threads::Threads)
heapwise_inside(sqlite3 m ${CMAKE_DL_LIBS} Threads::Threads)
heapwise_inside(elf z zstd)
heapwise_inside(dw elf z zstd lzma ${CMAKE_DL_LIBS})
add_link_options(-Wl,--exclude-libs,ALL)

# glibc 2.29 has newer versions of these functions; the older ones are in every glibc of the CPU.
set(glibc_first GLIBC_2.17)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
	set(glibc_first GLIBC_2.2.5)
endif()
add_library(portable_math STATIC ${CMAKE_CURRENT_LIST_DIR}/portable_math.c)
target_compile_definitions(portable_math PRIVATE GLIBC_FIRST="${glibc_first}")
add_library(m INTERFACE)
target_link_libraries(m INTERFACE portable_math -lm)
foreach(function exp exp2 log log2 pow)
	target_link_options(m INTERFACE -Wl,--wrap=${function})
endforeach()
