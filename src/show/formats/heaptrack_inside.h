/* SPDX-License-Identifier: MIT
 * The inner part of the import of heaptrack's files: what is known while one is read, and the code
 * that its stacks run through. For heaptrack_import.c and heaptrack_code.c only. */
#ifndef SHOW_FORMATS_HEAPTRACK_INSIDE_H
#define SHOW_FORMATS_HEAPTRACK_INSIDE_H

#include "host/base/map.h"
#include "show/formats/heaptrack.h"
#include "show/formats/import.h"

struct segment { /* raw: of a mapped file */
	u64 start, end, base;
	u32 module;
};

struct kind_of_block { /* interpreted: what an 'a' line tells */
	u64 size;
	u32 stack;
};

struct live {
	u64 chunk, size, address;
	u32 stack;
	u64 next; /* older one of the same key + 1, 0 = none */
};

struct importing {
	struct import trace; /* first */
	const struct heaptrack_import *how;
	struct heaptrack_summary *summary;
	struct unpack file;
	u64 version, format;
	bool has_version, told_image, continued;
	bool pointers_told; /* blocks have addresses */
	const char *program, *command;
	u64 page_bytes;

	VEC(const char *) strings;
	VEC(u64) pcs;       /* interpreted: by number of an address less 1 */
	struct map modules; /* hash of a path → number + 1 */
	VEC(const char *) module_paths;
	VEC(u32) module_of_string; /* interpreted: number + 1 */
	VEC(struct segment) segments;
	bool sorted;
	VEC(struct kind_of_block) kinds;
	VEC(struct live) lives;
	u64 unused;       /* list of free places in lives, + 1 */
	struct map heads; /* address, or number of a kind → newest live + 1 */
	u64 next_address;
};

/* The err of a line that does not fit. */
int heaptrack_bad(const char *what, struct err *err);
/* The number at *at, which is moved behind it; false if there is none. */
bool heaptrack_number(const char **at, u64 *number);

/* Exactly `wanted` numbers, or any behind them with more. */
bool heaptrack_numbers(const char *at, u64 *numbers, u32 wanted, bool more);

/* A string, and what stands behind it. In old files it ends at a space, or with the line. NULL if
 * it is not whole. */
const char *heaptrack_string(struct importing *self, const char **at, bool whole_line);

/* Tells the image, if it was not told: before anything else is. */
int heaptrack_need_image(struct importing *self, struct err *err);

/* Lines 'm', 'i' and 't', from behind the letter on. */
int heaptrack_module(struct importing *self, const char *at, struct err *err);
int heaptrack_address(struct importing *self, const char *at, struct err *err);
int heaptrack_stack(struct importing *self, const char *at, struct err *err);

#endif
