/* SPDX-License-Identifier: MIT
 * The program's memory at a moment: regions in which chunks lie, and a picture of a part of it. */
#ifndef STUDY_LAYOUT_MEMORY_H
#define STUDY_LAYOUT_MEMORY_H

#include "study/layout/scope.h"
#include "study/layout/timeline.h"

/* Live chunks of the scope at a moment, by address. */
struct memory_chunk {
	u64 address, size;
	u64 number;
};

struct memory_moment { /* all zero = empty */
	VEC(struct memory_chunk) chunks;
	u64 at_ns;
};

int memory_moment_make(struct memory_moment *self, const struct view_scope *scope, u64 at_ns,
		       struct err *err);
void memory_moment_release(struct memory_moment *self);

/* Chunks that are closer together than REGION_GAP. Which mapping of the system it is was not
 * recorded. */
enum { REGION_GAP_BITS = 20 };
#define REGION_GAP (1ull << REGION_GAP_BITS)

struct memory_region {
	u64 start, end;
	u64 live_bytes, chunks;
	u64 free_bytes, largest_free; /* between its chunks */
};

struct memory_holes {
	u64 count, bytes;
};

struct memory_regions {                                 /* all zero = empty */
	VEC(struct memory_region) rows;                 /* by address */
	struct memory_holes holes[REGION_GAP_BITS + 1]; /* of all of them, from 2^i bytes on */
};

int memory_regions_make(struct memory_regions *self, const struct memory_moment *moment,
			struct err *err);

/* The chunk that has the address, or NULL. */
const struct memory_chunk *memory_find(const struct memory_moment *moment, u64 address);

enum memory_color {
	COLOR_ALTERNATE_CHUNKS,
	COLOR_TYPE,
	COLOR_MODULE,
	COLOR_THREAD,
	COLOR_AGE,
	COLOR_SEV,
	COLOR_FN,
	COLOR_QUERY,   /* as color stages of the query say */
	COLOR_ACCOUNT, /* of resident memory; see memory_account.h */
	MEMORY_COLORS
};
bool memory_color_parse(const char *word, enum memory_color *color);

enum { MEMORY_PIXELS_MAX = 1 << 20, MEMORY_RUNS_MAX = 20000, MEMORY_PALETTE = 255 };

struct memory_query {
	u64 base;
	u64 bytes_per_pixel;
	u32 width, height;
	enum memory_color color;
	bool fit; /* by account: base, scale and height are found; see memory_account_fit */
};

struct memory_run { /* pixels of one chunk */
	u32 start, count;
	u64 chunk;
};

struct memory_page {      /* of the allocator, resident */
	u32 start, count; /* pixels */
	u64 address;
	u64 chunk;      /* a live one there, if there is one */
	u32 live_bytes; /* headers and rounding included; 0 = the page is free */
	bool pinned;    /* by that one alone, which takes less than half of it */
};

struct memory_view { /* all zero = empty */
	u8 *pixels;  /* 0 = free, then 1 + index of the legend */
	VEC(const char *) legend;
	VEC(struct memory_run) runs;   /* not by account */
	VEC(struct memory_page) pages; /* by account */
	bool truncated;                /* more runs than are told */
	struct arena arena;
};

int memory_view_make(struct memory_view *self, const struct view_scope *scope,
		     const struct memory_moment *moment, const struct memory_query *query,
		     struct err *err);
void memory_view_release(struct memory_view *self);

#endif
