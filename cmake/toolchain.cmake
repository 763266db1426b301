# SPDX-License-Identifier: MIT
# For projects that use CMake: cmake -DCMAKE_TOOLCHAIN_FILE=…/share/heapwise/heapwise.cmake
# makes them with `heapwise cc` and `heapwise c++`. HEAPWISE_CC chooses the compiler behind.
get_filename_component(heapwise "${CMAKE_CURRENT_LIST_DIR}/../../bin/heapwise" ABSOLUTE)
set(CMAKE_C_COMPILER ${heapwise} cc)
set(CMAKE_CXX_COMPILER ${heapwise} c++)
