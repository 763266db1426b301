/* SPDX-License-Identifier: MIT
 * Which module an address of a calling context belongs to. A program may unload a module and load
 * another one into the same place, so the answer depends on the generation under which the context
 * was made (see struct hw_node). Fed by the stream's module and contexts calls; knows no symbols.
 *
 *	struct modmap map = { 0 };
 *	modmap_tell(&map, module, err);                   from the sink's module()
 *	modmap_tell_contexts(&map, contexts, count, err); from the sink's contexts()
 *	if (modmap_place(&map, &context, &place))
 *		… place.module->path, place.address
 *	modmap_release(&map);
 *
 * One map serves one image; modmap_release leaves it empty and ready for the next. Not thread-safe:
 * the first search after a module was told rebuilds the index, so tell first and search later. */
#ifndef HOST_TRACE_MODMAP_H
#define HOST_TRACE_MODMAP_H

#include "host/trace/stream.h"

#define MODMAP_NO_GENERATION UINT32_MAX

struct modmap_module {
	u32 id;
	bool told;      /* false: a hole in the ids, its block in the file was damaged */
	u32 generation; /* first generation that sees it */
	u32 gone_in;    /* first that sees another module there, or MODMAP_NO_GENERATION */
	u64 base, start, end;
	u64 loaded_ticks;
	u64 unloaded_ticks; /* 0 = still loaded */
	char *path;         /* "" = the program itself */
	u8 *build_id;
	u32 build_id_bytes;
};

struct modmap_span; /* modules with the same start, in modmap.c */

struct modmap {
	struct modmap_module *modules; /* by id */
	u32 module_count;
	u32 module_room;
	u16 *generations; /* by context id */
	u32 context_count;
	u32 context_room;
	bool dirty; /* told since the index was built */
	u32 era;    /* generation from era_start to before era_end, see modmap_generation_at */
	u64 era_start, era_end;       /* equal = not known */
	struct modmap_module **order; /* by start, then generation */
	struct modmap_span *spans;
	u32 span_count;
};

/* Where a frame is. address is what symbol tables are asked for: less the base, and the byte before
 * the return address, so that a call that ends its line or function is still found there. */
struct modmap_place {
	const struct modmap_module *module;
	u64 address;
};

/* A second telling of an id only updates unloaded_ticks. */
int modmap_tell(struct modmap *self, const struct stream_module *module, struct err *err);
int modmap_tell_contexts(struct modmap *self, const struct stream_context *contexts, u64 count,
			 struct err *err);
void modmap_release(struct modmap *self);

/* NULL if no such module was told. The pointer is valid until the next telling. */
const struct modmap_module *modmap_module(const struct modmap *self, u32 id);

/* Generation that a told context belongs to; 0 for a context that was not told. */
u32 modmap_generation(const struct modmap *self, u32 context);

/* Generation that code which ran at that time belongs to, as far as modules were told: the newest
 * one that a module began by then. For addresses that come with a time instead of a context. */
u32 modmap_generation_at(struct modmap *self, u64 ticks);

/* False for generation roots and for the mark of a cut stack, which are nodes but no frames. */
bool context_is_frame(const struct stream_context *context);

/* The module that covers address (not a return address: see modmap_place) in that generation, or
 * NULL: none does, or memory for the index is short. Valid until the next telling. */
const struct modmap_module *modmap_find(struct modmap *self, u64 address, u32 generation);

/* The module that had the address, of data, at that time; or, because some are told only at the
 * end, any that ever had it; NULL if none did. */
const struct modmap_module *modmap_at(const struct modmap *self, u64 address, u64 ticks);

/* False if the context is no frame or lies in no module. */
bool modmap_place(struct modmap *self, const struct stream_context *context,
		  struct modmap_place *place);

#endif
