# SPDX-License-Identifier: MIT
# The documentation: every block of the tutorial and of the guides does what it shows.
set(docs_dir ${PROJECT_SOURCE_DIR}/docs)
file(GLOB guides CONFIGURE_DEPENDS ${docs_dir}/howto/*.md)
foreach(page ${docs_dir}/TUTORIAL.md ${guides})
	get_filename_component(name ${page} NAME_WE)
	string(TOLOWER ${name} name)
	heapwise_script_test(docs.${name} ${CMAKE_CURRENT_SOURCE_DIR}/docs/blocks.py ${page})
endforeach()
heapwise_script_test(docs.blocks-can-fail ${CMAKE_CURRENT_SOURCE_DIR}/docs/can-fail.sh)
