# SPDX-License-Identifier: MIT
set(foreign_cpu x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/foreign.cmake)
