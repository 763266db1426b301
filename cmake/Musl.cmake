# SPDX-License-Identifier: MIT
# libheapwise-musl.so, the recorder for programs of the C library musl, where there is a compiler for it. It names no
# library that it needs: whatever C library the program has is there already, also after an exec of a program of glibc.
set(musl_compiler "")
set(musl_found "")
if(CMAKE_CROSSCOMPILING)
	# What musl-gcc is, with the names of its files below the other CPU's root.
	set(musl_specs ${CMAKE_SYSROOT}/usr/lib/${HEAPWISE_CPU}-linux-musl/musl-gcc.specs)
	if(EXISTS ${musl_specs})
		file(READ ${musl_specs} musl_text)
		string(REGEX REPLACE "(/usr/(lib|include)/${HEAPWISE_CPU}-linux-musl)" "${CMAKE_SYSROOT}\\1" musl_text "${musl_text}")
		file(WRITE ${PROJECT_BINARY_DIR}/musl-gcc.specs "${musl_text}")
		set(musl_found ${musl_specs})
		set(musl_compiler ${CMAKE_C_COMPILER} -specs ${PROJECT_BINARY_DIR}/musl-gcc.specs)
	endif()
else()
	find_program(HEAPWISE_MUSL_CC musl-gcc)
	mark_as_advanced(HEAPWISE_MUSL_CC)
	if(HEAPWISE_MUSL_CC)
		set(musl_found ${HEAPWISE_MUSL_CC})
		set(musl_compiler ${HEAPWISE_MUSL_CC})
	endif()
endif()
set(musl_library ${PROJECT_BINARY_DIR}/libheapwise-musl.so)
file(GLOB_RECURSE musl_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/target/*.h ${PROJECT_SOURCE_DIR}/src/format/*.h)
# The kernel's headers come with glibc's, which are behind musl's own.
set(musl_command ${musl_compiler} -std=gnu11 -g -fPIC -shared -w -D_GNU_SOURCE= -DHWR_MUSL
	-DHEAPWISE_VERSION="${PROJECT_VERSION}"
	-I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
	-idirafter ${CMAKE_SYSROOT}/usr/include -idirafter ${CMAKE_SYSROOT}/usr/include/${HEAPWISE_CPU}-linux-gnu
	${recorder_options}
	${HEAPWISE_LIBRARY_LINK} -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -nodefaultlibs -static-libgcc ${recorder_sources} -lgcc)
heapwise_part_tries(musl "${musl_found}" ${musl_command})
heapwise_part(musl "recording of musl programs" libheapwise-musl.so musl-tools)
if(musl_builds)
	add_custom_command(OUTPUT ${musl_library} DEPENDS ${recorder_sources} ${musl_headers}
		COMMAND ${musl_command} -O2 -o ${musl_library}
		COMMENT "Linking libheapwise-musl.so" VERBATIM COMMAND_EXPAND_LISTS)
	add_custom_target(recorder_musl ALL DEPENDS ${musl_library})
endif()
