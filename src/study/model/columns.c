/* SPDX-License-Identifier: MIT
 * Mapped files of columns.
 *
 * What is being filled is plain memory at first. When it has become old it is written to the file,
 * and the file is mapped in its place: the first write to a page of a mapped file is dear, and most
 * of what happens to chunks happens soon after their birth.
 * Host. Never maps a part of a file that was not written: a full disk would be a SIGBUS, not an
 * error. */
#include "study/model/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/vec.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Files grow by pieces: small ones for small traces, but few of them for large ones. */
#define EXTENT_FIRST (4ull << 20)
#define EXTENT_LAST (64ull << 20)

/* A reader keeps this much of a file once it has touched it: what it reads here and there comes
 * with its neighbours (64 KiB), and needs room, too. A writer lets go above its limit. */
#define KEPT_BYTES (512ull << 20)
#define RESIDENT_BYTES (1024ull << 20)
enum { YOUNG_EXTENTS = 6 }; /* that are plain memory */
#define RESIDENT_STEP                                                                              \
	(192ull << 20) /* between two times: else a large process would do nothing else */

struct extent {
	u8 *at;
	u64 offset, bytes, used;
	bool mapped; /* the file is; else it is plain memory */
};

struct column_store {
	int fd;     /* -1: only read */
	int source; /* the file that is only read, for copies; -1 = none */
	int statm;
	u64 start;
	VEC(struct extent) extents;
	u64 trim_at; /* resident bytes */
	int failure;
	bool finished; /* all pages are in the file */
};

