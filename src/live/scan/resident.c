/* SPDX-License-Identifier: MIT
 * Looks at the memory of a recorded process; see resident.h. Runs on the drain thread. Reads /proc
 * and the recorder's list of its own mappings, nothing else of the program. */
#define _GNU_SOURCE
#include "live/scan/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "format/atomics.h"
#include "format/shadow.h"
#include "format/ticks.h"
#include "host/base/order.h"
#include "live/scan/glibc.h"
#include "live/scan/memory.h"
#include "live/scan/tcache.h"

enum {
	OWN_MAX = 1 << 14,  /* as many as the recorder lists */
	ROWS_MAX = 1 << 15, /* from then on a mapping is one row */
	TRIES = 3,
	MOVED_PART = 100,
	MOVED_BYTES = 1 << 20,
};

struct look {
	struct scan_memory memory;
	VEC(struct stream_resident) rows;
	struct hw_range *own; /* by start */
	u64 own_count;
	VEC(u64) code; /* files that are mapped to be executed */
	struct tcaches caches;
	u64 first; /* row of the mapping in progress */
	u32 kind;
	bool shadow; /* accesses are recorded */
	/* of the mapping in progress only what no other process has counts; see
	 * scan_memory_resident */
	bool exclusive;
	bool moved;  /* too much changed meanwhile */
	bool failed; /* out of memory */
};

static int by_start(const void *a, const void *b)
{
	const struct hw_range *x = a, *y = b;

	return rising(x->start, y->start);
}

static void own_read(struct look *self, const struct hw_control *control)
{
	u64 count = load_relaxed(&control->own_maps_count),
	    address = load_relaxed(&control->own_maps);

	if (count > OWN_MAX)
		count = OWN_MAX;
	self->own = calloc(count + 1, sizeof(*self->own));
	if (!self->own || !count || !address ||
	    !scan_memory_read(&self->memory, address, self->own, count * sizeof(*self->own)))
		return;
	self->own_count = count;
	qsort(self->own, count, sizeof(*self->own), by_start);
}

/* An exec may just have put another program in its place. */
static bool is_recorded(const struct look *self, const struct hw_control *control)
{
	u64 word = 0;

	return scan_memory_peek(&self->memory, load_relaxed(&control->witness), &word) &&
	       word == load_relaxed(&control->start_ticks);
}

