/* SPDX-License-Identifier: MIT
 * Reads a stopped process from outside; see memory.h. Runs on a scan's thread. Never writes
 * there, never waits, and takes what cannot be read for zeros. */
#define _GNU_SOURCE
#include "live/scan/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "format/atomics.h"
#include "host/base/search.h"
#include "live/scan/guards.h"
#include "live/scan/question.h"

enum {
	AHEAD = 32, /* pages that are read at once where reading goes on in order */
};
static const u64 MAPS_MAX = 1 << 28;

/* One read costs some microseconds, whatever its size: words that lie all over the heap are found
 * fast only if the heap is in the cache. Of the cache only what is used takes memory. */
static const u64 CACHE_MIN = 1 << 20, CACHE_MAX = (u64)1 << 30;

/* ---- mappings -------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static u8 kind_of(const char *path, const char *session_folder)
{
	if (!*path || starts_with(path, "[anon"))
		return MAPPING_ANONYMOUS;
	if (strcmp(path, "[heap]") == 0)
		return MAPPING_HEAP;
	if (strcmp(path, "[stack]") == 0)
		return MAPPING_STACK;
	if (*path == '[')
		return MAPPING_KERNEL;
	if (starts_with(path, "/memfd:heapwise-") ||
	    (session_folder && starts_with(path, session_folder)))
		return MAPPING_SESSION;
	if (starts_with(path, "/dev/") && !starts_with(path, "/dev/shm/") &&
	    !starts_with(path, "/dev/zero"))
		return MAPPING_DEVICE;
	return MAPPING_FILE;
}

static bool mapping_parse(const char *line, const char *session_folder, struct mapping *mapping)
{
	char permissions[5] = "";
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &mapping->start,
		   &mapping->end, permissions, &mapping->file, &path) != 4 ||
	    !path)
		return false;
	mapping->readable = permissions[0] == 'r';
	mapping->writable = permissions[1] == 'w';
	mapping->executable = permissions[2] == 'x';
	mapping->shared = permissions[3] == 's';
	mapping->kind = kind_of(line + path, session_folder);
	mapping->path = mapping->kind == MAPPING_FILE ? line + path : "";
	mapping->resident_bytes = UINT64_MAX;
	return true;
}

bool scan_memory_add(struct scan_memory *self, struct mapping mapping)
{
	u64 told = self->mappings.count ? self->mappings.data[self->mappings.count - 1].end : 0;

	if (mapping.start < told)
		mapping.start = told;
	return mapping.start >= mapping.end || vec_push(&self->mappings, mapping);
}

static int mappings_read(struct scan_memory *self, const char *session_folder, struct err *err)
{
	struct strbuf *text = &self->maps;
	char path[80], *rest = NULL;
	int status;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/maps", self->pid, self->tid);
	status = io_read_file(path, MAPS_MAX, text, err);
	if (status == 0 && !text->count)
		status = err_set(err, ERR_SYSTEM, "the process has no memory left to read");
	for (char *line = text->count ? strtok_r(text->text, "\n", &rest) : NULL;
	     line && status == 0; line = strtok_r(NULL, "\n", &rest)) {
		struct mapping mapping = {0};

		if (mapping_parse(line, session_folder, &mapping) &&
		    !scan_memory_add(self, mapping))
			status = err_memory(err);
	}
	return status;
}

const struct mapping *scan_memory_mapping(const struct scan_memory *self, u64 address)
{
	u64 low = bisect(at, self->mappings.count, self->mappings.data[at].end <= address);

	if (low == self->mappings.count || self->mappings.data[low].start > address)
		return NULL;
	return &self->mappings.data[low];
}

/* ---- pages that were touched ----------------------------------------------------------------- */

enum { PRESENCE = 4096 }; /* pages that are asked for at once */

/* Pages that were touched, in memory or in the swap, from `first` up to `end`: what was found
 * last. */
struct presence {
	u64 first, end;
	u64 bits[PRESENCE];
};

