/* SPDX-License-Identifier: MIT
 * Page monitoring by userfaultfd instead of mprotect, where the user asks for it and may. Runs in
 * the target.
 *
 * Armed memory is write-protected: who writes there, be it the kernel for a system call, waits
 * until the fault thread (bare, as the helper is) has opened the unit. Reads go on and are not
 * noticed. No mapping is split, no signal is sent, a system call never fails, and a forked child
 * has ordinary memory. The fault thread and the helper have a table of descriptors of their own,
 * with this one in it: programs close what they do not know. Whoever else opens a unit writes to it
 * and so has the fault thread do it. */
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <sched.h>

#include "format/ticks.h"
#include "target/access/arch/arch.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/access/pages/userfault.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
	STACK_BYTES = HWR_HELPER_STACK,
	PROBES = 16,
	TRIES = 1000000, /* to wait for a thread that begins */
	THREAD = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
	OPEN_FLAGS = 02000002 /* O_RDWR | O_CLOEXEC */,
	CLOSE_ON_EXEC = 02000000,
};

static bool on;
static int fd = -1; /* in the table of the fault thread and the helper */
static u8 *fault_stack;
static u8 *probe;
enum { NOT_YET, BEGUN, FAILED };
static u32 phase; /* of the fault thread */

bool hwr_userfault_on(void) { return load_relaxed(&on); }

static long ask(u64 request, void *what)
{
	return hwr_syscall3(SYS_ioctl, fd, (long)request, (long)what);
}

static long write_protect(u64 start, u64 bytes, bool armed)
{
	struct uffdio_writeprotect what = {.range = {start, bytes},
					   .mode = armed ? UFFDIO_WRITEPROTECT_MODE_WP : 0};
	long result;

	do
		result = ask(UFFDIO_WRITEPROTECT, &what);
	while (result == -11 /* EAGAIN: mappings are changing */);
	return result;
}

/* Bare threads have the thread-local storage of whoever started them, and a sandbox may forbid to
 * ask for a number. */
static bool runs_on(const u8 *stack)
{
	return (u64)__builtin_frame_address(0) - (u64)stack < STACK_BYTES;
}

long hwr_userfault_protect(u64 start, u64 bytes, bool armed)
{
	if (!load_relaxed(&hwr_token.alive)) /* a forked child's memory is not protected */
		return 0;
	if (runs_on(load_relaxed(&fault_stack)) || runs_on(load_relaxed(&hwr_helper_stack)))
		return write_protect(start, bytes, armed);
	or_relaxed((u8 *)start, 0);
	return 0;
}

/* ---- the fault thread ------------------------------------------------------------------------ */

/* Release: pairs with the monitor's acquire of the head. It waits while the monitor lives and is
 * behind. */
static void note(u64 address)
{
	struct hw_pages *pages = &hwr_control->pages;
	struct hw_write *writes =
		(struct hw_write *)((u8 *)hwr_control + hwr_control->writes_offset);
	u64 head = pages->writes_head;

	while (head - load_acquire(&pages->writes_tail) >= HW_WRITES && hwr_helper_monitor_lives())
		hwr_yield();
	writes[head % HW_WRITES] = (struct hw_write){address, hw_ticks()};
	store_release(&pages->writes_head, head + 1);
}

/* Whoever waits goes on in any case. */
static void serve(u64 address)
{
	u64 bytes = HWR_PAGE, start = address & ~(HWR_PAGE - 1);
	struct hwr_unit *unit;

	if (!hwr_heap_has(address)) {
		write_protect(start, bytes, false);
		return;
	}
	start = hwr_unit_start(address, &bytes);
	unit = hwr_unit_at(start);
	while ((load_acquire(&unit->word) & HWR_UNIT_STATE) == HWR_UNIT_ARMING)
		hwr_yield(); /* the helper waits for nobody meanwhile */
	/* who opens it waits here for an answer, and never the other way round */
	if (!hwr_unit_try_open(address)) {
		write_protect(start, bytes, false);
		return;
	}
	add_relaxed(&hwr_control->pages.hits, 1);
	note(address);
	hwr_pages_spent(hw_ticks()); /* the time is in what a fault costs */
}

static bool begin(void)
{
	if ((fd && hwr_syscall3(SYS_close_range, 0, fd - 1, 0) != 0) ||
	    hwr_syscall3(SYS_close_range, fd + 1, ~0u, 0) != 0)
		return false;
	return write_protect((u64)probe, PROBES * HWR_PAGE, true) == 0 && hwr_helper_start();
}

static void run(void)
{
	struct uffd_msg message;

	if (begin()) {
		store_release(&phase, BEGUN);
		while (hwr_syscall3(SYS_read, fd, (long)&message, sizeof(message)) ==
		       sizeof(message))
			if (message.event == UFFD_EVENT_PAGEFAULT)
				serve(message.arg.pagefault.address);
	}
	store_release(&phase, FAILED);
	for (;;)
		hwr_syscall3(SYS_exit, 0, 0, 0);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int descriptor(void)
{
	int device, made = (int)hwr_syscall3(SYS_userfaultfd, CLOSE_ON_EXEC, 0, 0);

	if (made >= 0)
		return made;
	device = hwr_open("/dev/userfaultfd", OPEN_FLAGS);
	if (device < 0)
		return -1;
	made = (int)hwr_syscall3(SYS_ioctl, device, HWR_USERFAULT_NEW, CLOSE_ON_EXEC);
	hwr_close(device);
	return made;
}

static bool cover(u64 start, u64 bytes)
{
	struct uffdio_register what = {.range = {start, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};

	return ask(UFFDIO_REGISTER, &what) == 0;
}

static bool prepare(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};

	probe = hwr_map_private(PROBES * HWR_PAGE);
	if (!probe || ask(UFFDIO_API, &api) != 0 || !cover(HW_HEAP_START, HWR_HEAP_BYTES) ||
	    !cover((u64)probe, PROBES * HWR_PAGE))
		return false;
	for (u32 i = 0; i < PROBES; i++)
		probe[i * HWR_PAGE] = 1;
	return true;
}

/* The least that somebody has waited for the fault thread. */
static u64 measure(void)
{
	u64 least = UINT64_MAX;

	for (u32 i = 0; i < PROBES; i++) {
		u64 start = hwr_monotonic_ns(), ns;

		store_relaxed(&probe[i * HWR_PAGE], 2);
		ns = hwr_monotonic_ns() - start;
		least = ns < least ? ns : least;
	}
	return least;
}

bool hwr_userfault_start(void)
{
	u8 *stack = hwr_map_private(STACK_BYTES);
	u64 all = ~0ull, before = 0;
	long tid = -1;

	store_relaxed(&on, false);
	store_relaxed(&phase, NOT_YET);
	fd = descriptor();
	if (fd < 0 || !stack)
		return false;
	if (prepare()) {
		store_relaxed(&fault_stack, stack);
		store_release(&on, true);
		hwr_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
		tid = hwr_helper_clone(THREAD, stack + STACK_BYTES, run, NULL);
		hwr_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
	}
	for (u32 i = 0; tid > 0 && load_acquire(&phase) == NOT_YET && i < TRIES; i++)
		hwr_yield();
	hwr_close(fd); /* the fault thread has another */
	if (tid <= 0 || load_acquire(&phase) != BEGUN) {
		store_relaxed(&on, false);
		return false;
	}
	hwr_control->pages.fault_ns = measure();
	return true;
}
