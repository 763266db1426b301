/* SPDX-License-Identifier: MIT
 * One translation unit: how to parse it, and what was found in it. */
#ifndef HOST_SYMBOLS_INDEXER_UNIT_H
#define HOST_SYMBOLS_INDEXER_UNIT_H

#include "host/base/arena.h"
#include "host/base/map.h"
#include "host/symbols/indexer/clang.h"
#include "host/symbols/indexer/indexer.h"
#include "host/symbols/names.h"
#include "host/symbols/types/index.h"

struct unit {
	const char *folder;          /* where the compiler ran, absolute */
	const char *path;            /* absolute */
	const char **flags;          /* that matter for parsing */
	u32 flag_count, plain_count; /* of them the first are safe for any version of libclang */
	u64 key;
	bool parsed, failed;
	u64 errors;
	char first_error[512];
	/* What was found; files of sites are numbers of the unit's own list. */
	struct names texts;
	VEC(const char *) files; /* absolute; texts */
	struct map file_of_text; /* address of a kept path → number */
	VEC(struct type_site) sites;
	bool no_memory;
	/* Or what the old index has: the number of its unit. */
	u64 old;
};

#define NO_OLD_UNIT UINT64_MAX

/* Reads the compile commands, or makes them of files and flags. */
struct unit_list {
	struct arena arena;
	VEC(struct unit) units;
};

int unit_list_read(struct unit_list *self, const struct clang *clang,
		   const struct indexer_options *options, struct err *err);
void unit_list_release(struct unit_list *self);

/* Number of the file in the unit's list; UINT32_MAX if there is no memory. */
u32 unit_file(struct unit *self, const char *path);

/* Parses and walks. Never fails as such: self->failed says that nothing could be read. */
void unit_parse(struct unit *self, const struct clang *clang,
		const struct indexer_options *options);

#endif
