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

if(cross_found)
	set(cross_dir ${PROJECT_BINARY_DIR}/${cross_cpu})
	ExternalProject_Add(cross EXCLUDE_FROM_ALL ON
		PREFIX ${cross_dir}/stamps
		SOURCE_DIR ${PROJECT_SOURCE_DIR}
		BINARY_DIR ${cross_dir}
		CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DHEAPWISE_TEST_VARIANTS=OFF
			-DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/toolchains/${cross_cpu}.cmake
			-DHEAPWISE_WERROR=ON
		BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target all tests
		BUILD_ALWAYS ON
		INSTALL_COMMAND "")
	add_dependencies(tests cross)
	# What is skipped there is listed here.
	add_test(NAME cross.${cross_cpu} COMMAND sh -c
		"mkdir -p Testing/Temporary && \"$1\" --output-on-failure --no-tests=error -j2 -L emulated -LE full -O Testing/Temporary/printed.log && \"$2\" ." sh
		${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR}/tools/check-skips WORKING_DIRECTORY ${cross_dir})
endif()
set_tests_properties(cross.${cross_cpu} PROPERTIES TIMEOUT 1800 LABELS cross
	PROCESSORS 2 COST 1000)
