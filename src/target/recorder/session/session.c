/* SPDX-License-Identifier: MIT
 * Finds the lobby by the environment, claims a berth and maps it. Runs in the target.
 * Files are opened, mapped and closed again, so no descriptor number of the program shifts.
 * Whatever fails leaves the recorder dormant, never the program. */
#include "target/recorder/session/session.h"

#include <fcntl.h>

#include "format/moment.h"
#include "target/recorder/hooks/peek.h"
#include "target/recorder/hooks/pools.h"
#include "target/recorder/hooks/routines.h"
#include "target/recorder/pool/entries.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/context.h"
#include "target/recorder/state/desk.h"
#include "target/recorder/state/environment.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/self.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/threads.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"

enum {
	PATH_MAX_BYTES = 256, /* "/proc/PID/fd/N" or a folder of the monitor's */
	BERTH_TRIES = 100,    /* ten seconds without a sign of the monitor, as ring.c waits */
	BERTH_WAIT_NS = 100 * 1000 * 1000,
	WIPE_ON_FORK = 18,
};

static char session_path[PATH_MAX_BYTES]; /* of the lobby */

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weak));

/* ---- files ---- */

/* The whole of it is there, or nothing is mapped: beyond its end a file is SIGBUS. The name may be
 * that of a session that is over. */
static void *map_file(const char *path, size_t bytes)
{
	int fd = hwr_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	void *p = NULL;

	if (fd < 0)
		return NULL;
	if (hwr_ask3(SYS_lseek, fd, 0, SEEK_END) >= (long)bytes)
		p = hwr_mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
	hwr_close(fd);
	if (!p || hwr_sys_failed(p))
		return NULL;
	hwr_madvise(p, bytes, MADV_DONTDUMP); /* gigabytes of nothing in the program's core */
	return p;
}

/* DIR/number, where DIR/NAME is the lobby. */
static void berth_path(char path[PATH_MAX_BYTES + 12], u32 number)
{
	size_t n = hwr_length(session_path);
	char digits[12];
	u32 count = 0;

	while (n > 0 && session_path[n - 1] != '/')
		n--;
	hwr_copy(path, session_path, n);
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count > 0)
		path[n++] = digits[--count];
	path[n] = 0;
}

static struct hw_lobby *open_lobby(void)
{
	struct hw_lobby *lobby = NULL;

	if (!hwr_stands_back() &&
	    hwr_environment(HW_SESSION_ENV, session_path, sizeof session_path))
		lobby = map_file(session_path, sizeof *lobby);
	if (lobby && (lobby->magic != HW_LOBBY_MAGIC || lobby->version != HW_SESSION_VERSION ||
		      lobby->flags & HW_SESSION_BELOW)) {
		hwr_munmap(lobby, sizeof *lobby);
		lobby = NULL;
	}
	return lobby;
}

/* Of a limited address space the larger half is the program's. */
static u64 room_for_us(void)
{
	u64 limit = hwr_address_space();

	return limit == ~0ull ? limit : limit / 2;
}

/* Maps as many slots as the address space allows: the rings come last in the file. */
static struct hw_control *open_berth(u32 number)
{
	u64 room = room_for_us();
	char path[PATH_MAX_BYTES + 12];
	struct hw_control *control;
	u64 rings, stride, bytes;
	u32 slots, extra;

	berth_path(path, number);
	control = map_file(path, sizeof *control);
	if (!control)
		return NULL;
	rings = control->rings_offset;
	stride = control->ring_stride;
	extra = control->ring_extra;
	slots = control->slots_max;
	if (control->magic != HW_BERTH_MAGIC || control->version != HW_SESSION_VERSION)
		slots = 0;
	hwr_munmap(control, sizeof *control);
	for (control = NULL; slots > 0 && !control; slots /= 2) {
		bytes = rings + hw_ring_start(stride, extra, slots);
		if (bytes > room)
			continue;
		control = map_file(path, bytes);
		if (!control)
			continue;
		control->slots_mapped = slots;
		hwr_mapped_bytes = bytes;
	}
	return control;
}

/* ---- joining ---- */

/* Our number where /proc comes from, which is where the monitor lives: in a namespace of our own we
 * have another one. */
static u32 seen_pid(void)
{
	char text[16];
	long n = hwr_readlink("/proc/self", text, sizeof text);
	u32 pid = 0;

	for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pid = pid * 10 + (u32)(text[i] - '0');
	return pid ? pid : hwr_getpid();
}

static i64 claim_spare(void)
{
	for (u32 i = 0; i < HW_BERTHS; i++) {
		u32 spare = HW_BERTH_SPARE;

		if (load_relaxed(&hwr_lobby->berth[i].state) == HW_BERTH_SPARE &&
		    cas_acq_rel(&hwr_lobby->berth[i].state, &spare, HW_BERTH_CLAIMED))
			return i;
	}
	return -1;
}

static struct hw_control *claim_berth(void)
{
	u32 bell = load_acquire(&hwr_lobby->berth_bell), next;

