/* SPDX-License-Identifier: MIT
 * Addresses in modules → functions, files, lines and inlined frames.
 *
 *	struct symbolizer *symbolizer = symbolizer_new(NULL, err);
 *	symbolizer_add(symbolizer, &(struct symbolizer_module){ .path = "/usr/bin/jq" }, &id, err);
 *	symbolizer_resolve(symbolizer,
 *			   &(struct symbolizer_query){id, addresses, count, answers}, err);
 *	… answers[i].frames[0].function
 *	symbolizer_free(symbolizer);
 *
 * Debug info is looked for in the module itself, in minidebuginfo, in separate files (by build-id
 * and by debuglink, in the usual places and in debug_path), in .dwo files, in dwz's common files,
 * and on debuginfod servers if the environment names some in DEBUGINFOD_URLS, never otherwise.
 * Not thread-safe. */
#ifndef HOST_SYMBOLS_SYMBOLIZER_H
#define HOST_SYMBOLS_SYMBOLIZER_H

#include "host/symbols/description.h"
#include "host/trace/symtab.h"

struct symbolizer;

struct symbolizer_options {
	bool no_inlines;        /* only the function that has the code, at its own line */
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
};

enum symbolizer_state {
	SYMBOLIZER_UNREAD,   /* not asked for yet, or dropped */
	SYMBOLIZER_MISSING,  /* no file, another file, or one that cannot be read */
	SYMBOLIZER_STRIPPED, /* only the dynamic symbol table */
	SYMBOLIZER_SYMBOLS,  /* symbol table without debug info */
	SYMBOLIZER_DEBUG,    /* debug info */
};

/* frames[0] is the innermost; none if nothing is known. Owned by the symbolizer. */
struct symbolizer_answer {
	const struct symbol_frame *frames;
	u32 frame_count;
};

/* options may be NULL. NULL and err on failure. */
struct symbolizer *symbolizer_new(const struct symbolizer_options *options, struct err *err);
void symbolizer_free(struct symbolizer *self);

/* Tells of a module, whose file is read when it is first asked for; *module is its number. One that
 * was told before keeps its number. */
int symbolizer_add(struct symbolizer *self, const struct symbolizer_module *description,
		   u32 *module, struct err *err);

/* Reads the module's file now. A missing or damaged file is no error. */
int symbolizer_open(struct symbolizer *self, u32 module, struct err *err);

/* Reads more of what will be needed if many of the module's addresses are asked for, as long as
 * go_on(asked) says so. */
void symbolizer_read_ahead(struct symbolizer *self, u32 module, bool (*go_on)(void *), void *asked);

/* The files of a module that is open and has debug info, NULL if it is not or has none. The
 * symbolizer's. */
struct module;
struct module *symbolizer_files(const struct symbolizer *self,
				const struct symbolizer_module *description);

/* Addresses are ascending, relative to the module's base, and point at or into the instruction (a
 * return address less 1). */
struct symbolizer_query {
	u32 module;
	const u64 *addresses;
	u64 count;
	struct symbolizer_answer *answers; /* as many, to be filled */
};

/* A missing or damaged file is no error: it gives no frames. */
int symbolizer_resolve(struct symbolizer *self, const struct symbolizer_query *query,
		       struct err *err);

/* Answers them now and keeps the answers for symbolizer_resolve. */
int symbolizer_resolve_ahead(struct symbolizer *self, u32 module, const u64 *addresses, u64 count,
			     struct err *err);

/* The name of the type whose symbol (type_symbols.h) covers the address, or whose vtable (rtti.h)
 * is there, "" if there is none. Owned by the
 * symbolizer. */
int symbolizer_type(struct symbolizer *self, u32 module, u64 address, const char **name,
		    struct err *err);

/* The variable that covers the address: where it begins, its bytes, and its name as people write
 * it, "" if there is none. Owned by the symbolizer. */
struct symbolizer_variable {
	const char *name;
	u64 start, bytes;
};
int symbolizer_variable(struct symbolizer *self, u32 module, u64 address,
			struct symbolizer_variable *variable, struct err *err);

enum symbolizer_state symbolizer_state(const struct symbolizer *self, u32 module);

/* Closes the module's files and frees what was read of them; answers stay. */
void symbolizer_drop(struct symbolizer *self, u32 module);

#endif
