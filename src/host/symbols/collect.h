/* SPDX-License-Identifier: MIT
 * The addresses of code and of types that a trace wants to be resolved: fed as a sink of the
 * stream, it yields for each file the addresses in it, and for each address the images and modules
 * that use it. */
#ifndef HOST_SYMBOLS_COLLECT_H
#define HOST_SYMBOLS_COLLECT_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/symbols/names.h"
#include "host/symbols/perfmap.h"
#include "host/symbols/symbolizer.h"
#include "host/trace/modmap.h"
#include "host/trace/stream.h"

/* A frame's address in a file, wanted by one module of one image: a library that was loaded three
 * times or in two images is still one file. */
struct wanted {
	u32 file;
	u32 image;
	u32 module; /* or WANTED_NO_MODULE: the file is a map of generated code */
	u64 address;
};

#define WANTED_NO_MODULE UINT32_MAX

/* The identity of a type, an address in a file. */
struct wanted_type {
	u32 file;
	u32 image;
	u32 module;
	u64 address;
	u64 identity;
};

struct frame_pc {
	u64 pc;
	u32 generation;
};

enum { COLLECT_RECENT = 1024 };

struct collect {
	VEC(struct symbolizer_module) files; /* strings in the arena */
	VEC(u8) own;                         /* of each file: 1 = it is a program, not a library */
	VEC(struct wanted) wanted;           /* when finished: by file, address, image, module */
	VEC(struct wanted_type) types;       /* when finished: by file */
	VEC(struct wanted) variables;        /* addresses in data; when finished: as wanted */
	struct arena arena;
	struct names keys; /* path and build-id as text */
	struct map by_key; /* address of the key's text → file + 1 */
	/* The image that is being told. */
	struct modmap modules;
	VEC(struct frame_pc) pcs;
	struct map seen;       /* what is in pcs */
	struct map identities; /* of types that are not names */
	struct map data;       /* address of a pointer in data → when it was there */
	/* image << 32 | number of a runtime's function → its name, in the arena */
	struct map codes;
	struct frame_pc recent[COLLECT_RECENT]; /* routines that are in pcs, by address */
	u32 image;
	u32 arch;
	const char *program;
	/* names of code that the process generated; "" = there is no such file */
	char generated[PERF_MAP_PATH];
};

struct stream_sink collect_sink(struct collect *self);

/* To be called when the stream has ended. */
int collect_finish(struct collect *self, struct err *err);
void collect_release(struct collect *self);

#endif
