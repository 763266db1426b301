/* SPDX-License-Identifier: MIT
 * Creates and removes the lobby and the berths. Runs in the monitor, first on the starting thread
 * and then on the drain thread. Never trusts a number that a recorded program could have
 * written. */
#define _GNU_SOURCE
#include "live/drain/berths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/allocators.h"
#include "format/atomics.h"
#include "live/drain/futex.h"
#include "live/drain/shared.h"

enum {
	RING_RECORDS = 16384,
	RING_RECORDS_LONG = 131072,
	RING_RECORDS_MAX = 1 << 20,
	NESTED_RECORDS = 256,
	SLOTS_MAX = 32768,         /* as many threads as most machines allow a process */
	SLOTS_MAX_CHILDREN = 4096, /* of each of HW_BERTHS images, in the monitor's address space */
	NODES_MAX = 1 << 24,
	SLOTS_MIN = 16, /* where addresses are few */
	NODES_MIN = 1 << 17,
	MODULE_BYTES = 256 << 10,
	PAGE = 4096,
	SECTION = 64 << 10, /* alignment of parts that may be mapped alone, on any page size */
	SPARES = 2,
	SPARES_CHILDREN = 16,
};

_Static_assert(sizeof(struct hw_control) <= PAGE, "the control block is one page");
_Static_assert(sizeof(struct hw_request) <= HW_REQUEST_BYTES, "a request has its pages");

static u64 align_up(u64 bytes, u64 alignment) { return (bytes + alignment - 1) & ~(alignment - 1); }

/* Where everything is, by the numbers of records, slots and nodes. */
static void layout_place(struct berth_layout *layout)
{
	layout->request_offset = PAGE;
	layout->names_offset = layout->request_offset + HW_REQUEST_BYTES;
	layout->pools_offset = layout->names_offset + HW_NAMES * sizeof(struct hw_name);
	layout->commands_offset =
		align_up(layout->pools_offset + HW_POOLS * sizeof(struct hw_pool), HW_CACHE_LINE);
	layout->writes_offset = layout->commands_offset + HW_COMMANDS * sizeof(struct hw_command);
	layout->modules_offset = layout->writes_offset + HW_WRITES * sizeof(struct hw_write);
	layout->modules_bytes = MODULE_BYTES;
	layout->slots_offset = layout->modules_offset + MODULE_BYTES;
	layout->nodes_offset =
		align_up(layout->slots_offset + layout->slots_max * sizeof(struct hw_slot),
			 SECTION);
	layout->rings_offset =
		align_up(layout->nodes_offset + layout->nodes_max * sizeof(struct hw_node),
			 SECTION);
	layout->ring_stride =
		align_up(((u64)layout->ring_records + layout->nested_records) * HW_RECORD_ROOM,
			 PAGE);
	layout->total_bytes = align_up(layout->rings_offset + hw_ring_start(layout->ring_stride,
									    layout->ring_extra,
									    layout->slots_max),
				       SECTION);
}

/* What a berth may take of our own address space, which may be limited (ulimit -v). */
static u64 berth_room(bool children)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return (u64)limit.rlim_cur / (children ? 2 * SPARES_CHILDREN : 4);
}

/* Halves what takes most of it; false if there is no less to be had. */
static bool layout_shrink(struct berth_layout *layout)
{
	bool slots = layout->slots_max > SLOTS_MIN, nodes = layout->nodes_max > NODES_MIN;

	if (slots && nodes)
		slots = layout->slots_max * layout->ring_stride >
			layout->nodes_max * sizeof(struct hw_node);
	if (slots)
		layout->slots_max /= 2;
	else if (nodes)
		layout->nodes_max /= 2;
	return slots || nodes;
}

/* Only pages that are touched take memory, so that room for thousands of threads costs nothing but
 * addresses. */
static void layout_init(struct berth_layout *layout, u32 slots,
			const struct berths_options *options, u64 room)
{
	u64 ring_records = options->ring_records, records = ring_records ? 2 : RING_RECORDS;

	while (records < ring_records && records < RING_RECORDS_MAX)
		records *= 2;
	layout->ring_records = (u32)records;
	layout->ring_extra = options->flags & HW_RUN_LASTING && !ring_records
				     ? RING_RECORDS_LONG - RING_RECORDS
				     : 0;
	layout->nested_records = NESTED_RECORDS;
	layout->slots_max = slots;
	layout->nodes_max = NODES_MAX;
	layout_place(layout);
	while (layout->total_bytes > room && layout_shrink(layout))
		layout_place(layout);
}

