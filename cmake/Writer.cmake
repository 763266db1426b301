# SPDX-License-Identifier: MIT
# libheapwise-writer.so and .a of include/heapwise/writer.h: the rooms below writer/ in one piece, of which only that
# header's functions are seen from outside. As in Client.cmake the archive is one object.
set(writer_sources "")
foreach(room base trace writer)
	file(GLOB room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
	list(APPEND writer_sources ${room_sources})
endforeach()
set(writer_libraries zstd m Threads::Threads)

add_library(writer_objects OBJECT ${writer_sources})
set_target_properties(writer_objects PROPERTIES POSITION_INDEPENDENT_CODE ON
	C_VISIBILITY_PRESET hidden)
target_include_directories(writer_objects PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(writer_objects PRIVATE ${HEAPWISE_C_OPTIONS})
target_compile_definitions(writer_objects PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")

add_library(writer SHARED $<TARGET_OBJECTS:writer_objects>)
set_target_properties(writer PROPERTIES OUTPUT_NAME heapwise-writer
	VERSION ${PROJECT_VERSION} SOVERSION 0 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(writer PRIVATE ${writer_libraries})
target_link_options(writer PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now)
target_include_directories(writer INTERFACE ${PROJECT_SOURCE_DIR}/include)

set(writer_archive ${PROJECT_BINARY_DIR}/libheapwise-writer.a)
add_custom_command(OUTPUT ${writer_archive}
	COMMAND ${CMAKE_LINKER} -r -o ${PROJECT_BINARY_DIR}/heapwise-writer.o $<TARGET_OBJECTS:writer_objects>
	COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${PROJECT_BINARY_DIR}/heapwise-writer.o
	COMMAND ${CMAKE_COMMAND} -E rm -f ${writer_archive}
	COMMAND ${CMAKE_AR} rc ${writer_archive} ${PROJECT_BINARY_DIR}/heapwise-writer.o
	DEPENDS writer_objects $<TARGET_OBJECTS:writer_objects>
	COMMAND_EXPAND_LISTS)
add_custom_target(writer_archive_made ALL DEPENDS ${writer_archive})
