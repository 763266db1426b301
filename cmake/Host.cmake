# SPDX-License-Identifier: MIT
# build/heapwise: the command line, on top of all host rooms. It finds libheapwise.so beside itself.
if(EXISTS ${PROJECT_SOURCE_DIR}/src/show/cli/main.c)
	add_executable(heapwise src/show/cli/main.c)
	set_target_properties(heapwise PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	target_compile_options(heapwise PRIVATE ${HEAPWISE_C_OPTIONS})
	target_compile_definitions(heapwise PRIVATE HEAPWISE_VERSION="${PROJECT_VERSION}")
	target_link_libraries(heapwise PRIVATE room_show_cli)
	if(TARGET recorder)
		get_property(stubs GLOBAL PROPERTY HEAPWISE_STUB_TARGETS)
		add_dependencies(heapwise recorder recorder_access recorder_watch ${stubs})
	endif()
	if(TARGET lisp_ecl)
		add_dependencies(heapwise lisp_ecl)
	endif()
endif()

# What gcc takes for its assembler when `heapwise cc` runs it: in a folder of its own, where nothing else is found.
add_executable(gcc_as src/host/checks/main.c)
set_target_properties(gcc_as PROPERTIES OUTPUT_NAME as RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/gcc-as)
target_compile_options(gcc_as PRIVATE ${HEAPWISE_C_OPTIONS})
target_link_libraries(gcc_as PRIVATE room_host_checks)
add_dependencies(heapwise gcc_as)

# Made-up traces for tests and benchmarks; not installed.
add_executable(heapwise_synth src/dev/synth/main.c)
set_target_properties(heapwise_synth PROPERTIES OUTPUT_NAME heapwise-synth RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_options(heapwise_synth PRIVATE ${HEAPWISE_C_OPTIONS})
target_link_libraries(heapwise_synth PRIVATE room_dev_synth)

# A generator of large routine traces, for bench/routines.
add_executable(routine_storm EXCLUDE_FROM_ALL bench/routine_storm.c)
set_target_properties(routine_storm PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_options(routine_storm PRIVATE ${HEAPWISE_C_OPTIONS})
target_link_libraries(routine_storm PRIVATE room_host_trace)

# Opens a trace and says how long that took, for bench/run-query.
add_executable(index_open EXCLUDE_FROM_ALL bench/index_open.c)
set_target_properties(index_open PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_options(index_open PRIVATE ${HEAPWISE_C_OPTIONS})
target_link_libraries(index_open PRIVATE room_study_analysis_report)

# Finds the owners of a made-up heap and says how long that took.
add_executable(dominators EXCLUDE_FROM_ALL bench/dominators.c)
set_target_properties(dominators PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_options(dominators PRIVATE ${HEAPWISE_C_OPTIONS})
target_link_libraries(dominators PRIVATE room_study_analysis_emad room_study_analysis_owners)
