/* SPDX-License-Identifier: MIT
 * Resolved symbols as the trace file keeps them: for each (image, module, address in the module)
 * the frames from the innermost inlined function to the function that has the code. */
#ifndef HOST_TRACE_SYMTAB_H
#define HOST_TRACE_SYMTAB_H

#include "host/base/arena.h"
#include "host/trace/stream.h"

struct symbol_frame {
	const char *function; /* demangled, "" = unknown */
	const char *file;     /* "" = unknown */
	u32 line;             /* 0 = unknown */
	bool inlined;         /* inlined into the next frame */
	u32 column;           /* in bytes from 1, 0 = unknown */
};

/* One resolved address: frames[0] is the innermost. `address` is pc - module base, as looked up
 * (the byte before the return address). */
struct symbol_entry {
	u32 image;
	u32 module;
	u64 address;
	const struct symbol_frame *frames;
	u32 frame_count;
};

/* Appends symbol blocks and a new index to the trace at path (later blocks win over earlier ones);
 * nothing that is there is rewritten, so a crash in between leaves the old trace readable. */
int trace_write_symbols(const char *path, const struct symbol_entry *entries, u64 count,
			struct err *err);

/* All entries in the file, sorted by image, module, address; owned by the table. */
struct symbol_table {
	struct symbol_entry *entries;
	u64 count;
	void *storage;
};

int trace_read_symbols(const char *path, struct symbol_table *table, struct err *err);
void symbol_table_release(struct symbol_table *table);
const struct symbol_entry *symbol_table_find(const struct symbol_table *table, u32 image,
					     u32 module, u64 address);

/* A variable, for owners: an entry at its start, of two frames that both are inlined. The first has
 * its name and where it is declared, the line of the second is its size. */
struct symbol_variable {
	const char *name, *file; /* file "" = unknown */
	u32 line;
	u64 start, bytes;
};

/* Makes the entry one of a variable, at its address; false if there is no memory. */
bool symbol_entry_variable(struct symbol_entry *entry, const struct symbol_variable *variable,
			   struct arena *arena);
/* The variable that covers the address; false if none is known. */
bool symbol_table_variable(const struct symbol_table *table, const struct symbol_entry *at,
			   struct symbol_variable *variable);

#endif
