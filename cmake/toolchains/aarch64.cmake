# SPDX-License-Identifier: MIT
set(foreign_cpu aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/foreign.cmake)
