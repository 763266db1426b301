/* SPDX-License-Identifier: MIT
 * Dumps of allocation entries (HeapLog version 4) from a trace that may still be growing: when the
 * program or `heapwise ctl` asks for one, regular ones, and the one at the end. */
#ifndef SHOW_CLI_DUMPS_H
#define SHOW_CLI_DUMPS_H

#include "show/cli/command.h"
#include "live/record/dump.h"

enum { DUMP_PATH = 4096 };

struct dump_job {
	const struct command *command;
	const char *trace;
	const char *to;          /* NULL = a name beside the trace, with the next free number */
	u32 entries;             /* enum heaplog_entries */
	u64 every, sets_written; /* see struct heaplog_options */
	bool sizes;              /* count the elements of types, for which debug info is read */
	bool names; /* look up names of functions that the trace does not have; it is not changed */
};

struct dump_done {
	char path[DUMP_PATH]; /* that was written; "" if there were only full sets */
	u64 live, freed;      /* entries that the trace has */
};

/* What may be damaged is removed. */
int dump_write(const struct dump_job *job, struct dump_done *done, struct err *err);

/* The dumps of a run. */
struct dumps { /* all zero but for what is wanted: to and every */
	const char *
		/* of the dump at the end, and with .0001 … of regular ones; NULL = there are
		 * none */
		to;
	char trace[DUMP_PATH]; /* that the sets are of */
	u64 every;             /* freed entries of a regular dump; 0 = there are none */
	u64 sets_written;
	struct err err; /* the first that went wrong; code 0 = none */
};

/* While the program runs, on whatever thread wants a dump: 0 or an errno. */
int dumps_write(struct dumps *self, const struct dump_wish *wish);

/* After the program's end. */
int dumps_finish(struct dumps *self, const char *trace, struct dump_done *done, struct err *err);

#endif
