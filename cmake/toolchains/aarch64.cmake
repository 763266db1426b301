# SPDX-License-Identifier: MIT
# For aarch64: natively on such a machine, else with Debian's cross compiler and qemu-user.
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64")
	set(CMAKE_SYSTEM_NAME Linux)
	set(CMAKE_SYSTEM_PROCESSOR aarch64)
	set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
	set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
	set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
	set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
	set(HEAPWISE_HOST OFF CACHE BOOL "no foreign elfutils and zstd needed" FORCE)
endif()