/* Without that, ranges above this size are not searched: it would take minutes. */
static const u64 WORDS_MAX = (u64)256 << 30;

/* False if this kernel does not know the question. */
static bool ask_for_pages(const struct scan_memory *self, struct presence *presence, u64 page,
			  u64 end)
{
	struct pages_found found = {0};
	struct pages_question question = {
		.size = sizeof(question),
		.start = page * SCAN_PAGE,
		.end = end * SCAN_PAGE,
		.found = (u64)(uintptr_t)&found,
		.found_count = 1,
		.any_of = PAGES_PRESENT | PAGES_SWAPPED,
		.wanted = PAGES_PRESENT | PAGES_SWAPPED,
	};
	int got = ioctl(self->pagemap, PAGES_ASK, &question);

	if (got < 0)
		return false;
	presence->first = got ? found.start / SCAN_PAGE : end;
	presence->end = got ? found.end / SCAN_PAGE : end;
	return true;
}

static bool can_ask(const struct scan_memory *self)
{
	struct presence nothing;
	u64 page = self->mappings.count ? self->mappings.data[0].start / SCAN_PAGE : 1;

	return self->pagemap >= 0 && ask_for_pages(self, &nothing, page, page + 1);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* At most a quarter of the memory that is free. */
int scan_memory_cache(struct scan_memory *self, u64 wanted, struct err *err)
{
	u64 limit = (u64)sysconf(_SC_AVPHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 4;
	u64 bytes = CACHE_MIN;

	while (bytes < wanted && bytes * 2 <= limit && bytes < CACHE_MAX)
		bytes *= 2;
	self->cache = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (self->cache == MAP_FAILED)
		self->cache = NULL;
	self->cache_mask = bytes / SCAN_PAGE - 1;
	self->cached = calloc(self->cache_mask + 1, sizeof(u64));
	return self->cache && self->cached ? 0 : err_memory(err);
}

int scan_memory_open(struct scan_memory *self, u32 pid, u32 tid, const char *session_folder,
		     struct err *err)
{
	char path[80];

	*self = (struct scan_memory)SCAN_MEMORY_CLOSED;
	self->pid = pid;
	self->tid = tid;
	self->buffer = malloc(SCAN_BUFFER);
	if (!self->buffer)
		return err_memory(err);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/pagemap", pid, tid);
	if (sysconf(_SC_PAGESIZE) == SCAN_PAGE)
		self->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/mem", pid, tid);
	self->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mappings_read(self, session_folder, err) < 0) {
		scan_memory_close(self);
		return err->code;
	}
	self->asks = can_ask(self);
	if (self->asks && !guards_part(&self->mappings, self->pagemap)) {
		scan_memory_close(self);
		return err_memory(err);
	}
	return 0;
}

void scan_memory_close(struct scan_memory *self)
{
	if (self->cache)
		munmap(self->cache, (self->cache_mask + 1) * SCAN_PAGE);
	free(self->cached);
	free(self->buffer);
	if (self->pagemap >= 0)
		close(self->pagemap);
	vec_release(&self->mappings);
	strbuf_release(&self->maps);
	if (self->mem >= 0)
		close(self->mem);
	*self = (struct scan_memory)SCAN_MEMORY_CLOSED;
}

int scan_memory_check(const struct scan_memory *self, struct err *err)
{
	const struct scan_patience *patience = &self->patience;

	if (self->gone)
		return err_set(err, ERR_SYSTEM, "the process was killed during the scan");
	if (patience->cancel && load_relaxed(patience->cancel) != patience->cancel_seen)
		return err_set(err, ERR_SYSTEM, "it was interrupted");
	if (!patience->deadline_ns || now_ns() < patience->deadline_ns)
		return 0;
	return err_set(err, ERR_SYSTEM, "it took too long");
}

/* ---- reading --------------------------------------------------------------------------------- */

static i64 read_some(u32 tid, u64 address, void *bytes, u64 count)
{
	struct iovec local = {bytes, count};
	struct iovec remote = {(void *)(uintptr_t)address, count};

	return process_vm_readv((pid_t)tid, &local, 1, &remote, 1, 0);
}

/* What one system call refuses because it is protected, the other gives. */
static i64 read_any(const struct scan_memory *self, u64 address, void *bytes, u64 count)
{
	i64 got = read_some(self->tid, address, bytes, count);

	if (got >= 0 || errno != EFAULT || self->mem < 0)
		return got;
	return pread(self->mem, bytes, count, (off_t)address);
}

bool scan_memory_peek(const struct scan_memory *self, u64 address, u64 *value)
{
	return read_any(self, address, value, sizeof(*value)) == (i64)sizeof(*value);
}

static void note_failure(struct scan_memory *self)
{
	if (errno == ESRCH)
		self->gone = true;
}

bool scan_memory_read(struct scan_memory *self, u64 address, void *bytes, u64 count)
{
	i64 got = read_any(self, address, bytes, count);

	if (got < 0)
		note_failure(self);
	return got == (i64)count;
}

/* Reads whole pages; those that cannot be read become zeros. */
static void read_pages(struct scan_memory *self, u64 address, u8 *bytes, u64 count)
{
	while (count && !self->gone) {
		i64 got = read_any(self, address, bytes, count);

		if (got < 0) {
			note_failure(self);
			got = 0;
		}
		got -= got % SCAN_PAGE;
		address += (u64)got;
		bytes += got;
		count -= (u64)got;
		if (!count)
			return;
		if (got)
			continue; /* what follows may be protected */
		memset(bytes, 0, SCAN_PAGE);
		address += SCAN_PAGE;
		bytes += SCAN_PAGE;
		count -= SCAN_PAGE;
	}
	memset(bytes, 0, count);
}

/* ---- cache ----------------------------------------------------------------------------------- */

static inline u8 *page_place(const struct scan_memory *self, u64 page)
{
	return self->cache + (page & self->cache_mask) * SCAN_PAGE;
}

static inline bool page_is_cached(const struct scan_memory *self, u64 page)
{
	return self->cached[page & self->cache_mask] == page;
}

/* Reads `count` pages, each to its place. One that cannot be read ends the kernel's transfer: it is
 * read again alone, and what comes after it, too. */
static void pages_read(struct scan_memory *self, const u64 *pages, u32 count)
{
	struct iovec local[AHEAD], remote[AHEAD];
	i64 got;

	for (u32 i = 0; i < count; i++) {
		local[i] = (struct iovec){page_place(self, pages[i]), SCAN_PAGE};
		remote[i] = (struct iovec){(void *)(uintptr_t)(pages[i] * SCAN_PAGE), SCAN_PAGE};
		self->cached[pages[i] & self->cache_mask] = pages[i];
	}
	got = process_vm_readv((pid_t)self->tid, local, count, remote, count, 0);
	if (got == (i64)count * SCAN_PAGE)
		return;
	if (got < 0)
		note_failure(self);
	for (u32 i = got > 0 ? (u32)(got / SCAN_PAGE) : 0; i < count; i++)
		read_pages(self, pages[i] * SCAN_PAGE, page_place(self, pages[i]), SCAN_PAGE);
}

static void page_miss(struct scan_memory *self, u64 page)
{
	u64 wanted[AHEAD];
	u32 count = page == self->next_page ? AHEAD : 1;
	const struct mapping *mapping =
		count > 1 ? scan_memory_mapping(self, page * SCAN_PAGE) : NULL;

	if (mapping && mapping->end / SCAN_PAGE - page < count)
		count = (u32)(mapping->end / SCAN_PAGE - page);
	for (u32 i = 0; i < count; i++)
		wanted[i] = page + i;
	pages_read(self, wanted, count);
	self->next_page = page + count;
}

u64 scan_memory_word(struct scan_memory *self, u64 address)
{
	u64 page = address / SCAN_PAGE, word;

	if (unlikely(!page_is_cached(self, page)))
		page_miss(self, page);
	memcpy(&word, page_place(self, page) + address % SCAN_PAGE, sizeof(word));
	return word;
}

void scan_memory_pages(struct scan_memory *self, u64 address, u64 count)
{
	read_pages(self, address, self->buffer, count * SCAN_PAGE);
}

int scan_memory_view(struct scan_memory *self, const struct scan_memory *whole, struct err *err)
{
	*self = *whole;
	self->cache = NULL;
	self->cached = NULL;
	self->buffer = malloc(SCAN_BUFFER);
	return self->buffer ? 0 : err_memory(err);
}

void scan_memory_close_view(struct scan_memory *self)
{
	free(self->buffer); /* all else is the whole's */
	*self = (struct scan_memory)SCAN_MEMORY_CLOSED;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The same from a word per page, for some thousand of them. */
static void read_page_words(const struct scan_memory *self, struct presence *presence, u64 page,
			    u64 end)
{
	u64 wanted = end - page < PRESENCE ? end - page : PRESENCE, count, i = 0;
	ssize_t got = pread(self->pagemap, presence->bits, wanted * sizeof(u64),
			    (off_t)(page * sizeof(u64)));

	count = got > 0 ? (u64)got / sizeof(u64) : 0;
	if (!count) {
		presence->first = page;
		presence->end = end;
		return;
	}
	while (i < count && !(presence->bits[i] >> 62))
		i++;
	presence->first = page + i;
	while (i < count && presence->bits[i] >> 62)
		i++;
	presence->end = page + i;
}

/* The next pages from `page` on that were touched: presence->first up to ->end; first may be beyond
 * what was looked at, then the caller asks again from there. */
static void pages_find(const struct scan_memory *self, struct presence *presence, u64 page, u64 end)
{
	if (page >= presence->first && page < presence->end) {
		presence->first = page;
		return;
	}
	presence->first = page;
	presence->end = end;
	if (self->pagemap < 0)
		return;
	if (!self->asks || !ask_for_pages(self, presence, page, end))
		read_page_words(self, presence, page, end);
}

u64 scan_memory_touched(const struct scan_memory *self, u64 start, u64 end)
{
	struct presence presence;
	u64 page = start / SCAN_PAGE, end_page = (end + SCAN_PAGE - 1) / SCAN_PAGE;

	if (!self->asks && end - start > WORDS_MAX)
		return end;

	while (page < end_page) {
		presence.first = presence.end = 0;
		pages_find(self, &presence, page, end_page);
		page = presence.first;
		if (presence.end > page)
			break;
	}
	if (page * SCAN_PAGE > start)
		start = page * SCAN_PAGE;
	return start < end ? start : end;
}

enum { RUNS = 256 }; /* that are asked for at once */

static bool ask_for_resident(const struct scan_memory *self, u64 start, u64 end,
			     const struct page_runs *runs)
{
	struct pages_found found[RUNS];

	while (start < end) {
		struct pages_question question = {
			.size = sizeof(question),
			.start = start,
			.end = end,
			.found = (u64)(uintptr_t)found,
			.found_count = RUNS,
			.inverted = PAGES_ZERO,
			.all_of = PAGES_PRESENT | PAGES_ZERO,
			.wanted = PAGES_PRESENT,
		};
		int got = ioctl(self->pagemap, PAGES_ASK, &question);

		if (got < 0)
			return false;
		for (int i = 0; i < got; i++)
			runs->tell(runs->data, found[i].start, found[i].end);
		if (question.walk_end <= start)
			break;
		start = question.walk_end;
	}
	return true;
}

/* Present; and mapped here alone, or from a file. */
static bool word_is_resident(u64 word, bool exclusive)
{
	return word >> 63 && (!exclusive || word >> 56 & 1 || word >> 61 & 1);
}

/* The same from a word per page. */
static bool read_resident(const struct scan_memory *self, u64 start, u64 end,
			  const struct page_runs *runs)
{
	u64 words[4096];

	for (u64 page = start / SCAN_PAGE; page < end / SCAN_PAGE;) {
		u64 wanted = end / SCAN_PAGE - page, count, first;
		ssize_t got;

		if (wanted > sizeof(words) / sizeof(words[0]))
			wanted = sizeof(words) / sizeof(words[0]);
		got = pread(self->pagemap, words, wanted * sizeof(u64),
			    (off_t)(page * sizeof(u64)));
		count = got > 0 ? (u64)got / sizeof(u64) : 0;
		if (!count)
			return false;
		for (u64 i = 0; i < count;) {
			for (first = i; i < count && word_is_resident(words[i], runs->exclusive);
			     i++) {
			}
			if (i > first)
				runs->tell(runs->data, (page + first) * SCAN_PAGE,
					   (page + i) * SCAN_PAGE);
			else
				i++;
		}
		page += count;
	}
	return true;
}

bool scan_memory_resident(const struct scan_memory *self, u64 start, u64 end,
			  const struct page_runs *runs)
{
	if (self->pagemap < 0 || (!self->asks && end - start > WORDS_MAX))
		return false;
	return self->asks ? ask_for_resident(self, start, end, runs)
			  : read_resident(self, start, end, runs);
}

void scan_memory_weigh(struct scan_memory *self)
{
	struct mapping *at = self->mappings.data, *last = at + self->mappings.count;
	char path[80], *line = NULL;
	size_t room = 0;
	bool found = false; /* the lines are about the mapping at `at` */
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/smaps", self->pid, self->tid);
	file = fopen(path, "re");
	while (file && at < last && getline(&line, &room, file) > 0) {
		u64 start, end, kilobytes;

		if (found && sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1)
			at->resident_bytes = kilobytes * 1024;
		if (found && sscanf(line, "AnonHugePages: %" SCNu64, &kilobytes) == 1)
			at->huge_bytes = kilobytes * 1024;
		if (found && starts_with(line, "VmFlags:") && !strstr(line, " hg"))
			at->huge_bytes = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) != 2)
			continue;
		while (at < last && at->start < start)
			at++;
		found = at < last && at->start == start && at->end == end;
	}
	free(line);
	if (file)
		fclose(file);
}

