# SPDX-License-Identifier: MIT
# One executable per file tests/unit/test_*.c, plain and with sanitizers.
file(GLOB unit_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_*.c)
if(HEAPWISE_SANITIZE MATCHES "thread") # it writes code, of which ThreadSanitizer has no shadow, or reads its own
	list(FILTER unit_sources EXCLUDE REGEX "/test_(detour|gates|sites)\\.c$")
endif()

# What runs more than one thread of ours: rings, drain, trace writer and its follower, HTTP server, query engine.
set(HEAPWISE_TSAN_TESTS "/test_(loading|monitor|trace|ring|serve|query_engine|writer)[^/]*\\.c$")

# What reads files that others wrote, and needs no room above those that read them.
set(HEAPWISE_ASAN_TESTS "/test_(access_output|base|checks|format|model(_(access|contexts|graphs|narrow))?|options|outfile|symbols_[a-z_]+|toml|trace_[a-z_]+|untag|writer)\\.c$")

# What qemu-user cannot run: it has no ptrace, no process_vm_readv and no robust mutexes, and programs that a test starts are
# not emulated. tools/test-machine runs these.
set(HEAPWISE_UNEMULATED "^(access_output|monitor_(berths|caches|contents|drain|graph|program|scan)|symbols_(index|trace))$")
# What takes longer than two seconds there; none of it depends on the CPU.
set(HEAPWISE_EMULATED_LONG "^(compare|dominators|excessive|exchange|export|findings|growth|kmeans|loading|misuse|model|model_(contexts|graphs|index.*|narrow|order)|monitor_(access|correlate|image|live)|mprof.*|owner.*|query_(engine|graph|text)|resident.*|routine_graph|serve.*|symbols_(call_types|damage|demangle|files|frame_types|lookup|modmap|prepare|types)|trace_(accesses|damage|debug_types|graphs|roundtrip|routines|symbols)|turns|types|view.*|watch_(policy|stale))$")

# heapwise_harness(NAME VARIANT ROOM...)   what tests are linked with
function(heapwise_harness name variant)
	add_library(${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/lib/test.c)
	target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
	target_compile_options(${name} PRIVATE ${HEAPWISE_C_OPTIONS})
	foreach(room IN LISTS ARGN)
		heapwise_room_target(library ${room})
		target_link_libraries(${name} PUBLIC ${library}${variant})
	endforeach()
endfunction()

# heapwise_units(VARIANT HARNESS BUILT SOURCE...)   BUILT: the target tests, or tests_long for what make test-full runs
function(heapwise_units variant harness built)
	set(suffix "")
	set(label unit)
	if(variant)
		set(suffix _${variant})
		set(label ${variant})
	endif()
	foreach(source IN LISTS ARGN)
		get_filename_component(name ${source} NAME_WE)
		set(target ${name}${suffix})
		add_executable(${target} EXCLUDE_FROM_ALL ${source})
		set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
			${CMAKE_CURRENT_BINARY_DIR}/${label})
		target_compile_options(${target} PRIVATE ${HEAPWISE_C_OPTIONS})
		# Compiled in half the time. What runs long is in the rooms, and what of the recorder is in the file stays as it is there.
		file(STRINGS ${source} recorder REGEX "^#include \"target/")
		if(NOT variant AND NOT recorder)
			target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-Og;-g1>")
		endif()
		target_compile_definitions(${target} PRIVATE
			HEAPWISE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
			HEAPWISE_BUILD_DIR="${PROJECT_BINARY_DIR}")
		target_link_libraries(${target} PRIVATE ${harness} Threads::Threads)
		if(name STREQUAL test_detour)
			set(pool_dir ${PROJECT_SOURCE_DIR}/src/target/recorder/pool/arch/${HEAPWISE_CPU})
			target_sources(${target} PRIVATE ${pool_dir}/thunk_arch.S)
			target_include_directories(${target} PRIVATE ${pool_dir})
		endif()
		if(name STREQUAL test_gates)
			file(GLOB gate_sources ${PROJECT_SOURCE_DIR}/src/target/access/pages/arch/${HEAPWISE_CPU}/gate_arch.[cS]
				${PROJECT_SOURCE_DIR}/src/target/recorder/pool/arch/${HEAPWISE_CPU}/instruction.c)
			target_sources(${target} PRIVATE ${gate_sources})
		endif()
		string(REGEX REPLACE "^test_" "" short ${name})
		if(NOT variant AND (short MATCHES ${HEAPWISE_UNEMULATED} OR short MATCHES ${HEAPWISE_EMULATED_LONG}))
			add_dependencies(${HEAPWISE_TESTS_UNEMULATED} ${target})
		else()
			add_dependencies(${built} ${target})
		endif()
		# The limits are for what hangs. Sanitizers and emulators take ten times as long, and other tests run beside them.
		set(limits)
		if(variant OR HEAPWISE_SANITIZE OR CMAKE_CROSSCOMPILING)
			set(limits --timeout 600)
		endif()
		add_test(NAME ${label}.${short} COMMAND ${target} ${limits})
		set(labels ${label})
		if(built STREQUAL "tests_long")
			list(APPEND labels full)
		endif()
		if(CMAKE_CROSSCOMPILING AND NOT short MATCHES ${HEAPWISE_UNEMULATED})
			list(APPEND labels emulated)
			if(short MATCHES ${HEAPWISE_EMULATED_LONG})
				list(APPEND labels full)
			endif()
		endif()
		set_tests_properties(${label}.${short} PROPERTIES LABELS "${labels}" TIMEOUT 1800
			SKIP_RETURN_CODE 77 ENVIRONMENT "${HEAPWISE_TEST_ENVIRONMENT}")
	endforeach()
