# SPDX-License-Identifier: MIT
# One static library per room of src/LAYERS, linked with exactly the rooms of its line.
find_package(Threads REQUIRED)

file(STRINGS ${PROJECT_SOURCE_DIR}/src/LAYERS layer_lines REGEX "^[a-z]+:")
set(HEAPWISE_ROOMS "")
foreach(line IN LISTS layer_lines)
	string(REGEX MATCH "^([a-z]+):[ \t]*(.*)$" _ "${line}")
	set(room ${CMAKE_MATCH_1})
	separate_arguments(rooms_below UNIX_COMMAND "${CMAKE_MATCH_2}")
	set(HEAPWISE_BELOW_${room} ${rooms_below})
	if(NOT room MATCHES "^(recorder|valgrind)$")
		list(APPEND HEAPWISE_ROOMS ${room})
	endif()
endforeach()
if(NOT HEAPWISE_HOST)
	# A build for another CPU needs no foreign libraries: it stops at the rooms that need none.
	set(HEAPWISE_ROOMS format base)
endif()

# What a room needs from outside of the project.
set(HEAPWISE_EXTERNAL_base m)
set(HEAPWISE_EXTERNAL_trace zstd Threads::Threads)
set(HEAPWISE_EXTERNAL_symbols dw elf iberty)
set(HEAPWISE_EXTERNAL_analysis m)
set(HEAPWISE_EXTERNAL_monitor elf Threads::Threads)

# heapwise_room(ROOM VARIANT): the library room_ROOM, or room_ROOM_VARIANT with a sanitizer.
# A room without sources (format, or one that is not there yet) passes its headers and links on.
function(heapwise_room room variant)
	set(suffix "")
	if(variant)
		set(suffix _${variant})
	endif()
	set(target room_${room}${suffix})
	file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
	list(FILTER sources EXCLUDE REGEX "/cli/main\\.c$")
	set(scope PUBLIC)
	if(sources)
		add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources})
		target_compile_options(${target} PRIVATE ${HEAPWISE_C_OPTIONS})
		target_compile_definitions(${target} PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")
	else()
		add_library(${target} INTERFACE)
		set(scope INTERFACE)
	endif()
	target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/src
		${PROJECT_SOURCE_DIR}/include)
	target_compile_options(${target} ${scope} ${HEAPWISE_FLAGS_${variant}})
	target_link_options(${target} ${scope} ${HEAPWISE_FLAGS_${variant}})
	foreach(below IN LISTS HEAPWISE_BELOW_${room})
		target_link_libraries(${target} ${scope} room_${below}${suffix})
	endforeach()
	target_link_libraries(${target} ${scope} ${HEAPWISE_EXTERNAL_${room}})
endfunction()

foreach(room IN LISTS HEAPWISE_ROOMS)
	heapwise_room(${room} "")
endforeach()