/* In bytes; 0 = unknown. */
static u64 number_of(const struct strbuf *text, const char *key)
{
	const char *at = strstr(strbuf_text(text), key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

/* The kernel's own sums at this moment. */
static void sums_read(struct stream_memory *told, u32 pid)
{
	struct strbuf text = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/smaps_rollup", pid);
	if (io_read_file(path, 65536, &text, NULL) == 0) {
		told->rss_bytes = number_of(&text, "\nRss:");
		told->huge_bytes = number_of(&text, "\nAnonHugePages:");
	}
	strbuf_clear(&text);
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (io_read_file(path, 65536, &text, NULL) == 0)
		told->high_bytes = number_of(&text, "\nVmHWM:");
	strbuf_release(&text);
}

/* By the kernel's counters, in bytes, which is quick but not exact; 0 = unknown. */
static u64 counter_read(u32 pid)
{
	unsigned long long pages = 0;
	struct strbuf text = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	if (io_read_file(path, 256, &text, NULL) == 0)
		sscanf(strbuf_text(&text), "%*u %llu", &pages);
	strbuf_release(&text);
	return pages * SCAN_PAGE;
}

/* How many bytes were resident before the kernel's sum was read, after it, and at the end. */
struct counters {
	u64 before, then, after; /* 0 = unknown */
};

static bool are_known(const struct counters *self)
{
	return self->before && self->then && self->after;
}

/* The kernel's sum as the pages are read, in the middle of `then` and `after`; it was read in the
 * middle of `before` and `then`. */
static u64 sum_of_pages(const struct counters *self, u64 rss_bytes)
{
	i64 grown = (i64)(self->after - self->before) / 2;

	return are_known(self) && (grown > 0 || rss_bytes > (u64)-grown) ? rss_bytes + (u64)grown
									 : rss_bytes;
}

/* So much came or went meanwhile that the sum and the pages are not of one moment: the monitor had
 * to wait for a CPU, most likely. */
static bool has_moved(const struct counters *self)
{
	u64 low = self->before < self->after ? self->before : self->after;
	u64 high = self->before < self->after ? self->after : self->before;

	return are_known(self) && high - low > high / MOVED_PART && high - low > MOVED_BYTES;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void run_add(void *data, u64 start, u64 end)
{
	struct look *self = data;
	struct stream_resident row = {.start = start,
				      .bytes = end - start,
				      .resident_bytes = end - start,
				      .kind = self->kind,
				      .goes_on = self->rows.count > self->first};
	struct stream_resident *last = row.goes_on ? &self->rows.data[self->rows.count - 1] : NULL;

	if (last && last->start + last->bytes == start) {
		last->bytes += row.bytes;
		last->resident_bytes += row.bytes;
	} else if (!vec_push(&self->rows, row)) {
		self->failed = true;
	}
}

/* Makes one row of the mapping's: where blocks cannot be, which pages are resident says nothing. */
static void rows_join(struct look *self)
{
	struct stream_resident *row = &self->rows.data[self->first];
	const struct stream_resident *last;

	if (self->rows.count == self->first)
		return;
	last = &self->rows.data[self->rows.count - 1];
	for (u64 i = self->first + 1; i < self->rows.count; i++)
		row->resident_bytes += self->rows.data[i].resident_bytes;
	row->bytes = last->start + last->bytes - row->start;
	self->rows.count = self->first + 1;
}

static bool may_have_blocks(u32 kind)
{
	return kind == MEMORY_ANONYMOUS || kind == MEMORY_BREAK || kind == MEMORY_GUARDED;
}

/* goes_on: a part of this mapping was looked at before. */
static void range_look(struct look *self, u64 start, u64 end, u32 kind, bool *goes_on)
{
	self->kind = kind;
	self->first = self->rows.count;
	if (start >= end)
		return;
	scan_memory_resident(&self->memory, start, end,
			     &(struct page_runs){run_add, self, self->exclusive});
	if (!may_have_blocks(kind) || self->rows.count > ROWS_MAX)
		rows_join(self);
	if (kind != MEMORY_RECORDER && self->rows.count > self->first) {
		self->rows.data[self->first].goes_on = *goes_on;
		*goes_on = true;
	}
}

static bool has_code(const struct look *self, u64 file)
{
	for (u64 i = 0; i < self->code.count; i++)
		if (self->code.data[i] == file)
			return true;
	return false;
}

static void code_find(struct look *self)
{
	for (u64 i = 0; i < self->memory.mappings.count; i++) {
		const struct mapping *mapping = &self->memory.mappings.data[i];

		if (mapping->kind == MAPPING_FILE && mapping->executable &&
		    !has_code(self, mapping->file) && !vec_push(&self->code, mapping->file))
			self->failed = true;
	}
}

/* Data of a module that no file backs (.bss) follows what a file does back. */
static bool is_module_data(const struct look *self, u64 number)
{
	const struct mapping *mapping = &self->memory.mappings.data[number];

	return number && mapping[-1].end == mapping->start && mapping[-1].kind == MAPPING_FILE &&
	       mapping[-1].writable && has_code(self, mapping[-1].file);
}

static u32 kind_of(const struct look *self, u64 number)
{
	const struct mapping *mapping = &self->memory.mappings.data[number];

	switch (mapping->kind) {
	case MAPPING_HEAP: return MEMORY_BREAK;
	case MAPPING_STACK: return MEMORY_STACK;
	case MAPPING_SESSION: return MEMORY_RECORDER;
	case MAPPING_KERNEL: return MEMORY_MODULE;
	case MAPPING_ANONYMOUS: break;
	default:
		return mapping->file && has_code(self, mapping->file) ? MEMORY_MODULE : MEMORY_FILE;
	}
	if (is_module_data(self, number))
		return MEMORY_MODULE;
	if (self->shadow && (mapping->start - HW_SHADOW_OFFSET < HW_SHADOW_BYTES ||
			     mapping->start == HW_BOARD_ADDRESS))
		return MEMORY_RECORDER;
	return scan_memory_guarded(&self->memory, number) ? MEMORY_GUARDED : MEMORY_ANONYMOUS;
}

/* The kernel joins neighbours: a mapping may be the recorder's in part. Returns what was found to
 * be resident. */
static u64 parts_look(struct look *self, const struct mapping *mapping, u32 kind)
{
	u64 at = mapping->start, before = self->rows.count, bytes = 0;
	bool goes_on = false;

	for (u64 i = 0; i < self->own_count && self->own[i].start < mapping->end; i++) {
		u64 end = self->own[i].start + self->own[i].bytes;

		if (end <= at || end < self->own[i].start)
			continue;
		if (self->own[i].start > at) {
			range_look(self, at, self->own[i].start, kind, &goes_on);
			at = self->own[i].start;
		}
		end = end < mapping->end ? end : mapping->end;
		end = (end + SCAN_PAGE - 1) & ~(u64)(SCAN_PAGE - 1);
		range_look(self, at, end, MEMORY_RECORDER, &goes_on);
		at = end;
	}
	range_look(self, at, mapping->end, kind, &goes_on);
	for (u64 i = before; i < self->rows.count; i++)
		bytes += self->rows.data[i].resident_bytes;
	return bytes;
}

/* One row, without a look at each page: kernels that cannot be asked have a word for each, touched
 * or not, and files and our own memory may be large. */
static bool weight_is_enough(struct look *self, const struct mapping *mapping, u32 kind)
{
	if (mapping->resident_bytes == UINT64_MAX ||
	    (mapping->resident_bytes && kind != MEMORY_RECORDER && kind != MEMORY_FILE))
		return false;
	if (mapping->resident_bytes &&
	    !vec_push(&self->rows,
		      ((struct stream_resident){.start = mapping->start,
						.bytes = mapping->end - mapping->start,
						.resident_bytes = mapping->resident_bytes,
						.kind = kind})))
		self->failed = true;
	return true;
}

static void mapping_look(struct look *self, u64 number)
{
	const struct mapping *mapping = &self->memory.mappings.data[number];
	u32 kind = kind_of(self, number);
	u64 before = self->rows.count, bytes, few;

	if (weight_is_enough(self, mapping, kind))
		return;
	bytes = parts_look(self, mapping, kind);
	if (bytes <= mapping->resident_bytes)
		return;
	/* Pages of zeros were among them; or, if too few are left without those, the program grows
	 * meanwhile, or shares pages with a fork. */
	self->rows.count = before;
	self->exclusive = true;
	few = parts_look(self, mapping, kind);
	self->exclusive = false;
	if (few < mapping->resident_bytes &&
	    mapping->resident_bytes - few > bytes - mapping->resident_bytes) {
		self->rows.count = before;
		parts_look(self, mapping, kind);
	}
}

/* ---- caches of threads ----------------------------------------------------------------------- */

static void caches_look(struct look *self, const struct berth *berth)
{
	u32 count = load_acquire(&berth->control->slots_used);
	struct tcache_thread *threads;

	if (count > berth->layout.slots_max)
		count = berth->layout.slots_max;
	threads = calloc((u64)count + 1, sizeof(*threads));

	for (u32 i = 0; i < count && threads; i++) {
		const struct hw_slot *slot = berth_slot(berth, i);

		threads[i] = (struct tcache_thread){load_relaxed(&slot->thread_pointer),
						    load_relaxed(&slot->tid)};
	}
	self->failed |= !threads || !tcaches_read(&self->caches, &self->memory, threads, count);
	free(threads);
}

static void look_release(struct look *self)
{
	free(self->own);
	vec_release(&self->rows);
	vec_release(&self->code);
	tcaches_release(&self->caches);
	scan_memory_close(&self->memory);
}

/* Everything at one moment, as far as it can be; false if nothing can be seen. */
static bool look_take(struct look *self, struct stream_memory *told, const struct berth *berth,
		      const struct berths *berths)
{
	struct counters counters = {.before = counter_read(berth->pid)};
	struct err unseen = {0}; /* why nothing can be seen: it has ended, most likely */

	if (scan_memory_open(&self->memory, berth->pid, berth->pid,
			     berths->files ? berths->folder : NULL, &unseen) < 0)
		return false;
	self->shadow = load_relaxed(&berth->control->access) != HW_ACCESS_NONE;
	own_read(self, berth->control);
	sums_read(told, berth->pid);
	counters.then = counter_read(berth->pid);
	code_find(self);
	if (!self->memory.asks)
		scan_memory_weigh(&self->memory);
	/* what comes before takes its time, and the program may be growing */
	told->ticks = hw_ticks();
	for (u64 i = 0; i < self->memory.mappings.count && !self->failed; i++)
		mapping_look(self, i);
	counters.after = counter_read(berth->pid);
	told->rss_bytes = sum_of_pages(&counters, told->rss_bytes);
	told->libc_huge_bytes = told->huge_bytes ? glibc_huge_bytes(&self->memory) : 0;
	self->moved = has_moved(&counters);
	return true;
}

int resident_tell(const struct berth *berth, const struct berths *berths, u32 why,
		  const struct stream_sink *sink, struct err *err)
{
	struct stream_memory told;
	struct look look;
	int status = 0;

	if (!sink->memory)
		return 0;
	for (u32 i = 0; i < TRIES; i++) {
		told = (struct stream_memory){.moment =
						      why == MEMORY_LAST ? MEMORY_END : MEMORY_NOW,
					      .why = why};
		look = (struct look){0};
		if (!look_take(&look, &told, berth, berths))
			return 0;
		if (!look.moved || i + 1 == TRIES)
			break;
		look_release(&look);
	}
	caches_look(&look, berth);
	told.rows = look.rows.data;
	told.count = look.rows.count;
	told.cached = look.caches.blocks.data;
	told.cached_count = look.caches.blocks.count;
	told.caches_read = look.caches.read;
	told.caches_unread = look.caches.unread;
	/* Nothing is seen of a process that has just ended, or became another user's. */
	if (!look.failed && told.rss_bytes && told.count && is_recorded(&look, berth->control))
		status = sink->memory(sink->self, &told, err);
	look_release(&look);
	return status;
}
