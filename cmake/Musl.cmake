# SPDX-License-Identifier: MIT
# libheapwise-musl.so, the recorder for programs of the C library musl, where there is a compiler for it. It names no
# library that it needs: whatever C library the program has is there already, also after an exec of a program of glibc.
find_program(HEAPWISE_MUSL_CC musl-gcc)
mark_as_advanced(HEAPWISE_MUSL_CC)
if(HEAPWISE_MUSL_CC AND NOT CMAKE_CROSSCOMPILING)
	set(musl_library ${PROJECT_BINARY_DIR}/libheapwise-musl.so)
	file(GLOB_RECURSE musl_headers CONFIGURE_DEPENDS ${recorder_dir}/*.h ${PROJECT_SOURCE_DIR}/src/format/*.h)
	# The kernel's headers come with glibc's, which are behind musl's own.
	add_custom_command(OUTPUT ${musl_library} DEPENDS ${recorder_sources} ${musl_headers}
		COMMAND ${HEAPWISE_MUSL_CC} -std=gnu11 -O2 -g -fPIC -shared -w -D_GNU_SOURCE= -DHWR_MUSL
			-DHEAPWISE_VERSION="${PROJECT_VERSION}"
			-I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
			-I${recorder_dir}/unwind/arch/${HEAPWISE_CPU} -I${recorder_dir}/pool/arch/${HEAPWISE_CPU}
			-idirafter /usr/include -idirafter /usr/include/${HEAPWISE_CPU}-linux-gnu
			${recorder_options} -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -nodefaultlibs -static-libgcc
			-o ${musl_library} ${recorder_sources} -lgcc
		COMMENT "Linking libheapwise-musl.so" VERBATIM)
	add_custom_target(recorder_musl ALL DEPENDS ${musl_library})
endif()
