# SPDX-License-Identifier: MIT
# libheapwise-client.so and .a, the monitor toolkit of include/heapwise/client.h: the rooms up to watch/ in one
# piece, of which only that header's functions are seen from outside.
set(client_sources "")
foreach(room format base trace symbols monitor watch)
	file(GLOB room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
	list(APPEND client_sources ${room_sources})
endforeach()
set(client_libraries zstd dw elf iberty m Threads::Threads ${CMAKE_DL_LIBS})

add_library(client_objects OBJECT ${client_sources})
set_target_properties(client_objects PROPERTIES POSITION_INDEPENDENT_CODE ON
	C_VISIBILITY_PRESET hidden)
target_include_directories(client_objects PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(client_objects PRIVATE ${HEAPWISE_C_OPTIONS})
target_compile_definitions(client_objects PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")

add_library(client SHARED $<TARGET_OBJECTS:client_objects>)
set_target_properties(client PROPERTIES OUTPUT_NAME heapwise-client
	VERSION ${PROJECT_VERSION} SOVERSION 0 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(client PRIVATE ${client_libraries})
target_link_options(client PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now)
target_include_directories(client INTERFACE ${PROJECT_SOURCE_DIR}/include)

# The archive is one object, whose inner names cannot meet those of the tool that links it.
set(client_archive ${PROJECT_BINARY_DIR}/libheapwise-client.a)
add_custom_command(OUTPUT ${client_archive}
	COMMAND ${CMAKE_LINKER} -r -o ${PROJECT_BINARY_DIR}/heapwise-client.o $<TARGET_OBJECTS:client_objects>
	COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${PROJECT_BINARY_DIR}/heapwise-client.o
	COMMAND ${CMAKE_COMMAND} -E rm -f ${client_archive}
	COMMAND ${CMAKE_AR} rc ${client_archive} ${PROJECT_BINARY_DIR}/heapwise-client.o
	DEPENDS client_objects $<TARGET_OBJECTS:client_objects>
	COMMAND_EXPAND_LISTS)
add_custom_target(client_archive_made ALL DEPENDS ${client_archive})
add_library(client_static STATIC IMPORTED GLOBAL)
set_target_properties(client_static PROPERTIES IMPORTED_LOCATION ${client_archive})
set_property(TARGET client_static PROPERTY INTERFACE_LINK_LIBRARIES ${client_libraries})
set_property(TARGET client_static PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
add_dependencies(client_static client_archive_made)
