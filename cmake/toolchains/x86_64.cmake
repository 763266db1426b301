# SPDX-License-Identifier: MIT
# For x86_64: natively on such a machine, else with Debian's cross compiler and qemu-user.
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "x86_64")
	set(CMAKE_SYSTEM_NAME Linux)
	set(CMAKE_SYSTEM_PROCESSOR x86_64)
	set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
	set(CMAKE_CXX_COMPILER x86_64-linux-gnu-g++)
	set(CMAKE_ASM_COMPILER x86_64-linux-gnu-gcc)
	set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64 -L /usr/x86_64-linux-gnu)
	set(HEAPWISE_HOST OFF CACHE BOOL "no foreign elfutils and zstd needed" FORCE)
endif()
