# SPDX-License-Identifier: MIT
# libheapwise-lisp-ecl.so, for `heapwise run --lisp ecl`: built where ECL's headers are, because it looks into its objects. It links neither libecl nor the recorder: both are in the program that it is loaded into.
find_path(HEAPWISE_ECL_INCLUDE ecl/ecl.h)
mark_as_advanced(HEAPWISE_ECL_INCLUDE)
set(lisp_dir ${PROJECT_SOURCE_DIR}/src/target/lisp)
file(GLOB lisp_sources CONFIGURE_DEPENDS ${lisp_dir}/*.c ${lisp_dir}/arch/${HEAPWISE_CPU}/*.S)
set(lisp_history ihs_top) # where the environment of a thread has it
set(lisp_header ${HEAPWISE_ECL_INCLUDE})
if(EXISTS ${HEAPWISE_ECL_INCLUDE}/ecl/external.h)
	set(lisp_header ${HEAPWISE_ECL_INCLUDE}/ecl/external.h)
	file(STRINGS ${lisp_header} lisp_has_stacks REGEX "ecl_history_stack ihs_stack")
	if(lisp_has_stacks)
		set(lisp_history ihs_stack.top)
	endif()
endif()
heapwise_part_tries(lisp "${lisp_header}" ${heapwise_part_compiler} -fPIC -shared -D_GNU_SOURCE= -DHWL_IHS_TOP=${lisp_history}
	-I${HEAPWISE_ECL_INCLUDE} ${recorder_options} ${HEAPWISE_LIBRARY_LINK} ${lisp_sources})
heapwise_part(lisp "run --lisp ecl" libheapwise-lisp-ecl.so
	libecl-dev libgc-dev libgmp-dev libffi-dev libatomic-ops-dev)
if(lisp_builds)
	add_library(lisp_ecl SHARED ${lisp_sources})
	set_target_properties(lisp_ecl PROPERTIES OUTPUT_NAME heapwise-lisp-ecl
		LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	target_include_directories(lisp_ecl PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
	target_include_directories(lisp_ecl SYSTEM PRIVATE ${HEAPWISE_ECL_INCLUDE})
	target_compile_options(lisp_ecl PRIVATE ${HEAPWISE_C_OPTIONS} -O2
		"$<$<COMPILE_LANGUAGE:C>:${recorder_options}>")
	target_compile_definitions(lisp_ecl PRIVATE HWL_IHS_TOP=${lisp_history})
	target_link_options(lisp_ecl PRIVATE ${HEAPWISE_LIBRARY_LINK} -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete)
	target_link_libraries(lisp_ecl PRIVATE ${CMAKE_DL_LIBS})
endif()
