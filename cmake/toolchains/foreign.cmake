# SPDX-License-Identifier: MIT
# For the CPU that `foreign_cpu` names: natively on such a machine, else with Debian's cross compiler, its packages of that CPU
# in a folder of ours, and qemu-user.
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL foreign_cpu)
	get_filename_component(foreign_tools ${CMAKE_CURRENT_LIST_DIR}/../../tools ABSOLUTE)
	set(CMAKE_SYSTEM_NAME Linux)
	set(CMAKE_SYSTEM_PROCESSOR ${foreign_cpu})
	set(CMAKE_LIBRARY_ARCHITECTURE ${foreign_cpu}-linux-gnu)
	set(CMAKE_C_COMPILER ${foreign_cpu}-linux-gnu-gcc)
	set(CMAKE_CXX_COMPILER ${foreign_cpu}-linux-gnu-g++)
	set(CMAKE_ASM_COMPILER ${foreign_cpu}-linux-gnu-gcc)

	# Its own folder, which builds share. CMake reads this file again for each of its checks, then without our variables.
	if(DEFINED ENV{HEAPWISE_FOREIGN_ROOT})
		set(foreign_root $ENV{HEAPWISE_FOREIGN_ROOT})
	else()
		set(foreign_root ${CMAKE_BINARY_DIR}/root)
		set(ENV{HEAPWISE_FOREIGN_ROOT} ${foreign_root})
	endif()
	if(NOT DEFINED ENV{HEAPWISE_FOREIGN_CHECKED})
		execute_process(COMMAND ${foreign_tools}/install-deps --print foreign
			OUTPUT_VARIABLE foreign_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
		separate_arguments(foreign_packages)
		execute_process(COMMAND ${foreign_tools}/foreign-root ${foreign_cpu} ${foreign_root} ${foreign_packages}
			COMMAND_ERROR_IS_FATAL ANY)
		set(ENV{HEAPWISE_FOREIGN_CHECKED} yes)
	endif()
	set(CMAKE_SYSROOT ${foreign_root})
	set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
	set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
	set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
	set(CMAKE_CROSSCOMPILING_EMULATOR ${foreign_tools}/emulate ${foreign_cpu} ${foreign_root})
endif()
