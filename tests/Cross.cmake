# SPDX-License-Identifier: MIT
# The same tree for the other CPU, all of it, in a folder of its own; what qemu-user can run is one test here.
include(ExternalProject)
set(cross_cpu aarch64)
if(HEAPWISE_CPU STREQUAL "aarch64")
	set(cross_cpu x86_64)
endif()
find_program(HEAPWISE_CROSS_CC ${cross_cpu}-linux-gnu-gcc)
find_program(HEAPWISE_CROSS_CXX ${cross_cpu}-linux-gnu-g++)
find_program(HEAPWISE_CROSS_QEMU qemu-${cross_cpu})
mark_as_advanced(HEAPWISE_CROSS_CC HEAPWISE_CROSS_CXX HEAPWISE_CROSS_QEMU)

set(cross_found OFF)
if(HEAPWISE_CROSS_CC AND HEAPWISE_CROSS_CXX AND HEAPWISE_CROSS_QEMU)
	set(cross_found ON)
endif()
string(REPLACE _ - cross_package ${cross_cpu}-linux-gnu)
heapwise_test_part("tests for ${cross_cpu}" ${cross_found} cross.${cross_cpu}
	gcc-${cross_package} g++-${cross_package} qemu-user)

if(POLICY CMP0114) # the long ones come after what they need
	cmake_policy(SET CMP0114 NEW)
endif()
if(cross_found)
	set(cross_dir ${PROJECT_BINARY_DIR}/${cross_cpu})
	set(cross_root ${cross_dir}/root)
	# In `make test` its packages come while the rest is compiled; whoever configures it waits for them, and says what went wrong.
	if("$ENV{HEAPWISE_ALL_PARTS}" MATCHES "." AND NOT EXISTS ${cross_root}/.apt/unpacked)
		file(MAKE_DIRECTORY ${cross_dir})
		execute_process(COMMAND sh -c "\"$0/foreign-root\" ${cross_cpu} root $(\"$0/install-deps\" --print foreign) >foreign-root.log 2>&1 </dev/null &"
			${PROJECT_SOURCE_DIR}/tools WORKING_DIRECTORY ${cross_dir})
	endif()
	ExternalProject_Add(cross EXCLUDE_FROM_ALL ON
		PREFIX ${cross_dir}/stamps
		SOURCE_DIR ${PROJECT_SOURCE_DIR}
		BINARY_DIR ${cross_dir}
		CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DHEAPWISE_TEST_VARIANTS=OFF
			-DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/toolchains/${cross_cpu}.cmake
			-DHEAPWISE_WERROR=ON
			# Compiled in a third of the time. The recorder and the programs of the tests have flags of their own.
			"-DHEAPWISE_OPTIMIZE=-O0 -g1"
		BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target all tests
		BUILD_ALWAYS ON
		INSTALL_COMMAND "")
	ExternalProject_Add_Step(cross long DEPENDEES build EXCLUDE_FROM_MAIN ON ALWAYS ON
		COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target tests_long)
	ExternalProject_Add_StepTargets(cross long)
	add_dependencies(tests cross)
	add_dependencies(tests_long cross-long)
	# cross.CPU, and with the long ones of make test-full cross.CPU-long. What is skipped there is listed here.
	function(heapwise_cross_test name)
		add_test(NAME ${name} COMMAND sh -c
			"mkdir -p Testing/Temporary && check=$1 && shift && \"$@\" -O Testing/Temporary/printed.log && \"$check\" ." sh
			${PROJECT_SOURCE_DIR}/tools/check-skips
			${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error -j2 -L emulated ${ARGN}
			WORKING_DIRECTORY ${cross_dir})
		set_tests_properties(${name} PROPERTIES TIMEOUT 3600 PROCESSORS 2 COST 1000 RESOURCE_LOCK cross)
	endfunction()
	heapwise_cross_test(cross.${cross_cpu} -LE full)
	heapwise_cross_test(cross.${cross_cpu}-long -L full)
	set_tests_properties(cross.${cross_cpu} PROPERTIES LABELS cross)
	set_tests_properties(cross.${cross_cpu}-long PROPERTIES LABELS "cross;full")
endif()
