/* SPDX-License-Identifier: GPL-2.0-or-later
 * A Valgrind tool that records a program's heap and every access to it for Heapwise. `heapwise run
 * --access valgrind` starts it; it finds the monitor by the environment, as the recorder does, and
 * writes what the recorder would, and the accesses to each block before the block ends. */
#include "target/valgrind/tool.h"

#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_options.h>
#include <pub_tool_replacemalloc.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>
#include <pub_tool_vkiscnums.h>

#include "target/valgrind/access.h"
#include "target/valgrind/heap.h"
#include "target/valgrind/instrument.h"
#include "target/valgrind/modules.h"
#include "target/valgrind/pool.h"
#include "target/valgrind/ring.h"
#include "target/valgrind/routine.h"
#include "target/valgrind/session.h"
#include "target/valgrind/state.h"

static Bool option_coverage;

/* ---- threads and time ---- */

static void thread_created(ThreadId parent, ThreadId child)
{
	(void)parent;
	hwv_thread_started(child);
	hwv_routines_reset(child);
	hwv_pools_reset(child);
}

static void thread_runs(ThreadId tid, ULong blocks)
{
	(void)blocks;
	hwv_running = hwv_thread_number(tid);
	hwv_clock_limit = 0; /* time has passed: the next access reads the clock */
}

static void forked_child(ThreadId tid)
{
	(void)tid;
	hwv_session_forked();
}

/* ---- system calls ---- */

static Bool is_exec(UInt number)
{
#ifdef __NR_execveat
	if (number == __NR_execveat)
		return True;
#endif
	return number == __NR_execve;
}

static void before_system_call(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
	(void)arguments;
	(void)count;
	hwv_running = hwv_thread_number(tid);
	hwv_clock_limit = 0;
	if (!is_exec(number))
		return;
	hwv_heap_tell_accesses(tid);
	hwv_count_exec(1);
}

/* An exec that comes back has failed. */
static void after_system_call(ThreadId tid, UInt number, UWord *arguments, UInt count,
			      SysRes result)
{
	(void)tid;
	(void)arguments;
	(void)count;
	(void)result;
	if (is_exec(number))
		hwv_count_exec(-1);
}

/* ---- lines ---- */

/* Valgrind would read the numbers of all lines of all modules before it begins, which takes longer
 * than all else at the start. The linker puts this in the place of that (cmake/Valgrind.cmake):
 * heapwise finds lines itself. */
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void) {}

/* ---- beginning and end ---- */

static Bool read_option(const HChar *argument)
{
	if VG_BOOL_CLO (argument, "--coverage", option_coverage) {
	} else {
		return VG_(replacement_malloc_process_cmd_line_option)(argument);
	}
	return True;
}

static void print_usage(void)
{
	VG_(printf)("    --coverage=no|yes         record which bytes are accessed [no]\n");
}

static void print_debug_usage(void) { VG_(printf)("    (none)\n"); }

static void begin(void)
{
	hwv_blocks_init(option_coverage);
	hwv_access_init();
	hwv_session_join();
}

static void end(Int status)
{
	(void)status;
	hwv_heap_tell_accesses(VG_(get_running_tid)());
	if (hwv_control)
		hwv_bell();
}

static void start(void)
{
	VG_(details_name)("heapwise");
	VG_(details_version)(HEAPWISE_VERSION);
	VG_(details_description)("records the heap and all accesses to it");
	VG_(details_copyright_author)("GNU GPL version 2 or later, by the authors of Heapwise.");
	VG_(details_bug_reports_to)("the authors of Heapwise");
	VG_(basic_tool_funcs)(begin, hwv_instrument, end);
	VG_(needs_command_line_options)(read_option, print_usage, print_debug_usage);
	VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
	VG_(track_pre_thread_ll_create)(thread_created);
	VG_(track_start_client_code)(thread_runs);
	VG_(track_die_mem_munmap)(hwv_modules_unmapped);
	VG_(atfork)(NULL, NULL, forked_child);
	hwv_heap_init();
	hwv_sites_init();
}

VG_DETERMINE_INTERFACE_VERSION(start)
