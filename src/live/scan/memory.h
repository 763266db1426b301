/* SPDX-License-Identifier: MIT
 * The memory of another process that stands still: what is mapped where, and the words in it.
 * Single words go through a cache of pages, because one is rarely alone. */
#ifndef LIVE_SCAN_MEMORY_H
#define LIVE_SCAN_MEMORY_H

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "live/scan/mapping.h"
#include "format/types.h"

enum { SCAN_PAGE = 4096 };

struct scan_span {
	u64 start, end;
};

/* When reading is to be given up. */
struct scan_patience {
	u64 deadline_ns;   /* CLOCK_MONOTONIC; 0 = none */
	const u32 *cancel; /* stops when it is not `cancel_seen`; NULL = never */
	u32 cancel_seen;
};

struct scan_memory {
	u32 pid;
	u32 tid;     /* a thread that still has the memory */
	int pagemap; /* -1 = all pages count as present */
	int mem;     /* for what is protected: armed pages (access/pages/); -1 = it reads as 0 */
	bool asks;   /* the kernel tells which pages were touched, however large it is */
	struct mapping_list mappings;
	struct strbuf maps; /* what /proc says of them, in lines */
	u8 *cache;          /* pages, by number modulo their count */
	u64 cache_mask;     /* their count - 1 */
	u64 *cached;        /* number of the page there, 0 = none */
	u8 *buffer;         /* of SCAN_BUFFER bytes, for ranges and pages */
	u64 next_page;      /* after the last one that was read: reading goes on in order */
	bool gone;          /* the process has vanished: words read as 0 */
	struct scan_patience patience; /* all zero = endless */
};

/* What it is before it is opened and after it is closed: all zero would name descriptor 0, which is
 * another's. */
#define SCAN_MEMORY_CLOSED                                                                         \
	{                                                                                          \
		.pagemap = -1, .mem = -1                                                           \
	}

enum { SCAN_BUFFER = 1 << 20 };

/* session_folder: files below it are shared with the recorder; NULL = memfds only. */
int scan_memory_open(struct scan_memory *self, u32 pid, u32 tid, const char *session_folder,
		     struct err *err);

/* Before single words are asked for. bytes: where they may be wanted from, in all; the cache gets
 * that, within limits. */
int scan_memory_cache(struct scan_memory *self, u64 bytes, struct err *err);
void scan_memory_close(struct scan_memory *self);

/* 0, or a negative code and why there is no point in going on. */
int scan_memory_check(const struct scan_memory *self, struct err *err);

/* Whether the memory can be read, and *value is the word there. */
bool scan_memory_peek(const struct scan_memory *self, u64 address, u64 *value);

/* Reads exactly so many bytes, or nothing: false. Past the cache. */
bool scan_memory_read(struct scan_memory *self, u64 address, void *bytes, u64 count);

/* An aligned word, through the cache; 0 where nothing can be read. */
u64 scan_memory_word(struct scan_memory *self, u64 address);

/* Reads `count` pages, at most SCAN_BUFFER bytes, into the buffer; 0 where nothing can be read. */
void scan_memory_pages(struct scan_memory *self, u64 address, u64 count);

/* The same memory for another thread: with a buffer of its own and no cache, so that single words
 * cannot be asked for. The whole must outlive it. */
int scan_memory_view(struct scan_memory *self, const struct scan_memory *whole, struct err *err);
void scan_memory_close_view(struct scan_memory *self);

/* The first address in [start, end) on a page that was ever touched; end if there is none. */
u64 scan_memory_touched(const struct scan_memory *self, u64 start, u64 end);

/* Calls `words` for pieces of [start, end), aligned words only, without pages that were never
 * touched, as long as its patience lasts. Returns the bytes that were read. */
u64 scan_memory_each_word(struct scan_memory *self, u64 start, u64 end,
			  void (*words)(void *data, u64 address, const u64 *words, u64 count),
			  void *data);

/* Who wants to know which pages are resident. Where the kernel cannot be asked, pages of zeros look
 * like those that a fork shares: the latter are left out, too, if `exclusive`. */
struct page_runs {
	void (*tell)(void *data, u64 start, u64 end);
	void *data;
	bool exclusive;
};

/* Tells of each run of pages in [start, end) that are resident, in order: pages of zeros that the
 * kernel shares among all are not. False if it cannot be known. */
bool scan_memory_resident(const struct scan_memory *self, u64 start, u64 end,
			  const struct page_runs *runs);

/* Reads how much of each mapping is resident, and how much of that in huge pages. */
void scan_memory_weigh(struct scan_memory *self);

/* A page that may not be touched lies below the mapping: it is a thread's stack, most likely. */
bool scan_memory_guarded(const struct scan_memory *self, u64 number);

/* Adds a mapping as /proc tells of it, by address: false without memory. Of a process that runs the
 * kernel tells in several answers, between which mappings join and grow: what was told already is
 * cut off. */
bool scan_memory_add(struct scan_memory *self, struct mapping mapping);

/* The mapping that the address lies in, or NULL. */
const struct mapping *scan_memory_mapping(const struct scan_memory *self, u64 address);

#endif
