# SPDX-License-Identifier: MIT
# heapwise_library(NAME ROOMS ROOM... LIBRARIES LIBRARY...): libheapwise-NAME.so and .a, some rooms in one piece, of
# which only the functions of include/heapwise/NAME.h are seen from outside. Targets NAME and NAME_static; NAME_archive
# is the archive's path. The archive is one object, whose inner names cannot meet those of the program that links it.
function(heapwise_library name)
	cmake_parse_arguments(library "" "" "ROOMS;LIBRARIES" ${ARGN})
	set(objects "")
	foreach(room IN LISTS library_ROOMS)
		heapwise_room_target(target ${room})
		get_target_property(kind ${target} TYPE)
		if(kind STREQUAL "STATIC_LIBRARY")
			list(APPEND objects $<TARGET_OBJECTS:${target}>)
		endif()
	endforeach()

	add_library(${name} SHARED ${objects})
	set_target_properties(${name} PROPERTIES OUTPUT_NAME heapwise-${name}
		VERSION ${PROJECT_VERSION} SOVERSION 0 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	target_link_libraries(${name} PRIVATE ${library_LIBRARIES})
	target_link_options(${name} PRIVATE -Wl,-z,relro -Wl,-z,now)
	if(HEAPWISE_SANITIZE) # the sanitizer's functions are in the program
		target_link_options(${name} PUBLIC ${HEAPWISE_FLAGS_})
	else()
		target_link_options(${name} PRIVATE ${HEAPWISE_LIBRARY_LINK} -Wl,--no-undefined)
	endif()
	target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/include)

	set(archive ${PROJECT_BINARY_DIR}/libheapwise-${name}.a)
	set(object ${PROJECT_BINARY_DIR}/heapwise-${name}.o)
	add_custom_command(OUTPUT ${archive}
		COMMAND ${CMAKE_LINKER} -r -o ${object} ${objects}
		COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
		COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
		COMMAND ${CMAKE_AR} rc ${archive} ${object}
		DEPENDS ${objects}
		COMMAND_EXPAND_LISTS)
	add_custom_target(${name}_archive_made ALL DEPENDS ${archive})
	add_library(${name}_static STATIC IMPORTED GLOBAL)
	set_target_properties(${name}_static PROPERTIES IMPORTED_LOCATION ${archive})
	set_property(TARGET ${name}_static PROPERTY INTERFACE_LINK_LIBRARIES ${library_LIBRARIES})
	set_property(TARGET ${name}_static PROPERTY INTERFACE_LINK_OPTIONS ${HEAPWISE_FLAGS_})
	set_property(TARGET ${name}_static PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
	add_dependencies(${name}_static ${name}_archive_made)
	set(${name}_archive ${archive} PARENT_SCOPE)
endfunction()

# The monitor toolkit: the rooms up to watch/.
set(live_rooms ${HEAPWISE_ROOMS})
list(FILTER live_rooms INCLUDE REGEX "^live/")
heapwise_library(client ROOMS host/base host/trace host/symbols host/symbols/types host/symbols/resolve ${live_rooms}
	LIBRARIES zstd dw elf iberty m Threads::Threads ${CMAKE_DL_LIBS})
# The writer of traces, for interpreters and managed runtimes.
heapwise_library(writer ROOMS host/base host/trace host/writer LIBRARIES zstd m Threads::Threads ${CMAKE_DL_LIBS})
