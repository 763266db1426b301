# SPDX-License-Identifier: MIT
# Optional parts: built where their packages are installed, and listed at the end of configuring and by `heapwise doctor`
# whether they are built or not. With CI=true, or with HEAPWISE_ALL_PARTS=1 in the environment (as `make test` has it), one
# that is not built is an error. A look that failed must not stay in the cache: find_* see to it, check_* do not.

# heapwise_part(NAME BUILT FILE PACKAGE...)   FILE: what it adds beside the program, "" if nothing
function(heapwise_part name built file)
	list(JOIN ARGN " " packages)
	if(built)
		set(built 1)
		heapwise_part_line("${name}" ON "")
	else()
		set(built 0)
		heapwise_part_line("${name}" OFF "${packages}")
		set_property(GLOBAL APPEND_STRING PROPERTY HEAPWISE_PARTS_LEFT_OUT
			"${name}: not built; install ${packages}\n")
	endif()
	set_property(GLOBAL APPEND_STRING PROPERTY HEAPWISE_PARTS_SOURCE
		"PART(\"${name}\", ${built}, \"${file}\", \"${packages}\")\n")
endfunction()

# heapwise_test_part(NAME BUILT TEST PACKAGE...)   tests that are there only with these packages. Without them TEST is
# skipped and says why, which tools/check-skips finds.
function(heapwise_test_part name built test)
	if(CMAKE_CROSSCOMPILING)
		return()
	endif()
	list(JOIN ARGN " " packages)
	if(built)
		heapwise_part_line("${name}" ON "")
	else()
		heapwise_part_line("${name}" OFF "${packages}")
		heapwise_script_test(${test} sh -c "echo skipped: needs package ${packages} && exit 77")
	endif()
endfunction()

function(heapwise_part_line name built packages)
	set_property(GLOBAL APPEND PROPERTY HEAPWISE_PARTS "${name}")
	if(built)
		set_property(GLOBAL APPEND_STRING PROPERTY HEAPWISE_PARTS_TABLE "\n  built      ${name}")
	else()
		set_property(GLOBAL APPEND_STRING PROPERTY HEAPWISE_PARTS_TABLE "\n  not built  ${name} (install ${packages})")
	endif()
endfunction()

# Lists the parts: in one line if all are built.
function(heapwise_parts_end)
	foreach(what PARTS PARTS_TABLE PARTS_LEFT_OUT PARTS_SOURCE)
		get_property(${what} GLOBAL PROPERTY HEAPWISE_${what})
	endforeach()
	file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/show/cli/parts.inc CONTENT "${PARTS_SOURCE}")
	if(PARTS_TABLE MATCHES "not built")
		message(NOTICE "Optional parts:${PARTS_TABLE}")
	elseif(PARTS)
		list(JOIN PARTS ", " names)
		message(NOTICE "Optional parts, all built: ${names}")
	endif()
	if(PARTS_LEFT_OUT AND ("$ENV{CI}" STREQUAL "true" OR "$ENV{HEAPWISE_ALL_PARTS}" STREQUAL "1"))
		message(FATAL_ERROR "${PARTS_LEFT_OUT}With CI=true or HEAPWISE_ALL_PARTS=1 every part must be built.")
	endif()
endfunction()
