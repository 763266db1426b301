# SPDX-License-Identifier: MIT
# What `make test` also runs in a root of the next Debian (tools/test-distro): a few tests of each thing that has to do with the C
# library, the compiler, Valgrind or the loader. The target tests_distro builds what they need; the label `distro` chooses them.
set(distro_units detour gates monitor_caches monitor_scan trace_damage trace_roundtrip)
set(distro_targets bins family newdelete lifecycle children leaks leaks_cpp thread_caches touches watched)
set(distro_tests cli.commands run.events-malloc-family run.events-new-delete run.events-before-and-after-main
	run.example-and-install run.access-known-answers-gcc run.access-functions-gcc run.access-known-answers-${newest_clang}
	run.access-valgrind-known run.leaks-lists run.leaks-threads run.leaks-cpp-containers run.children-fork
	run.resident-caches run.resident-bins run.watch-known run.allocators-musl run.linked-c-static run.lisp-interpreted-1 run.lisp-compiled-1)

add_custom_target(tests_distro)
if(TARGET heapwise)
	add_dependencies(tests_distro heapwise)
endif()
foreach(unit IN LISTS distro_units)
	add_dependencies(tests_distro test_${unit})
	list(APPEND distro_tests unit.${unit})
endforeach()
foreach(target IN LISTS distro_targets)
	add_dependencies(tests_distro target_${target})
endforeach()
foreach(test IN LISTS distro_tests)
	get_test_property(${test} LABELS labels)
	if(NOT labels)
		message(FATAL_ERROR "tests/Distro.cmake: there is no test ${test}")
	endif()
	set_tests_properties(${test} PROPERTIES LABELS "${labels};distro")
endforeach()

# Not in such a root itself.
if(NOT HEAPWISE_SANITIZE AND NOT "$ENV{HEAPWISE_DISTRO}" MATCHES ".")
	set(HEAPWISE_TIMEOUT 3600)
	heapwise_script_test(distro.trixie ${PROJECT_SOURCE_DIR}/tools/test-distro trixie)
	set_tests_properties(distro.trixie PROPERTIES PROCESSORS 2 COST 900)
	unset(HEAPWISE_TIMEOUT)
endif()
