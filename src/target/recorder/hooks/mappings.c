/* SPDX-License-Identifier: MIT
 * mmap, munmap and mremap, recorded with --mmap. Runs in the target. The kernel is called directly,
 * as the C library would do. */
#include <errno.h>
#include <stdarg.h>

#include "target/recorder/hooks/call.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

#undef mmap64            /* a macro in musl */
#ifndef MREMAP_DONTUNMAP /* glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

static void *mapped(long result)
{
	if (!hwr_sys_failed((void *)result))
		return (void *)result;
	errno = (int)-result;
	return MAP_FAILED;
}

static bool wanted(void)
{
	return load_relaxed(&hwr_token.on) && (hwr_control->flags & HW_RUN_MMAP);
}

static void note_mapping(struct hwr_caller caller, u32 kind, void *address, size_t bytes)
{
	struct hwr_call call = {.caller = caller};

	hwr_call_begin(&call);
	hwr_call_other(&call, kind, (u64)address, bytes);
}

static void *map_for(struct hwr_caller caller, const long arguments[6])
{
	void *p = mapped(hwr_syscall6(SYS_mmap, arguments[0], arguments[1], arguments[2],
				      arguments[3], arguments[4], arguments[5]));

	if (unlikely(wanted()) && p != MAP_FAILED)
		note_mapping(caller, HW_MMAP, p, (size_t)arguments[1]);
	return p;
}

HWR_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	const long arguments[6] = {(long)address, (long)bytes, protection, flags, fd, offset};

	return map_for(HWR_CALLER(), arguments);
}

HWR_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
			off_t offset) __attribute__((alias("mmap")));

HWR_EXPORT int munmap(void *address, size_t bytes)
{
	long result;

	if (unlikely(wanted()))
		note_mapping(HWR_CALLER(), HW_MUNMAP, address, bytes);
	result = hwr_syscall3(SYS_munmap, (long)address, (long)bytes, 0);
	if (result == 0)
		return 0;
	errno = (int)-result;
	return -1;
}

HWR_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	struct hwr_caller caller = HWR_CALLER();
	void *target = NULL;
	void *p;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list rest;

		va_start(rest, flags);
		target = va_arg(rest, void *);
		va_end(rest);
	}
	/* pages take their protection along, to where nobody would open them */
	hwr_access_keep(old);
	p = mapped(hwr_syscall6(SYS_mremap, (long)old, (long)old_bytes, (long)bytes, flags,
				(long)target, 0));
	if (unlikely(wanted()) && p != MAP_FAILED) {
		if (!(flags & MREMAP_DONTUNMAP))
			note_mapping(caller, HW_MUNMAP, old, old_bytes);
		note_mapping(caller, HW_MMAP, p, bytes);
	}
	return p;
}
