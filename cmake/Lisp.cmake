# SPDX-License-Identifier: MIT
# libheapwise-lisp-ecl.so, for `heapwise run --lisp ecl`: built where ECL's headers are, because it looks into its objects. It links neither libecl nor the recorder: both are in the program that it is loaded into.
find_path(HEAPWISE_ECL_INCLUDE ecl/ecl.h)
if(HEAPWISE_ECL_INCLUDE)
	# Its headers include those of other packages, on which libecl-dev does not depend.
	include(CheckCSourceCompiles)
	set(CMAKE_REQUIRED_INCLUDES ${HEAPWISE_ECL_INCLUDE})
	check_c_source_compiles("#include <ecl/ecl.h>\nint main(void) { return 0; }" HEAPWISE_ECL_COMPILES)
	unset(CMAKE_REQUIRED_INCLUDES)
	if(NOT HEAPWISE_ECL_COMPILES)
		unset(HEAPWISE_ECL_COMPILES CACHE)
	endif()
endif()
heapwise_part("run --lisp ecl" "${HEAPWISE_ECL_COMPILES}" libheapwise-lisp-ecl.so
	libecl-dev libgc-dev libgmp-dev libffi-dev libatomic-ops-dev)
if(HEAPWISE_ECL_COMPILES AND TARGET recorder)
	set(lisp_dir ${PROJECT_SOURCE_DIR}/src/target/lisp)
	file(GLOB lisp_sources CONFIGURE_DEPENDS ${lisp_dir}/*.c ${lisp_dir}/arch/${HEAPWISE_CPU}/*.S)
	add_library(lisp_ecl SHARED ${lisp_sources})
	set_target_properties(lisp_ecl PROPERTIES OUTPUT_NAME heapwise-lisp-ecl
		LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	target_include_directories(lisp_ecl PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
	target_include_directories(lisp_ecl SYSTEM PRIVATE ${HEAPWISE_ECL_INCLUDE})
	target_compile_options(lisp_ecl PRIVATE ${HEAPWISE_C_OPTIONS} -O2
		"$<$<COMPILE_LANGUAGE:C>:${recorder_options}>")
	target_link_options(lisp_ecl PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete)
	target_link_libraries(lisp_ecl PRIVATE ${CMAKE_DL_LIBS})
endif()
