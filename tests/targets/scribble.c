/* SPDX-License-Identifier: MIT
 * scribble HOW SEED ROUNDS   a program that does to the memory it shares with its monitor what a recorder never would:
 *   garbage  random bytes and numbers that are on some edge, everywhere
 *   records  records that look right, in rings whose counters move as they should or do not
 *   lobby    claims, numbers of processes and the monitor's lock
 *   shrink   shorter files, holes in them
 * It ends with status 0 whatever becomes of the recorder in it: it allocates nothing after the start, and leaves by the
 * system call. So any other status is the monitor's. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/session.h"

enum { BERTHS = 32, HEADS = 64 };

static uint64_t state;

static uint64_t draw(void)
{
	state += 0x9e3779b97f4a7c15;
	uint64_t z = state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t n) { return draw() % n; }

/* A number that somebody may have forgotten. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = {0, 1, 2, 7, 8, 63, 64, 255, 256, 4095, 4096, 16383, 16384, 16385, 65535, 65536,
					 1 << 24, (1 << 24) - 1, (1 << 24) + 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
					 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff8};

	switch (below(4)) {
	case 0: return draw();
	case 1: return edges[below(sizeof edges / sizeof *edges)] + below(3) - 1;
	case 2: return below(1000);
	default: return edges[below(sizeof edges / sizeof *edges)];
	}
}

struct berth {
	int fd;
	uint8_t *memory;
	struct hw_control layout; /* as it was: what we have scribbled over does not lead us astray */
};

static struct hw_lobby *lobby;
static int lobby_fd;
static struct berth berths[BERTHS];
static unsigned berth_count;

/* ---- where it is ----------------------------------------------------------------------------- */

static void berth_add(const char *path)
{
	struct berth *berth = &berths[berth_count];
	struct hw_control control;

	berth->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (berth->fd < 0)
		return;
	if (pread(berth->fd, &control, sizeof control, 0) == (ssize_t)sizeof control &&
	    control.magic == HW_BERTH_MAGIC) {
		berth->layout = control;
		berth->memory = mmap(NULL, control.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, berth->fd, 0);
		if (berth->memory != MAP_FAILED) {
			berth_count++;
			return;
		}
	}
	close(berth->fd);
}

/* All files of the folder, or all descriptors of the monitor, that are berths. */
static void find(void)
{
	const char *path = getenv(HW_SESSION_ENV);
	char folder[512], name[1024];
	struct dirent *entry;
	DIR *dir;

	if (!path) {
		fprintf(stderr, "not recorded\n");
		exit(2);
	}
	lobby_fd = open(path, O_RDWR | O_CLOEXEC);
	lobby = mmap(NULL, sizeof *lobby, PROT_READ | PROT_WRITE, MAP_SHARED, lobby_fd, 0);
	snprintf(folder, sizeof folder, "%s", path);
	*strrchr(folder, '/') = 0;
	dir = opendir(folder);
	while (dir && berth_count < BERTHS && (entry = readdir(dir))) {
		snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.')
			berth_add(name);
	}
	if (dir)
		closedir(dir);
	if (lobby_fd < 0 || lobby == MAP_FAILED || !berth_count) {
		fprintf(stderr, "no shared memory was found\n");
		exit(2);
	}
}

static struct berth *any_berth(void) { return &berths[below(berth_count)]; }

/* Room for few threads only: the rest is as large as all memory. */
static struct hw_slot *any_slot(struct berth *berth, unsigned *number)
{
	*number = (unsigned)below(6);
	return (struct hw_slot *)(berth->memory + berth->layout.slots_offset) + *number;
}

/* ---- what is done to it ---------------------------------------------------------------------- */

static void bytes_scribble(uint8_t *at, uint64_t count)
{
	uint8_t byte = (uint8_t)draw();

	for (uint64_t i = 0; i < count; i++)
		at[i] = byte ? (uint8_t)draw() : 0;
}

static void number_put(uint8_t *at, uint64_t bytes)
{
	uint64_t value = edge(), place = below(bytes / 8) * 8;

	if (below(2))
		memcpy(at + place, &value, 8);
	else
		memcpy(at + place + 4 * below(2), &value, 4);
}

static void garbage(void)
{
	struct berth *berth = any_berth();
	const struct hw_control *layout = &berth->layout;
	uint8_t *memory = berth->memory;
	unsigned number;

	switch (below(8)) {
	case 0: number_put(memory, sizeof *layout); break;
	case 1: number_put(memory + 256, sizeof *layout - 256); break;
	case 2: bytes_scribble(memory + below(4096), below(64)); break;
	case 3: bytes_scribble(memory + layout->request_offset + below(16), below(256)); break;
	case 4: bytes_scribble(memory + layout->names_offset + below(4096), below(256)); break;
	case 5: number_put(memory + layout->modules_offset, 4096); break;
	case 6: number_put((uint8_t *)any_slot(berth, &number), sizeof(struct hw_slot)); break;
	case 7: number_put(memory + layout->nodes_offset, 65536); break;
	}
	if (below(200) == 0)
		((struct hw_control *)memory)->modules_head += edge() % 8192;
	if (below(500) == 0)
		((struct hw_control *)memory)->request++;
	if (below(500) == 0)
		((struct hw_control *)memory)->leaving = HW_LEAVING_ASKED;
}