struct hw_slot *berth_slot(const struct berth *self, u32 slot)
{
	return (struct hw_slot *)(self->memory + self->layout.slots_offset) + slot;
}

const struct hw_record *berth_ring(const struct berth *self, u32 slot)
{
	return (const struct hw_record *)(self->memory + self->layout.rings_offset +
					  hw_ring_start(self->layout.ring_stride,
							self->layout.ring_extra, slot));
}

const struct hw_record *berth_nested(const struct berth *self, u32 slot)
{
	return berth_ring(self, slot) +
	       hw_ring_size(self->layout.ring_records, self->layout.ring_extra, slot);
}

const u8 *berth_marks(const struct berth *self, u32 slot)
{
	return (const u8 *)(berth_nested(self, slot) + self->layout.nested_records);
}

const struct hw_node *berth_nodes(const struct berth *self)
{
	return (const struct hw_node *)(self->memory + self->layout.nodes_offset);
}

const struct hw_request *berth_request(const struct berth *self)
{
	return (const struct hw_request *)(self->memory + self->layout.request_offset);
}

const struct hw_name *berth_names(const struct berth *self)
{
	return (const struct hw_name *)(self->memory + self->layout.names_offset);
}

struct hw_command *berth_commands(const struct berth *self)
{
	return (struct hw_command *)(self->memory + self->layout.commands_offset);
}

const struct hw_write *berth_writes(const struct berth *self)
{
	return (const struct hw_write *)(self->memory + self->layout.writes_offset);
}

const u8 *berth_modules(const struct berth *self)
{
	return self->memory + self->layout.modules_offset;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file size limit (ulimit -f) is about the user's files; where we may, we lift it for ours. */
static int resize(int fd, u64 bytes)
{
	struct rlimit old, lifted;
	bool lift = getrlimit(RLIMIT_FSIZE, &old) == 0 && old.rlim_cur < bytes;
	int status;

	if (lift) {
		lifted.rlim_cur = bytes;
		lifted.rlim_max = old.rlim_max < bytes ? bytes : old.rlim_max;
		if (setrlimit(RLIMIT_FSIZE, &lifted) < 0) {
			errno = EFBIG; /* else the system would send SIGXFSZ */
			return -1;
		}
	}
	status = ftruncate(fd, (off_t)bytes);
	if (lift) {
		int saved = errno;

		setrlimit(RLIMIT_FSIZE, &old);
		errno = saved;
	}
	return status;
}

static int size_refused(struct err *err)
{
	return err_set(err, ERR_SYSTEM, "cannot size shared memory: %s%s", strerror(errno),
		       errno == EFBIG ? " (see ulimit -f)" : "");
}

/* A memfd that another process can open through /proc, or -1. */
static int memfd_reachable(const char *name)
{
	int fd = shared_create(name), again;
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again < 0) {
		close(fd);
		return -1;
	}
	close(again);
	return fd;
}

static bool folder_make_in(struct berths *self, const char *parent)
{
	int length;

	if (!parent || parent[0] != '/')
		return false;
	length = snprintf(self->folder, sizeof(self->folder), "%s/heapwise-XXXXXX", parent);
	return length > 0 && (size_t)length < sizeof(self->folder) && mkdtemp(self->folder);
}

static int folder_make(struct berths *self, struct err *err)
{
	if (folder_make_in(self, getenv("XDG_RUNTIME_DIR")) || folder_make_in(self, "/dev/shm") ||
	    folder_make_in(self, getenv("TMPDIR")) || folder_make_in(self, "/tmp"))
		return 0;
	self->folder[0] = 0;
	return err_set(err, ERR_SYSTEM,
		       "cannot create a folder for shared memory in XDG_RUNTIME_DIR, /dev/shm or "
		       "TMPDIR: %s",
		       strerror(errno));
}

