/* SPDX-License-Identifier: MIT
 * HeapLog version 4, the dumps of the type-preserving heap profiler of Mihalicza, Porkoláb and
 * Gábor (2011, section III), to and from trace files. A dump is a line with the names of the
 * columns and a row for each allocation entry:
 *
 *	HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node
 *	22A19EC8, 32, 8, 0073D411, 132, 132, 022B7864
 *
 * Addresses, type_id and callgraph_node are hexadecimal. freed_tick 0: not freed. type_id 0:
 * unknown. The paper has the call graph in a dump of its own, whose form it does not show, and the
 * names of types and functions in the linker's map file. A full dump of ours says both in two
 * further tables of the same manner, so that it can be read alone; in them the name is the rest of
 * the line:
 *
 *	CallGraph|version=4|node|parent|address|function
 *	022B7864, 022B7810, 00401A2C, Editor::load(char const*)
 *	Types|version=4|type_id|name
 *	0073D411, std::vector<int, std::allocator<int> > */
#ifndef SHOW_FORMATS_HEAPLOG_H
#define SHOW_FORMATS_HEAPLOG_H

#include "format/types.h"
#include "host/base/err.h"

enum heaplog_entries {
	HEAPLOG_ALL,
	HEAPLOG_FREED, /* without the further tables, as the paper's regular dumps */
	HEAPLOG_LIVE,
	HEAPLOG_SETS, /* the full sets of freed entries, each in its file; nothing else */
};

struct heaplog_options {
	u32 entries; /* enum heaplog_entries */
	u64 every;   /* so many freed entries go to a numbered file of their own; 0 = none do */
	u64 sets_written; /* so many of these files are there already and stay */
	u64 tick_ns;      /* length of a tick */
};

struct heaplog_import {
	char *const *from; /* dumps of one run, in any order */
	u32 from_count;
	const char *to;
	u64 tick_ns;
};

struct heaplog_summary {
	u64 entries, freed;
	u64 nodes; /* of the call graph */
	u64 types;
};

/* Makes a trace of dumps. An err of a bad line begins with its file and number; then nothing is
 * written. */
int heaplog_import(const struct heaplog_import *how, struct heaplog_summary *summary,
		   struct err *err);

/* type_id of a type that was found out, by the hash of its name. */
#define HEAPLOG_FOUND ((u64)1 << 59)

/* Identities of types and addresses of code in an imported trace, which must be neither small nor
 * taken for real ones. */
#define HEAPLOG_IDENTITY ((u64)1 << 60)
#define HEAPLOG_CODE ((u64)1 << 48)

#endif