/* Addresses come from few, so that births and deaths meet. */
static void record_make(struct hw_record *record)
{
	record->ticks = below(10) ? record->ticks + below(1000) : edge();
	record->address = below(10) ? 0x10000 + 16 * below(300) : edge();
	record->size = below(10) ? below(100) : edge();
	record->context = below(10) ? (uint32_t)below(2000) : (uint32_t)edge();
	record->kind = (uint8_t)(below(10) ? below(HW_KIND_COUNT) : draw());
	record->flags = (uint8_t)(below(4) ? 0 : draw());
	record->aux = (uint16_t)(below(4) ? below(40) : draw());
}

static void note_make(struct berth *berth)
{
	struct hw_control *control = (struct hw_control *)berth->memory;
	uint64_t bytes = berth->layout.modules_bytes, at = control->modules_head & (bytes - 1) & ~7ull;
	struct hw_module_note note = {
		.what = (uint16_t)(1 + below(7)), .build_id_bytes = (uint16_t)(below(5) ? below(40) : draw()),
		.base = edge(), .start = edge(), .end = edge(), .generation = (uint32_t)below(5),
		.path_bytes = (uint32_t)(below(5) ? below(200) : edge())};

	note.size = (uint32_t)(below(5) ? (sizeof note + note.build_id_bytes + note.path_bytes + 7) & ~7ull : edge());
	if (at + sizeof note <= bytes)
		memcpy(berth->memory + berth->layout.modules_offset + at, &note, sizeof note);
	if (at + sizeof note + 16 <= bytes)
		memcpy(berth->memory + berth->layout.modules_offset + at + sizeof note, "/etc/passwd\0/dev", 16);
	control->modules_head += note.size % 4096;
}

static void records(void)
{
	struct berth *berth = any_berth();
	struct hw_control *control = (struct hw_control *)berth->memory;
	struct hw_node *nodes = (struct hw_node *)(berth->memory + berth->layout.nodes_offset);
	unsigned number, count = 1 + (unsigned)below(HEADS);
	struct hw_slot *slot = any_slot(berth, &number);
	struct hw_record *ring = (struct hw_record *)(berth->memory + berth->layout.rings_offset +
						      number * berth->layout.ring_stride);
	int nested = below(8) == 0;

	if (nested)
		ring += berth->layout.ring_records;
	for (unsigned i = 0; i < count; i++) {
		uint64_t at = nested ? slot->nested_head : slot->head;
		struct hw_record record;

		record.ticks = ring[(at - 1) & 255].ticks;
		record_make(&record);
		ring[at & ((nested ? berth->layout.nested_records : berth->layout.ring_records) - 1)] = record;
		nodes[below(2000)] = (struct hw_node){.pc = edge(), .parent = (uint32_t)(below(10) ? below(2000) : edge())};
		if (nested)
			__atomic_store_n(&slot->nested_head, at + 1, __ATOMIC_RELEASE);
		else
			__atomic_store_n(&slot->head, at + 1, __ATOMIC_RELEASE);
	}
	if (control->slots_used < 6)
		control->slots_used = 6;
	if (below(20) == 0)
		slot->head += edge();
	if (below(20) == 0)
		note_make(berth);
}

/* States and numbers, but no process that is somebody else's. */
static void lobby_scribble(void)
{
	struct hw_berth *berth = &lobby->berth[below(24)];

	switch (below(6)) {
	case 0: berth->state = (uint32_t)below(5); break;
	case 1: berth->pid = below(2) ? (uint32_t)getpid() : 0x7ffffff0 + (uint32_t)below(16); break;
	case 2: berth->number = (uint32_t)edge(); break;
	case 3: number_put((uint8_t *)lobby->monitor_lock, sizeof lobby->monitor_lock); break;
	case 4: lobby->monitor_sleeps = (uint32_t)draw(); break;
	case 5: lobby->bell += (uint32_t)below(3); lobby->beat = (uint32_t)draw(); break;
	}
	if (below(50) == 0)
		bytes_scribble((uint8_t *)lobby, below(sizeof *lobby));
	if (below(4) == 0)
		garbage();
}

static void shrink(void)
{
	struct berth *berth = any_berth();
	int fd = below(8) ? berth->fd : lobby_fd;

	if (below(2))
		(void)!ftruncate(fd, (off_t)(below(2) ? 0 : below(1 << 20)));
	else
		(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)below(1 << 22), 1 + (off_t)below(1 << 20));
	if (below(20) == 0)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[1] : "";
	long rounds = argc > 3 ? atol(argv[3]) : 0;

	state = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	for (int i = 0; i < 100; i++) /* something that is true */
		free(malloc((size_t)i + 1));
	find();
	fflush(NULL);
	for (long i = 0; i < rounds; i++) {
		if (strcmp(how, "garbage") == 0)
			garbage();
		else if (strcmp(how, "records") == 0)
			below(10) ? records() : garbage();
		else if (strcmp(how, "lobby") == 0)
			lobby_scribble();
		else if (strcmp(how, "shrink") == 0)
			shrink();
		else
			syscall(SYS_exit_group, 2);
		if (i % 200 == 199) { /* and the monitor gets to look */
			lobby->bell++;
			syscall(SYS_futex, &lobby->bell, 1 /* wake */, 1, NULL, NULL, 0);
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		}
	}
	syscall(SYS_exit_group, 0);
}