static int file_create(const struct berths *self, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", self->folder, name);
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static void file_remove(const struct berths *self, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", self->folder, name);
	unlink(path);
}

/* ---- lobby ----------------------------------------------------------------------------------- */

static int lobby_create(struct berths *self, struct err *err)
{
	self->lobby_fd = self->options.use_files ? -1 : memfd_reachable("heapwise-lobby");
	if (self->lobby_fd >= 0) {
		snprintf(self->folder, sizeof(self->folder), "/proc/%d/fd", (int)getpid());
		snprintf(self->path, sizeof(self->path), "%s/%d", self->folder, self->lobby_fd);
		return 0;
	}
	if (folder_make(self, err) < 0)
		return err->code;
	self->files = true;
	snprintf(self->path, sizeof(self->path), "%s/lobby", self->folder);
	self->lobby_fd = file_create(self, "lobby");
	if (self->lobby_fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot create %s: %s", self->path,
			       strerror(errno));
	return 0;
}

static int lobby_map(struct berths *self, struct err *err)
{
	void *memory;

	if (resize(self->lobby_fd, sizeof(struct hw_lobby)) < 0)
		return size_refused(err);
	shared_seal(self->lobby_fd);
	memory = mmap(NULL, sizeof(struct hw_lobby), PROT_READ | PROT_WRITE, MAP_SHARED,
		      self->lobby_fd, 0);
	if (memory == MAP_FAILED)
		return err_set(err, ERR_SYSTEM, "cannot map shared memory: %s", strerror(errno));
	self->lobby = memory;
	return 0;
}

/* A robust lock with this one thread as its owner, made by hand: a pthread mutex keeps pointers of
 * the list, which the kernel and libc follow, inside the lock itself, where the recorded program
 * could change them. This way the list is in our own memory, and only the word that the kernel
 * marks is shared. */
int berths_hold_lock(struct berths *self, struct err *err)
{
	struct robust_list_head *head = &self->lock_list;

	head->list.next = &self->lock_entry;
	self->lock_entry.next = &head->list;
	head->futex_offset =
		(long)((uintptr_t)&self->lobby->monitor_lock[0] - (uintptr_t)&self->lock_entry);
	head->list_op_pending = NULL;
	store_release(&self->lobby->monitor_lock[0], (u32)syscall(SYS_gettid));
	if (syscall(SYS_set_robust_list, head, sizeof(*head)) != 0)
		return err_set(err, ERR_SYSTEM, "cannot take the monitor's lock: %s",
			       strerror(errno));
	return 0;
}

int berths_open(struct berths *self, const struct berths_options *options, struct err *err)
{
	memset(self, 0, sizeof(*self));
	self->lobby_fd = -1;
	self->options = *options;
	self->spares_wanted = options->children ? SPARES_CHILDREN : SPARES;
	layout_init(&self->layout, options->children ? SLOTS_MAX_CHILDREN : SLOTS_MAX, options,
		    berth_room(options->children));
	/* With fewer berths than wanted it begins; the drain thread tries to make more when they
	 * are needed. */
	if (lobby_create(self, err) < 0 || lobby_map(self, err) < 0 ||
	    (berths_replenish(self, err) < 0 && !self->spare_count)) {
		berths_close(self);
		return err->code;
	}
	self->lobby->version = HW_SESSION_VERSION;
	self->lobby->monitor_pid = (u32)getpid();
	self->lobby->flags =
		(options->children ? HW_SESSION_CHILDREN : 0) |
		(options->pools_count || options->flags & HW_RUN_MMAP ? HW_SESSION_EARLY : 0) |
		(options->allocators ? HW_SESSION_ENTRIES : 0) |
		(options->below ? HW_SESSION_BELOW : 0);
	self->lobby->allocators = options->allocators;
	/* Pairs with the recorder's acquire: whoever sees the magic sees the rest. */
	store_release(&self->lobby->magic, HW_LOBBY_MAGIC);
	return 0;
}

/* ---- berths ---------------------------------------------------------------------------------- */

static void control_fill(const struct berths *self, struct hw_control *control)
{
	const struct berth_layout *layout = &self->layout;

	control->magic = HW_BERTH_MAGIC;
	control->version = HW_SESSION_VERSION;
	control->flags = self->options.flags;
	control->total_bytes = layout->total_bytes;
	control->modules_offset = layout->modules_offset;
	control->modules_bytes = layout->modules_bytes;
	control->slots_offset = layout->slots_offset;
	control->slots_max = layout->slots_max;
	control->nodes_max = layout->nodes_max;
	control->nodes_offset = layout->nodes_offset;
	control->rings_offset = layout->rings_offset;
	control->ring_stride = layout->ring_stride;
	control->ring_records = layout->ring_records;
	control->ring_extra = layout->ring_extra;
	control->nested_records = layout->nested_records;
	control->max_depth = self->options.max_depth;
	control->stamp_shift = self->options.stamp_shift;
	control->sample_bytes = self->options.sample_bytes;
	control->request_offset = layout->request_offset;
	control->names_offset = layout->names_offset;
	control->names_max = HW_NAMES;
	control->pools_count = self->options.pools_count;
	control->pools_offset = layout->pools_offset;
	control->allocators = self->options.allocators;
	control->commands_offset = layout->commands_offset;
	control->writes_offset = layout->writes_offset;
	control->access_epoch_ns = self->options.access_epoch_ns;
	control->access_max = self->options.access_max;
	control->paused = self->options.paused;
	control->routine_sample = self->options.routine_sample;
	control->mark_scan =
		self->options.owners & OWNERS_MARKS ? HW_MARK_SCAN_ASK : HW_MARK_SCAN_NONE;
	if (self->options.routine_filter)
		snprintf(control->routine_filter, sizeof(control->routine_filter), "%s",
			 self->options.routine_filter);
}

static int berth_create(struct berths *self, struct berth_place *berth)
{
	char name[32];

	if (self->files) {
		berth->number = self->next_number++;
		snprintf(name, sizeof(name), "%u", berth->number);
		berth->fd = file_create(self, name);
	} else {
		berth->fd = shared_create("heapwise-berth");
		berth->number = (u32)berth->fd;
	}
	return berth->fd;
}

static void berth_remove(struct berths *self, struct berth_place *berth)
{
	char name[32];

	if (self->files) {
		snprintf(name, sizeof(name), "%u", berth->number);
		file_remove(self, name);
	}
	if (berth->fd >= 0)
		close(berth->fd);
	*berth = (struct berth_place){.fd = -1};
}

static bool pools_write(const struct berths *self, const struct berth_place *berth)
{
	ssize_t bytes = (ssize_t)(self->options.pools_count * sizeof(struct hw_pool));

	return bytes == 0 || pwrite(berth->fd, self->options.pools, (size_t)bytes,
				    (off_t)self->layout.pools_offset) == bytes;
}

static int spare_add(struct berths *self, u32 index, struct err *err)
{
	struct berth_place *berth = &self->berths[index];
	struct hw_control control = {0};

	if (berth_create(self, berth) < 0)
		return err_set(err, ERR_SYSTEM, "cannot create shared memory: %s", strerror(errno));
	control_fill(self, &control);
	if (resize(berth->fd, self->layout.total_bytes) < 0 ||
	    pwrite(berth->fd, &control, sizeof(control), 0) != (ssize_t)sizeof(control) ||
	    !pools_write(self, berth)) {
		size_refused(err);
		berth_remove(self, berth);
		return err->code;
	}
	shared_seal(berth->fd);
	berth->used = true;
	self->spare[self->spare_count++] = index;
	self->lobby->berth[index].number = berth->number;
	self->lobby->berth[index].pid = 0;
	/* Pairs with the recorder's cas from SPARE: it then finds the file under `number`. */
	store_release(&self->lobby->berth[index].state, HW_BERTH_SPARE);
	return 0;
}

static u32 spares_ready(const struct berths *self)
{
	u32 ready = 0;

	for (u32 i = 0; i < self->spare_count; i++)
		ready += load_relaxed(&self->lobby->berth[self->spare[i]].state) == HW_BERTH_SPARE;
	return ready;
}

int berths_replenish(struct berths *self, struct err *err)
{
	u32 ready = spares_ready(self);
	bool added = false;
	int status = 0;

	for (u32 i = 0; i < HW_BERTHS && ready < self->spares_wanted && !status; i++) {
		if (self->berths[i].used)
			continue;
		status = spare_add(self, i, err);
		added = added || status == 0;
		ready++;
	}
	if (added) {
		add_acq_rel(&self->lobby->berth_bell, 1);
		futex_wake(&self->lobby->berth_bell, INT32_MAX);
	}
	return status;
}

/* Spares are not mapped here; whoever claims one meanwhile reads the same memory. */
void berths_set_paused(struct berths *self, bool paused)
{
	u32 value = paused;

	self->options.paused = paused;
	for (u32 i = 0; i < self->spare_count; i++) {
		ssize_t written = pwrite(self->berths[self->spare[i]].fd, &value, sizeof(value),
					 offsetof(struct hw_control, paused));

		(void)written; /* in memory that is there already: it does not fail */
	}
}

static int berth_map(struct berths *self, u32 index, struct berth *berth, struct err *err)
{
	void *memory = mmap(NULL, self->layout.total_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, self->berths[index].fd, 0);

	if (memory == MAP_FAILED)
		return err_set(err, ERR_SYSTEM, "cannot map shared memory: %s", strerror(errno));
	berth->index = index;
	berth->pid = load_relaxed(&self->lobby->berth[index].pid);
	berth->parent_pid = load_relaxed(&self->lobby->berth[index].parent);
	berth->memory = memory;
	berth->control = memory;
	berth->layout = self->layout;
	self->berths[index].control = berth->control;
	self->unmapped_count++;
	return 0;
}

int berths_take_claimed(struct berths *self, struct berth *berth, struct err *err)
{
	for (u32 i = 0; i < self->spare_count; i++) {
		u32 index = self->spare[i];
		const struct hw_berth *entry = &self->lobby->berth[index];

		/* The recorder claims first and says who it is then: 0 = it is about to. */
		if (load_acquire(&entry->state) != HW_BERTH_CLAIMED || !load_acquire(&entry->pid))
			continue;
		self->spare[i] = self->spare[--self->spare_count];
		return berth_map(self, index, berth, err) < 0 ? err->code : 1;
	}
	return 0;
}

void berths_close_mapped(struct berths *self)
{
	for (u32 i = 0; i < HW_BERTHS && self->unmapped_count; i++) {
		struct berth_place *berth = &self->berths[i];

		if (berth->fd < 0 || !berth->control ||
		    !load_relaxed(&berth->control->slots_mapped))
			continue;
		close(berth->fd);
		berth->fd = -1;
		self->unmapped_count--;
	}
}

static void pools_read(struct berths *self, const struct berth *berth)
{
	const struct hw_pool *pools =
		(const struct hw_pool *)(berth->memory + berth->layout.pools_offset);

	for (u32 i = 0; i < self->options.pools_count; i++) {
		u32 state = load_relaxed(&pools[i].state);

		if (state <= HW_POOL_RECORDED && state > self->pool_states[i])
			self->pool_states[i] = state;
		self->pool_refused[i] += load_relaxed(&pools[i].refused);
	}
	for (u32 i = 0; i < HW_ENTRIES_MAX; i++) {
		u8 state = load_relaxed(&berth->control->entries[i]);

		if (state <= HW_ENTRY_SHADOWED && state > self->entry_states[i])
			self->entry_states[i] = state;
	}
}

void berths_give_back(struct berths *self, struct berth *berth)
{
	if (berth->memory)
		pools_read(self, berth);
	if (berth->memory)
		munmap(berth->memory, berth->layout.total_bytes);
	berth->memory = NULL;
	berth->control = NULL;
	if (self->berths[berth->index].control && self->berths[berth->index].fd >= 0)
		self->unmapped_count--;
	store_release(&self->lobby->berth[berth->index].state, HW_BERTH_DRAINED);
	berth_remove(self, &self->berths[berth->index]);
}

void berths_close(struct berths *self)
{
	for (u32 i = 0; i < HW_BERTHS; i++) {
		if (self->berths[i].used)
			berth_remove(self, &self->berths[i]);
	}
	if (self->lobby)
		munmap(self->lobby, sizeof(struct hw_lobby));
	if (self->lobby_fd >= 0)
		close(self->lobby_fd);
	if (self->files) {
		file_remove(self, "lobby");
		rmdir(self->folder);
	}
	memset(self, 0, sizeof(*self));
	self->lobby_fd = -1;
}
