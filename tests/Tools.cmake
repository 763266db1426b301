# SPDX-License-Identifier: MIT
# The checks of tools/, and for each that it fails on a planted violation. Those of the recorder are for
# each CPU.
set(tools_dir ${PROJECT_SOURCE_DIR}/tools)
if(TARGET recorder)
	add_dependencies(tests recorder)
	heapwise_script_test(tools.imports ${tools_dir}/check-imports $<TARGET_FILE:recorder>)
	add_dependencies(tests recorder_access)
	heapwise_script_test(tools.imports-access ${tools_dir}/check-imports $<TARGET_FILE:recorder_access>)
	add_dependencies(tests recorder_watch)
	heapwise_script_test(tools.imports-watch ${tools_dir}/check-imports $<TARGET_FILE:recorder_watch>)
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		heapwise_script_test(tools.stack-watch ${tools_dir}/check-stack
			${PROJECT_BINARY_DIR}/CMakeFiles/recorder_watch.dir)
		heapwise_script_test(tools.stack ${tools_dir}/check-stack
			${PROJECT_BINARY_DIR}/CMakeFiles/recorder.dir)
		heapwise_script_test(tools.stack-access ${tools_dir}/check-stack
			${PROJECT_BINARY_DIR}/CMakeFiles/recorder_access.dir)
		add_dependencies(tests recorder_linked)
		heapwise_script_test(tools.stack-linked ${tools_dir}/check-stack
			${PROJECT_BINARY_DIR}/CMakeFiles/linked_others.dir)
	endif()
endif()
if(NOT CMAKE_CROSSCOMPILING)
	heapwise_script_test(tools.layers ${tools_dir}/check-layers)
	heapwise_script_test(tools.words ${tools_dir}/check-words)
	heapwise_script_test(tools.style ${tools_dir}/check-style)
	# What the product is linked from, without the tests.
	set(product heapwise heapwise_synth gcc_as recorder recorder_access recorder_watch linked_others linked_operators lisp_ecl
		valgrind_tool valgrind_preload)
	foreach(room IN LISTS HEAPWISE_ROOMS)
		heapwise_room_target(target ${room})
		list(APPEND product ${target})
	endforeach()
	set(objects "")
	foreach(target IN LISTS product)
		if(NOT TARGET ${target}) # of a part that is left out
			continue()
		endif()
		get_target_property(kind ${target} TYPE)
		if(NOT kind STREQUAL "INTERFACE_LIBRARY")
			list(APPEND objects $<TARGET_OBJECTS:${target}>)
			add_dependencies(tests ${target})
		endif()
	endforeach()
	file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/product-objects CONTENT "$<JOIN:${objects},\n>\n")
	heapwise_script_test(tools.dead ${tools_dir}/check-dead ${PROJECT_BINARY_DIR}/product-objects)
	foreach(bench sample watch)
		heapwise_script_test(tools.bench-help-${bench} ${CMAKE_CURRENT_SOURCE_DIR}/run/bench-help.sh run-${bench})
	endforeach()
	foreach(check layers circles dead style words imports stack skips tarball)
		heapwise_script_test(tools.${check}-can-fail
			${CMAKE_CURRENT_SOURCE_DIR}/run/tools.sh ${check})
	endforeach()
	heapwise_script_test(tools.packages ${CMAKE_CURRENT_SOURCE_DIR}/run/tools.sh packages)
	heapwise_script_test(tools.parts ${CMAKE_CURRENT_SOURCE_DIR}/run/tools.sh parts)
	heapwise_script_test(tools.without ${CMAKE_CURRENT_SOURCE_DIR}/run/tools.sh without)
	set(HEAPWISE_LABEL full)
	heapwise_script_test(tools.without-built ${CMAKE_CURRENT_SOURCE_DIR}/run/tools.sh without-built)
	unset(HEAPWISE_LABEL)
	heapwise_script_test(tools.harness-can-fail ${CMAKE_CURRENT_SOURCE_DIR}/run/harness.sh
		${CMAKE_C_COMPILER})
endif()