	/* When hundreds start at once a late one waits for many rounds, as long as the monitor
	 * makes berths. */
	for (u32 silent = 0; silent < BERTH_TRIES;
	     silent = next == bell ? silent + 1 : 0, bell = next) {
		i64 number = hwr_session_watched() ? claim_spare() : -1;

		add_acq_rel(&hwr_lobby->bell, 1);
		hwr_futex_wake(&hwr_lobby->bell);
		if (number >= 0) {
			struct hw_berth *berth = &hwr_lobby->berth[number];

			struct hw_control *control;

			berth->pid = seen_pid();
			berth->parent = hwr_getppid();
			control = open_berth(berth->number);
			if (!control)
				add_relaxed(&hwr_lobby->unreachable, 1);
			return control;
		}
		if (!hwr_session_watched())
			return NULL;
		hwr_futex_wait(&hwr_lobby->berth_bell, bell, BERTH_WAIT_NS);
		next = load_acquire(&hwr_lobby->berth_bell);
	}
	add_relaxed(&hwr_lobby->berth_shortage, 1);
	return NULL;
}

static void forget_token_in_child(void) { hwr_token.alive = hwr_token.on = hwr_token.paused = 0; }

/* Kernels before 4.14 and emulators do not wipe: there, at least fork() is noticed. The handler
 * belongs to no module: ours is never unloaded. */
static void guard_token(void)
{
	static bool guarded;

	if (!guarded && hwr_madvise(&hwr_token, sizeof hwr_token, WIPE_ON_FORK) != 0 &&
	    __register_atfork)
		__register_atfork(NULL, NULL, forget_token_in_child, NULL);
	guarded = true;
}

bool hwr_session_attach(struct hw_control *control)
{
	struct hw_moment start;

	control->forked = hwr_control != NULL; /* that of the parent */
	hwr_control = control;
	hwr_slots = (struct hw_slot *)((u8 *)control + control->slots_offset);
	hwr_nodes = (struct hw_node *)((u8 *)control + control->nodes_offset);
	hwr_rings = (u8 *)control + control->rings_offset;
	hwr_module_log = (u8 *)control + control->modules_offset;
	hwr_threads_reset();
	/* Times of accesses are compared with those of events. */
	hwr_stamp_init(control->flags &
		       (HW_RUN_EXACT_TIMES | HW_RUN_ACCESS_EXACT | HW_RUN_ACCESS_ADAPTIVE));
	if (control->max_depth == 0 || control->max_depth > HWR_DEPTH_MAX)
		control->max_depth = HWR_DEPTH_MAX;
	control->nodes_used = 1;
	if (!hwr_desk_open() || !hwr_rules_init() || !hwr_context_init())
		return false;
	guard_token();
	add_acq_rel(&hwr_epoch, 1);
	hwr_rules_forget();
	hwr_modules_init();
	hwr_modules_tell_image();
	control->pid = seen_pid();
	control->arch = HWR_ELF_MACHINE;
	start = hw_moment_read(hwr_monotonic_ns);
	control->start_ns = start.ns;
	control->start_ticks = start.ticks;
	control->began_paused = load_relaxed(&control->paused);
	hwr_access_attach();
	hwr_runtime_attach();
	hwr_pools_attach();
	hwr_routines_attach();
	hwr_peek_attach();
	hwr_tell_own_memory(); /* that of those, too */
	store_release(&control->attached, 1);
	hwr_token.alive = 1;
	hwr_session_obey();
	return true;
}

static bool join_monitor(bool forked)
{
	struct hw_control *control;

	if (!forked)
		hwr_lobby = open_lobby();
	if (!hwr_lobby)
		return false;
	if (!(hwr_lobby->flags & HW_SESSION_CHILDREN) &&
	    (forked || seen_pid() != hwr_lobby->root_pid)) {
		add_relaxed(forked ? &hwr_lobby->unrecorded_children : &hwr_lobby->unrecorded_execs,
			    1);
		return false;
	}
	control = claim_berth();
	return control && hwr_session_attach(control);
}

bool hwr_session_join(void)
{
	u32 phase = load_acquire(&hwr_phase);
	bool forked = phase == HWR_ATTACHED && !hwr_token.alive;
	bool joined;

	if (phase == HWR_ATTACHED && hwr_token.alive)
		return true;
	if (phase == HWR_STARTING || phase == HWR_DORMANT)
		return false;
	if (!cas_acq_rel(&hwr_phase, &phase, HWR_STARTING))
		return false;
	hwr_pid = hwr_getpid();
	joined = hwr_self_session() || join_monitor(forked);
	if (hwr_lobby && !forked)
		hwr_limits_take_over(hwr_lobby);
	store_release(&hwr_phase, joined ? HWR_ATTACHED : HWR_DORMANT);
	return joined;
}

/* What the run wants may happen before the first allocation, or without any. */
static __attribute__((constructor)) void join_early(void)
{
	struct hw_lobby *lobby;
	bool early;

	if (load_relaxed(&hwr_phase) != HWR_UNBORN)
		return;
	lobby = open_lobby();
	if (!lobby)
		return;
	/* A program may shut itself in before it first allocates: then the lobby is out of
	 * reach. */
	early = lobby->flags & (HW_SESSION_EARLY | HW_SESSION_CHILDREN) ||
		seen_pid() == lobby->root_pid ||
		(lobby->flags & HW_SESSION_ENTRIES && hwr_entries_are_there(lobby->allocators));
	if (!early)
		hwr_limits_take_over(lobby);
	hwr_munmap(lobby, sizeof *lobby);
	if (!early)
		return;
	if (!hwr_real.malloc)
		hwr_real_find();
	hwr_session_join();
}
