/* SPDX-License-Identifier: GPL-2.0-or-later
 * What all files of the Valgrind tool need: Valgrind's and our own basic types, and the few
 * functions of Valgrind's core that its tool headers leave out although its archives have them.
 * Runs in the target, below Valgrind: no libc. Valgrind lets one thread run at a time, so nothing
 * is locked. */
#ifndef TARGET_VALGRIND_TOOL_H
#define TARGET_VALGRIND_TOOL_H

#include <pub_tool_basics.h>
#include <pub_tool_vki.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>

#include "format/atomics.h"
#include "format/session.h"

/* Maps a file for the tool, shared; the program does not see the mapping. */
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT bytes, UInt protection, Int fd,
						      Off64T offset);
extern SysRes VG_(do_syscall)(UWord number, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
			      RegWord, RegWord);
/* A function's name as the linker knows it. */
extern Bool VG_(get_fnname_raw)(DiEpoch epoch, Addr code, const HChar **name);
/* The program's file, and the path of a file descriptor. */
extern Int VG_(cl_exec_fd);
extern Bool VG_(resolve_filename)(Int fd, const HChar **path);
/* Whether what the process executes runs below Valgrind, too. */
extern Bool VG_(clo_trace_children);

#endif
