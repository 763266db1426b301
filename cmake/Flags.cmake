# SPDX-License-Identifier: MIT
# Compiler flags that everything shares. Assertions stay on in release builds: they cost little
# outside of the recorder, which has none.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(HEAPWISE_OPTIMIZE "-O2 -g" CACHE STRING "how release builds are optimized, and their debug information")
mark_as_advanced(HEAPWISE_OPTIMIZE)
set(CMAKE_C_FLAGS_RELEASE ${HEAPWISE_OPTIMIZE})
set(CMAKE_CXX_FLAGS_RELEASE ${CMAKE_C_FLAGS_RELEASE})

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(HEAPWISE_WARNINGS
	-Wall -Wextra -Wshadow -Wpointer-arith -Wwrite-strings -Wvla
	$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
	$<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
	$<$<BOOL:${HEAPWISE_WERROR}>:-Werror>)

# -D_GNU_SOURCE with an empty value, so that a file which defines it as well is no redefinition.
set(HEAPWISE_C_OPTIONS ${HEAPWISE_WARNINGS} $<$<COMPILE_LANGUAGE:C>:-D_GNU_SOURCE=>)

# What the CPU protects the flow of control with: shadow stacks and landing marks (CET on x86_64; BTI, PAC and, where the
# compiler has it, GCS on aarch64). One object whose note does not say that it keeps to them switches them off for the whole
# program that it is linked or loaded into, so all that gets into programs is compiled so; tests/run/protection.sh. libgcc's
# functions for atomics have no note in older compilers, and are not used.
include(CheckCCompilerFlag)
set(HEAPWISE_PROTECTION "")
check_c_compiler_flag(-mno-outline-atomics HEAPWISE_OUTLINES_ATOMICS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	check_c_compiler_flag(-mbranch-protection=standard HEAPWISE_PROTECTS_BRANCHES)
	if(HEAPWISE_PROTECTS_BRANCHES)
		list(APPEND HEAPWISE_PROTECTION -mbranch-protection=standard)
	endif()
	if(HEAPWISE_OUTLINES_ATOMICS)
		list(APPEND HEAPWISE_PROTECTION -mno-outline-atomics)
	endif()
else()
	check_c_compiler_flag(-fcf-protection=full HEAPWISE_PROTECTS_CONTROL_FLOW)
	if(HEAPWISE_PROTECTS_CONTROL_FLOW)
		list(APPEND HEAPWISE_PROTECTION -fcf-protection=full)
	endif()
endif()
# The start files of Debian's C library, and on aarch64 those of gcc, have no note either. Our libraries need nothing of
# them: what runs at their beginning and end stands in arrays.
set(HEAPWISE_LIBRARY_LINK -nostartfiles)

# The flags of a sanitizer, by the name that the tests carry.
set(HEAPWISE_FLAGS_asan -fsanitize=address,undefined -fno-sanitize-recover=all
	-fno-omit-frame-pointer)
# gcc warns that fences are not modelled; rings use one, on top of orders that are.
set(HEAPWISE_FLAGS_tsan -fsanitize=thread -fno-omit-frame-pointer
	$<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
if(HEAPWISE_SANITIZE MATCHES "address")
	set(HEAPWISE_FLAGS_ ${HEAPWISE_FLAGS_asan})
	if(HEAPWISE_SANITIZE MATCHES "fuzzer")
		list(APPEND HEAPWISE_FLAGS_ -fsanitize=fuzzer-no-link)
	endif()
elseif(HEAPWISE_SANITIZE MATCHES "thread")
	set(HEAPWISE_FLAGS_ ${HEAPWISE_FLAGS_tsan})
endif()
