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
