/* SPDX-License-Identifier: GPL-2.0-or-later
 * Joins the monitor's session; see session.h. As in the recorder, files are opened, mapped and
 * closed at once, and whatever fails leaves the program alone. */
#include "target/valgrind/session.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_threadstate.h>

#include "format/moment.h"
#include "target/valgrind/modules.h"
#include "target/valgrind/ring.h"
#include "target/valgrind/state.h"
#include "target/valgrind/tree.h"

enum {
	PATH_BYTES = 300,
	BERTH_TRIES = 20,
	BERTH_WAIT_NS = 100 * 1000 * 1000,
	DEPTH_MAX = 1024,
	OWNER_DIED = 0x40000000, /* in the first word of the monitor's lock */
};

struct hw_lobby *hwv_lobby;
struct hw_control *hwv_control;
struct hw_node *hwv_nodes;
u8 *hwv_module_log;
u32 hwv_recording;

static Bool forked;     /* and not asked yet whether to record */
static Bool unrecorded; /* a process of the session that is not recorded */

u64 hwv_monotonic_ns(void)
{
	struct vki_timespec now;

	VG_(clock_gettime)(&now, VKI_CLOCK_MONOTONIC);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

void hwv_fault(enum hw_fault fault)
{
	if (hwv_control)
		add_relaxed(&hwv_control->faults[fault], 1);
}

/* ---- files ---- */

/* The whole of it is there, or nothing is mapped: beyond its end a file is SIGBUS. */
static void *map_file(const HChar *path, SizeT bytes)
{
	SysRes opened = VG_(open)(path, VKI_O_RDWR, 0);
	void *found = NULL;
	SysRes mapped;

	if (sr_isError(opened))
		return NULL;
	if (VG_(lseek)((Int)sr_Res(opened), 0, VKI_SEEK_END) >= (Off64T)bytes) {
		mapped = VG_(am_shared_mmap_file_float_valgrind)(bytes,
								 VKI_PROT_READ | VKI_PROT_WRITE,
								 (Int)sr_Res(opened), 0);
		found = sr_isError(mapped) ? NULL : (void *)sr_Res(mapped);
	}
	VG_(close)((Int)sr_Res(opened));
	return found;
}

static void unmap(void *p, SizeT bytes) { VG_(am_munmap_valgrind)((Addr)p, VG_PGROUNDUP(bytes)); }

static struct hw_lobby *lobby_open(void)
{
	const HChar *path = VG_(getenv)(HW_SESSION_ENV);
	struct hw_lobby *lobby = path ? map_file(path, sizeof(*lobby)) : NULL;

	if (lobby && (lobby->magic != HW_LOBBY_MAGIC || lobby->version != HW_SESSION_VERSION)) {
		unmap(lobby, sizeof(*lobby));
		return NULL;
	}
	return lobby;
}

/* The berths lie beside the lobby. */
static struct hw_control *berth_open(u32 number)
{
	const HChar *lobby = VG_(getenv)(HW_SESSION_ENV);
	const HChar *slash = VG_(strrchr)(lobby, '/');
	HChar path[PATH_BYTES];
	struct hw_control *control;
	u64 bytes = 0;
	u32 slots;

	if (!slash || slash - lobby > PATH_BYTES - 16)
		return NULL;
	VG_(memcpy)(path, lobby, (SizeT)(slash - lobby));
	VG_(sprintf)(path + (slash - lobby), "/%u", number);
	control = map_file(path, sizeof(*control));
	if (!control)
		return NULL;
	slots = control->slots_max < VG_N_THREADS ? control->slots_max : VG_N_THREADS;
	if (control->magic == HW_BERTH_MAGIC && control->version == HW_SESSION_VERSION)
		bytes = control->rings_offset + slots * control->ring_stride;
	unmap(control, sizeof(*control));
	control = bytes ? map_file(path, bytes) : NULL;
	if (control)
		control->slots_mapped = slots;
	return control;
}

/* ---- joining ---- */

static Bool monitor_lives(void)
{
	return !(load_relaxed(&hwv_lobby->monitor_lock[0]) & OWNER_DIED);
}

static struct hw_berth *spare_claim(void)
{
	for (u32 i = 0; i < HW_BERTHS; i++) {
		u32 spare = HW_BERTH_SPARE;

		if (load_relaxed(&hwv_lobby->berth[i].state) == HW_BERTH_SPARE &&
		    cas_acq_rel(&hwv_lobby->berth[i].state, &spare, HW_BERTH_CLAIMED))
			return &hwv_lobby->berth[i];
	}
	return NULL;
}

static struct hw_control *berth_claim(void)
{
	for (u32 i = 0; i < BERTH_TRIES && monitor_lives(); i++) {
		u32 bell = load_acquire(&hwv_lobby->berth_bell);
		struct hw_berth *berth = spare_claim();

		add_acq_rel(&hwv_lobby->bell, 1);
		hwv_futex_wake(&hwv_lobby->bell);
		if (berth) {
			berth->pid = (u32)VG_(getpid)();
			berth->parent = (u32)VG_(getppid)();
			return berth_open(berth->number);
		}
		hwv_futex_wait(&hwv_lobby->berth_bell, bell, BERTH_WAIT_NS);
	}
	add_relaxed(&hwv_lobby->berth_shortage, 1);
	return NULL;
}

static void attach(struct hw_control *control)
{
	struct hw_moment start;

	hwv_control = control;
	hwv_recording++;
	hwv_nodes = (struct hw_node *)((u8 *)control + control->nodes_offset);
	hwv_module_log = (u8 *)control + control->modules_offset;
	hwv_rings_open();
	if (control->max_depth == 0 || control->max_depth > DEPTH_MAX)
		control->max_depth = DEPTH_MAX;
	control->nodes_used = 1;
	hwv_tree_reset();
	hwv_modules_reset();
	hwv_modules_tell_image();
	control->pid = (u32)VG_(getpid)();
	control->arch = HW_MACHINE;
	control->access = HW_ACCESS_VALGRIND;
	start = hw_moment_read(hwv_monotonic_ns);
	control->start_ns = start.ns;
	control->start_ticks = start.ticks;
	store_release(&control->attached, 1); /* pairs with the monitor's acquire */
}

static void join(Bool in_child)
{
	struct hw_control *control;

	if (!(hwv_lobby->flags & HW_SESSION_CHILDREN) &&
	    (in_child || (u32)VG_(getpid)() != hwv_lobby->root_pid)) {
		add_relaxed(in_child ? &hwv_lobby->unrecorded_children
				     : &hwv_lobby->unrecorded_execs,
			    1);
		unrecorded = True;
		return;
	}
	control = berth_claim();
	if (control)
		attach(control);
}

void hwv_session_join(void)
{
	hwv_lobby = lobby_open();
	if (hwv_lobby)
		join(False);
}

/* The parent's berth stays mapped, and is never looked at again. What an unrecorded child executes
 * runs without Valgrind. */
void hwv_session_forked(void)
{
	hwv_control = NULL;
	forked = hwv_lobby != NULL;
	if (forked && !(hwv_lobby->flags & HW_SESSION_CHILDREN)) {
		VG_(clo_trace_children) = False;
		unrecorded = True;
	}
}

void hwv_count_exec(i32 step)
{
	if (unrecorded)
		add_relaxed(&hwv_lobby->unrecorded_execs, (u32)step);
}

/* ---- afterwards ---- */

static Bool recording_goes_on(void)
{
	u32 stopped;

	if (forked) {
		forked = False;
		join(True);
	}
	if (!hwv_control)
		return False;
	stopped = load_relaxed(&hwv_control->stopped);
	if (stopped == HW_RELEASED || !monitor_lives())
		hwv_control = NULL;
	return hwv_control && !stopped;
}

Bool hwv_wants_allocation(void)
{
	return recording_goes_on() && !load_relaxed(&hwv_control->paused);
}

Bool hwv_wants_free(void) { return recording_goes_on(); }