endfunction()

heapwise_harness(harness "" ${HEAPWISE_ROOMS})
heapwise_units("" harness tests ${unit_sources})
if(HEAPWISE_TEST_VARIANTS AND NOT HEAPWISE_SANITIZE)
	foreach(variant asan tsan)
		# Compiled in half the time, and what they find is the same.
		list(APPEND HEAPWISE_FLAGS_${variant} -O1 -g1)
		foreach(room IN LISTS HEAPWISE_ROOMS)
			heapwise_room(${room} ${variant})
		endforeach()
	endforeach()
	# The rooms are what the sanitizers look at. A test that brings none of its own into its file is compiled without, in a
	# fifth of the time; threads are followed through all of it.
	foreach(source IN LISTS unit_sources)
		file(STRINGS ${source} looked_at REGEX "^#include \"target/|SANITIZE_")
		if(NOT looked_at AND NOT source MATCHES ${HEAPWISE_TSAN_TESTS})
			set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
		endif()
	endforeach()
	# Each run has what reads foreign files; all rooms take five minutes more to compile and to run.
	set(rooms ${HEAPWISE_ROOMS})
	list(FILTER rooms INCLUDE REGEX "^(format|host/.*|study/(result|model|analysis/places))$")
	heapwise_harness(harness_asan_files _asan ${rooms})
	heapwise_harness(harness_asan _asan ${HEAPWISE_ROOMS})
	set(sources ${unit_sources})
	list(FILTER sources INCLUDE REGEX ${HEAPWISE_ASAN_TESTS})
	list(FILTER sources EXCLUDE REGEX "/test_trace_damage\\.c$") # fifteen seconds more than without
	heapwise_units(asan harness_asan_files tests ${sources})
	heapwise_units(asan harness_asan_files tests_long ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_trace_damage.c)
	set(sources ${unit_sources})
	list(FILTER sources EXCLUDE REGEX ${HEAPWISE_ASAN_TESTS})
	heapwise_units(asan harness_asan tests_long ${sources})
	set(rooms ${HEAPWISE_ROOMS}) # without those that none of its tests calls
	list(FILTER rooms EXCLUDE REGEX "^(show/(cli|fleet|formats)|host/(checks|symbols/indexer))$")
	heapwise_harness(harness_tsan _tsan ${rooms})
	set(sources ${unit_sources})
	list(FILTER sources INCLUDE REGEX ${HEAPWISE_TSAN_TESTS})
	heapwise_units(tsan harness_tsan tests_long ${sources})
	# A minute together; each run has them with asan.
	set_tests_properties(unit.symbols_lookup unit.symbols_types unit.symbols_files unit.symbols_index
		PROPERTIES LABELS "unit;full")
endif()
