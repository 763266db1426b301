# SPDX-License-Identifier: MIT
# build/valgrind: the Valgrind tool of `heapwise run --access valgrind`, out of the headers and archives
# that the package `valgrind` installs. Without them it is left out, and the command says what to install.
# The folder serves as VALGRIND_LIB: it also has what every tool needs beside itself.
if(HEAPWISE_CPU STREQUAL "x86_64")
	set(valgrind_cpu amd64)
else()
	set(valgrind_cpu arm64)
endif()
set(valgrind_platform ${valgrind_cpu}-linux)
find_path(HEAPWISE_VALGRIND_INCLUDE pub_tool_tooliface.h PATH_SUFFIXES valgrind)
find_library(HEAPWISE_VALGRIND_CORE libcoregrind-${valgrind_platform}.a PATH_SUFFIXES valgrind)
find_file(HEAPWISE_VALGRIND_PRELOAD vgpreload_core-${valgrind_platform}.so
	PATH_SUFFIXES libexec/valgrind lib/valgrind lib/${CMAKE_LIBRARY_ARCHITECTURE}/valgrind)
mark_as_advanced(HEAPWISE_VALGRIND_INCLUDE HEAPWISE_VALGRIND_CORE HEAPWISE_VALGRIND_PRELOAD)
set(valgrind_header "")
if(HEAPWISE_VALGRIND_INCLUDE AND HEAPWISE_VALGRIND_CORE AND HEAPWISE_VALGRIND_PRELOAD)
	set(valgrind_header ${HEAPWISE_VALGRIND_INCLUDE}/pub_tool_tooliface.h)
endif()

get_filename_component(valgrind_archives "${HEAPWISE_VALGRIND_CORE}" DIRECTORY)
get_filename_component(valgrind_files "${HEAPWISE_VALGRIND_PRELOAD}" DIRECTORY)
set(valgrind_folder ${PROJECT_BINARY_DIR}/valgrind)
set(valgrind_sources ${PROJECT_SOURCE_DIR}/src/target/valgrind)
set(valgrind_definitions VGA_${valgrind_cpu}=1 VGO_linux=1 VGP_${valgrind_cpu}_linux=1
	VGPV_${valgrind_cpu}_linux_vanilla=1)

# Where the tool is loaded: away from where programs are.
set(valgrind_address 0x58000000)
file(GLOB valgrind_pc ${valgrind_archives}/../pkgconfig/valgrind.pc)
if(valgrind_pc)
	file(STRINGS ${valgrind_pc} valgrind_line REGEX "^valt_load_address=")
	string(REGEX REPLACE "^valt_load_address=" "" valgrind_address "${valgrind_line}")
endif()

# What differs between its versions.
foreach(ask "HWV_ASKED_ALIGNMENT=tooliface=p__builtin_new_aligned.*orig_align" "HWV_SHADOW_RESULT=aspacemgr=SysRes.*am_shadow_alloc")
	string(REGEX MATCH "^([A-Z_]+)=([a-z]+)=(.*)$" _ "${ask}")
	if(valgrind_header)
		file(STRINGS ${HEAPWISE_VALGRIND_INCLUDE}/pub_tool_${CMAKE_MATCH_2}.h valgrind_line REGEX "${CMAKE_MATCH_3}")
		if(valgrind_line)
			list(APPEND valgrind_definitions ${CMAKE_MATCH_1}=1)
		endif()
	endif()
endforeach()

file(GLOB valgrind_tool_sources CONFIGURE_DEPENDS ${valgrind_sources}/*.c)
list(REMOVE_ITEM valgrind_tool_sources ${valgrind_sources}/preload.c)
set(valgrind_options -fno-strict-aliasing -fno-builtin -fno-stack-protector -U_FORTIFY_SOURCE)
set(valgrind_link -static -nodefaultlibs -nostartfiles -u _start
	-Wl,--build-id=none -Wl,-Ttext-segment=${valgrind_address}
	-Wl,--wrap=vgModuleLocal_read_debuginfo_dwarf3)
set(valgrind_libraries ${HEAPWISE_VALGRIND_CORE} ${valgrind_archives}/libvex-${valgrind_platform}.a -lgcc
	${valgrind_archives}/libgcc-sup-${valgrind_platform}.a)
list(TRANSFORM valgrind_definitions PREPEND -D OUTPUT_VARIABLE valgrind_defines)
heapwise_part_tries(valgrind "${valgrind_header}" ${heapwise_part_compiler} -fno-pie -no-pie -fomit-frame-pointer ${valgrind_options}
	${valgrind_defines} -I${HEAPWISE_VALGRIND_INCLUDE} ${valgrind_link} ${valgrind_tool_sources} ${valgrind_libraries})
heapwise_part(valgrind "run --access valgrind" valgrind/heapwise-${valgrind_platform} valgrind)
if(NOT valgrind_builds)
	return()
endif()

add_executable(valgrind_tool ${valgrind_tool_sources})
set_target_properties(valgrind_tool PROPERTIES OUTPUT_NAME heapwise-${valgrind_platform}
	RUNTIME_OUTPUT_DIRECTORY ${valgrind_folder} POSITION_INDEPENDENT_CODE OFF)
target_compile_definitions(valgrind_tool PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")
target_compile_options(valgrind_tool PRIVATE -O2 -fno-pie -fomit-frame-pointer)
target_link_options(valgrind_tool PRIVATE ${valgrind_link})
target_link_libraries(valgrind_tool PRIVATE ${valgrind_libraries})

# What Valgrind loads into the program: the functions that stand in for malloc and memcpy. No loop of
# theirs may be made a call of the function that it replaces.
add_library(valgrind_preload SHARED ${valgrind_sources}/preload.c)
set_target_properties(valgrind_preload PROPERTIES PREFIX ""
	OUTPUT_NAME vgpreload_heapwise-${valgrind_platform} LIBRARY_OUTPUT_DIRECTORY ${valgrind_folder})
target_compile_options(valgrind_preload PRIVATE -O2
	$<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
target_link_options(valgrind_preload PRIVATE -nodefaultlibs -Wl,-z,interpose -Wl,-z,initfirst
	-Wl,--build-id -Wl,--whole-archive
	${valgrind_archives}/libreplacemalloc_toolpreload-${valgrind_platform}.a -Wl,--no-whole-archive)

foreach(target valgrind_tool valgrind_preload)
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
	target_include_directories(${target} SYSTEM PRIVATE ${HEAPWISE_VALGRIND_INCLUDE})
	target_compile_definitions(${target} PRIVATE ${valgrind_definitions})
	target_compile_options(${target} PRIVATE ${HEAPWISE_WARNINGS} ${valgrind_options})
endforeach()

foreach(name vgpreload_core-${valgrind_platform}.so default.supp)
	configure_file(${valgrind_files}/${name} ${valgrind_folder}/${name} COPYONLY)
	list(APPEND HEAPWISE_VALGRIND_FILES ${valgrind_folder}/${name})
endforeach()
