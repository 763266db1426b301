/* SPDX-License-Identifier: MIT
 * Makes the types index of a program's sources: parses translation units with libclang, as many at
 * a time as there are threads, and writes what they say about allocations
 * (host/symbols/types/index.h). Units that did not change since the index was written are taken
 * from it. */
#ifndef HOST_SYMBOLS_INDEXER_INDEXER_H
#define HOST_SYMBOLS_INDEXER_INDEXER_H

#include "host/base/err.h"
#include "format/types.h"

struct indexer_options {
	const char *database;     /* compile_commands.json or its folder; NULL = files */
	const char *const *files; /* sources to parse with flags */
	u32 file_count;
	const char *const *flags;
	u32 flag_count;
	const char *const *functions; /* more functions that allocate */
	u32 function_count;
	const char *output;
	u32 threads;                                /* 0 = one per CPU */
	bool anew;                                  /* parse all units */
	void (*progress)(void *self, double share); /* may be NULL; may be called by any thread */
	void *progress_self;
};

struct indexer_summary {
	u64 units;  /* translation units */
	u64 parsed; /* that had to be read */
	u64 failed; /* that could not be read at all */
	u64 errors; /* in the sources, as libclang sees them: types near them may be missing */
	u64 files;  /* that the units consist of */
	u64 places; /* in the source that allocate or may do so */
	u64 typed;  /* of which a type is known */
	u64 index_bytes;
	char first_error[512]; /* "" = none */
	char compiler[128];    /* libclang's version */
};

/* Whether this program was built to do so; if not, err says what is missing. */
int indexer_run(const struct indexer_options *options, struct indexer_summary *summary,
		struct err *err);

#endif