static u64 resident_bytes(const struct column_store *self)
{
	char text[64];
	ssize_t got = self->statm >= 0 ? pread(self->statm, text, sizeof text - 1, 0) : 0;
	unsigned long long pages = 0;

	text[got > 0 ? got : 0] = 0;
	sscanf(text, "%*u %llu", &pages);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

struct column_store *column_store_new(int fd, u64 start)
{
	struct column_store *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	self->fd = fd;
	self->source = -1;
	self->start = start;
	self->trim_at = RESIDENT_BYTES;
	self->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	return self;
}

/* NULL if there is none. */
static struct extent *last_extent(const struct column_store *self)
{
	return self->extents.count ? &self->extents.data[self->extents.count - 1] : NULL;
}

/* Writes what it holds, and puts the file in its place. */
static bool retire(struct column_store *self, struct extent *extent)
{
	if (lseek(self->fd, (off_t)extent->offset, SEEK_SET) < 0)
		self->failure = errno;
	else
		self->failure = io_write_all(self->fd, extent->at, extent->used, NULL);
	if (self->failure)
		return false;
	if (mmap(extent->at, extent->used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, self->fd,
		 (off_t)extent->offset) == MAP_FAILED)
		self->failure = errno;
	extent->mapped = !self->failure;
	return extent->mapped;
}

static bool add_extent(struct column_store *self)
{
	u64 count = self->extents.count;
	const struct extent *last = last_extent(self);
	struct extent new = {.offset = last ? last->offset + last->bytes : 0,
			     .bytes = count < 4 ? EXTENT_FIRST << count : EXTENT_LAST,
			     .used = count ? 0 : self->start};

	if (count >= YOUNG_EXTENTS && !retire(self, &self->extents.data[count - YOUNG_EXTENTS]))
		return false;
	new.at = mmap(NULL, new.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new.at == MAP_FAILED) {
		self->failure = errno;
		return false;
	}
	if (vec_push(&self->extents, new))
		return true;
	self->failure = ENOMEM;
	munmap(new.at, new.bytes);
	return false;
}

int column_store_finish(struct column_store *self)
{
	for (u64 i = 0; i < self->extents.count && !self->failure; i++)
		if (!self->extents.data[i].mapped)
			retire(self, &self->extents.data[i]);
	self->finished = !self->failure;
	return self->failure;
}

void *column_store_page(struct column_store *self, u64 bytes)
{
	struct extent *last;

	if (self->fd < 0 || self->failure)
		return NULL;
	last = last_extent(self);
	if (!last || last->bytes - last->used < bytes) {
		if (!add_extent(self))
			return NULL;
		last = last_extent(self);
	}
	last->used += bytes;
	return last->at + last->used - bytes;
}

/* Taken at once where it will be filled, as are all but the first: that takes a fifth of the time
 * of a fault for each page of the machine, and of two where it is read first. */
static void populate(void *memory, u64 bytes)
{
	u64 unit = (u64)sysconf(_SC_PAGESIZE), start = (u64)(uintptr_t)memory;
	u64 first = (start + unit - 1) / unit * unit, end = (start + bytes) / unit * unit;

	if (end > first) /* not before Linux 5.14: then there are faults */
		madvise((void *)(uintptr_t)first, end - first, MADV_POPULATE_WRITE);
}

void *column_page_new(struct column_store *store, u64 bytes, u64 number)
{
	void *page = store ? column_store_page(store, bytes) : calloc(1, bytes);

	if (page && !store && number)
		populate(page, bytes);
	return page;
}

int column_store_failure(const struct column_store *self) { return self->failure; }

u64 column_store_offset(const struct column_store *self, const void *page)
{
	for (u64 i = 0; i < self->extents.count; i++) {
		const struct extent *extent = &self->extents.data[i];

		if ((const u8 *)page >= extent->at && (const u8 *)page < extent->at + extent->bytes)
			return extent->offset + (u64)((const u8 *)page - extent->at);
	}
	return 0;
}

u64 column_store_end(const struct column_store *self)
{
	const struct extent *last = last_extent(self);

	return last ? last->offset + last->used : self->start;
}

static void unmap_all(struct column_store *self)
{
	for (u64 i = 0; i < self->extents.count; i++)
		munmap(self->extents.data[i].at, self->extents.data[i].bytes);
	vec_clear(&self->extents);
}

void column_store_reset(struct column_store *self)
{
	unmap_all(self);
	self->finished = false;
	if (ftruncate(self->fd, 0) != 0)
		self->failure = errno;
}

void column_store_trim(struct column_store *self)
{
	if (self->fd < 0 || resident_bytes(self) < self->trim_at)
		return;
	for (u64 i = 0; i < self->extents.count; i++)
		/* what was written there is the kernel's now, and not lost */
		if (self->extents.data[i].mapped)
			madvise(self->extents.data[i].at, self->extents.data[i].bytes,
				MADV_DONTNEED);
	self->trim_at = resident_bytes(self) + RESIDENT_STEP;
	if (self->trim_at < RESIDENT_BYTES)
		self->trim_at = RESIDENT_BYTES;
}

struct column_store *column_store_map(int fd, u64 bytes)
{
	struct column_store *self = calloc(1, sizeof *self);
	struct extent all = {.bytes = bytes, .used = bytes};

	if (!self)
		return NULL;
	self->fd = self->statm = -1;
	all.at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (all.at == MAP_FAILED) {
		free(self);
		return NULL;
	}
	if (!vec_push(&self->extents, all)) {
		munmap(all.at, bytes);
		free(self);
		return NULL;
	}
	self->source = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* without it copies are made another way */
	return self;
}

const void *column_store_at(const struct column_store *self, u64 offset, u64 bytes)
{
	const struct extent *all = self->extents.data;

	return offset <= all->bytes && bytes <= all->bytes - offset ? all->at + offset : NULL;
}

void *column_store_copy(const struct column_store *self, const void *at, u64 bytes)
{
	u64 unit = (u64)sysconf(_SC_PAGESIZE), offset = column_store_offset(self, at);
	void *copy;

	if (self->fd >= 0 || self->source < 0 || offset % unit || bytes % unit)
		return NULL;
	copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->source, (off_t)offset);
	return copy == MAP_FAILED ? NULL : copy;
}

void column_store_forget(const struct column_store *self, const void *at, u64 bytes)
{
	u64 unit = (u64)sysconf(_SC_PAGESIZE), start = (u64)(uintptr_t)at;
	u64 first = (start + unit - 1) / unit * unit, end = (start + bytes) / unit * unit;

	if ((self->fd < 0 || self->finished) && first < end)
		madvise((void *)(uintptr_t)first, end - first, MADV_DONTNEED);
}

void column_store_rest(const struct column_store *self)
{
	const struct extent *all = self->extents.data;

	if (self->fd < 0 && all->bytes > KEPT_BYTES)
		column_store_forget(self, all->at + KEPT_BYTES, all->bytes - KEPT_BYTES);
	for (u64 i = 0; self->finished && i < self->extents.count; i++)
		column_store_forget(self, all[i].at, all[i].used);
}

void column_store_let_go(const struct column_store *self, const void *page, u64 bytes)
{
	/* as many as fit well into memory stay: the first ones, which are as good as any */
	const struct extent *all = self->extents.data;

	if (self->finished || (const u8 *)page >= all->at + KEPT_BYTES)
		column_store_forget(self, page, bytes);
}

void column_store_free(struct column_store *self)
{
	if (!self)
		return;
	unmap_all(self);
	vec_release(&self->extents);
	if (self->statm >= 0)
		close(self->statm);
	if (self->source >= 0)
		close(self->source);
	free(self);
}
