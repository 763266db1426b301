/* SPDX-License-Identifier: MIT
 * What a store keeps of a run, made from its trace: rows for each table. */
#ifndef SHOW_FLEET_GATHER_H
#define SHOW_FLEET_GATHER_H

#include "show/formats/export.h"
#include "show/fleet/dictionary.h"

/* What the trace does not tell of its run. */
struct run_about {
	const char *host;
	const char *version;       /* "" = unknown */
	const char *build;         /* instead of the program's build-id; NULL = that */
	const char *const *labels; /* "key=value" */
	u32 label_count;
	u64 time;           /* seconds since 1970 */
	bool chunks, trace; /* every chunk; the file itself */
};

/* Rows on their way to one shard. */
struct batch { /* all zero = empty */
	struct strbuf rows[FLEET_TABLES];
	u64 counts[FLEET_TABLES];
	struct dictionary stacks, names;
	VEC(u16) days; /* of its runs */
	/* Called when a table has many rows, which it may send and take out. */
	int (*spill)(void *self, enum fleet_table table, struct err *err);
	void *self;
};

/* Adds a run, whose row of `runs` is not added but put into *run_row: it goes last. job: with types
 * of points, and .types for what is in chunks; may have none. */
struct run_source {
	const struct export_job *job;
	const struct run_about *about;
	u64 run, push;
};
int batch_add(struct batch *self, const struct run_source *source, struct err *err);
void batch_release(struct batch *self);

/* The same for all copies of a trace, also when names were added to one: what its blocks say, but
 * for those of names. */
int run_id(const char *path, u32 image, u64 *run, struct err *err);

/* The program's build: what the user said, or its build-id, for which the text is; "" = unknown. */
const char *run_build(const struct run_source *source, struct strbuf *text);

/* Days since 1970. */
static inline u16 day_of(u64 seconds) { return (u16)(seconds / 86400); }

#endif