bool scan_memory_guarded(const struct scan_memory *self, u64 number)
{
	const struct mapping *mapping = &self->mappings.data[number];

	return number && mapping[-1].end == mapping->start && !mapping[-1].readable &&
	       !mapping[-1].writable;
}

u64 scan_memory_each_word(struct scan_memory *self, u64 start, u64 end,
			  void (*words)(void *data, u64 address, const u64 *words, u64 count),
			  void *data)
{
	struct presence presence = {0};
	struct err unsaid = {0}; /* the next who asks will say it */
	u64 at = (start + 7) & ~7ull, total = 0;
	u64 end_page = end / SCAN_PAGE + (end % SCAN_PAGE != 0);

	end &= ~7ull;
	if (at < start || (!self->asks && at < end && end - at > WORDS_MAX))
		return 0;
	while (at < end && scan_memory_check(self, &unsaid) == 0) {
		u64 page, after, low, high;

		pages_find(self, &presence, at / SCAN_PAGE, end_page);
		page = presence.first;
		after = presence.end;
		if (page > at / SCAN_PAGE)
			at = page * SCAN_PAGE;
		if (at >= end || after <= page)
			continue;
		if (after - page > SCAN_BUFFER / SCAN_PAGE)
			after = page + SCAN_BUFFER / SCAN_PAGE;
		read_pages(self, page * SCAN_PAGE, self->buffer, (after - page) * SCAN_PAGE);
		low = at - page * SCAN_PAGE;
		high = (after * SCAN_PAGE < end ? after * SCAN_PAGE : end) - page * SCAN_PAGE;
		/* The callback may look at single words, but not read ranges. */
		words(data, at, (const u64 *)(const void *)(self->buffer + low), (high - low) / 8);
		total += high - low;
		at = page * SCAN_PAGE + high;
	}
	return total;
}
