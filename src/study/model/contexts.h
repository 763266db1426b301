/* SPDX-License-Identifier: MIT
 * The calling-context tree of an image, and the same tree by place: contexts that name the same
 * frames (module identity and address in it) share one frame chain, also when a module was unloaded
 * and loaded elsewhere, so that one allocation point stays one.
 *
 * Fed by the stream's module calls (modmap_tell of modules) and contexts calls. A context is placed
 * when it is first asked for: by then the modules of its frames have been told. */
#ifndef STUDY_MODEL_CONTEXTS_H
#define STUDY_MODEL_CONTEXTS_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/trace/modmap.h"

struct frame_id {
	u32 index; /* 0 = the root: no frame */
};

#define NO_MODULE UINT32_MAX

struct context_node {
	u64 pc;
	u32 parent;
	u8 flags; /* HW_NODE_* */
	bool told;
	u32 frame; /* index of its frame, once placed; UINT32_MAX before */
};

/* A place in the program, reached by the frames above it. */
struct frame {
	u32 parent;   /* frame that called this one; 0 = outermost */
	u32 module;   /* id of one module of this identity, or NO_MODULE */
	u32 identity; /* module identity: equal for the same file loaded twice */
	u32 flags;    /* HW_NODE_* */
	u64 address;  /* in the module, of the byte before the return address; raw without module */
};

struct context_table {                  /* all zero = empty and ready */
	VEC(struct context_node) nodes; /* by context id */
	VEC(struct frame) frames;       /* frames.data[0] is the root */
	VEC(u32) identities;            /* by module id: its identity + 1, 0 = not known yet */
	VEC(u32) chain;                 /* scratch: contexts that wait to be placed */
	struct map by_place;            /* hash of a frame → index */
	struct map by_identity;         /* hash of build-id or path → module id */
	struct modmap modules;
	/* by_place and by_identity are made when they are asked for */
	bool maps_missing;
	u64 told;    /* frames that were told */
	u64 orphans; /* contexts whose parent was never told */
};

int context_table_tell(struct context_table *self, const struct stream_context *contexts, u64 count,
		       struct err *err);

/* The innermost frame of a context; the root for context 0 and for one that was never told.
 * Fails only for want of memory. */
int context_table_place(struct context_table *self, u32 context, struct frame_id *frame,
			struct err *err);

static inline const struct frame *context_table_frame(const struct context_table *self,
						      struct frame_id id)
{
	return &self->frames.data[id.index];
}

/* Number of frames from this one to the outermost. */
u32 context_table_depth(const struct context_table *self, struct frame_id id);

void context_table_release(struct context_table *self);

#endif
