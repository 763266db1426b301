/* SPDX-License-Identifier: MIT
 * Makes up a trace of a program that never ran, of any size, and counts while it does: what is told
 * of the trace can then be compared with what was put into it. Whatever is drawn is drawn from the
 * seed, so that the same options give the same trace. */
#ifndef DEV_SYNTH_SYNTH_H
#define DEV_SYNTH_SYNTH_H

#include "format/types.h"
#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"

enum { SYNTH_PHASES = 6 };

struct synth_options {
	const char *path;
	u64 chunks, points; /* at least one of each; as many points as chunks at most */
	u32 threads;        /* at least one */
	u32 types;          /* 0 = no chunk has one */
	bool access;
	u64 seed;
	u64 program; /* draws the stacks: the same one, the same program */
	double kept; /* share of chunks that are never freed */
};

struct synth_point {
	u32 context; /* as the trace numbers it */
	u32 depth;
	const char *function; /* that allocates; the result's own */
	u64 allocations, bytes;
	u64 frees, freed_bytes;
	u64 peak_bytes;
	u64 temporary;
};

struct synth_result { /* as docs/METHODS.md defines each of them */
	u64 allocations, bytes;
	u64 frees, freed_bytes;
	u64 peak_bytes, peak_chunks, peak_ns;
	u64 kept_chunks, kept_bytes;
	u64 temporary;
	u64 duration_ns;
	u64 contexts, functions;
	u64 typed_chunks, accessed_chunks; /* of which a type, or accesses, are told */
	u64 reads, writes;
	u64 phase_live_bytes[SYNTH_PHASES]; /* at the end of each */
	VEC(struct synth_point) points;     /* in the order of their first allocation */
	struct arena names;                 /* that functions point to */
};

/* Writes the trace. *result is released by the caller, also after a failure; a file that could not
 * be written whole is removed. */
int synth_write(const struct synth_options *options, struct synth_result *result, struct err *err);
void synth_result_release(struct synth_result *self);

/* "load", "serve" …: what the phases are called. */
const char *synth_phase_name(u32 phase);

#endif
