/* SPDX-License-Identifier: MIT
 * Paths of owners at two scans, and which of those that grew are told; see growth.h. */
#ifndef STUDY_ANALYSIS_OWNERS_GROWN_H
#define STUDY_ANALYSIS_OWNERS_GROWN_H

#include "study/analysis/owners/owners.h"

enum { GROWN_BEFORE, GROWN_AFTER };

struct grown_side {
	bool there;
	u64 nodes, bytes, retained;
};

/* Owners whose names, from the program down, are the same at both scans. */
struct grown_path {
	u32 parent; /* path; of the first, which is the program, itself */
	u8 what;    /* enum owner_what */
	const char *label;
	struct grown_side side[2];
	/* One run: bytes below those of them that were not there before, and their number. */
	u64 new_bytes, new_nodes;
	u32 newest; /* node of the later scan; UINT32_MAX = none is new, or of two runs */
	u32 shape;  /* of the later scan; UINT32_MAX = it is gone */
	u32 was;    /* a path that is gone, and that this one seems to be; UINT32_MAX = none */
	u64 hash;   /* of the label, and of all labels down to it: */
	u64 trail;
	bool told; /* what is new of it belongs to a row */
};

/* Something that grows, told once: neither its owners nor its parts are rows. */
struct grown_row {
	u32 owner;    /* path that holds the elements, or that is larger itself */
	u32 elements; /* path of which there are more; UINT32_MAX = the owner is larger itself */
	u32 node;     /* of the later scan: an element that is new, or the largest */
	u64 count[2]; /* elements, or owners */
	u64 bytes[2]; /* retained by them, and by what belongs to the same container */
	bool stopped; /* since a scan between the two it hardly grew; see owner_growth_confirm */
};

/* Rows that grew by less are left out. */
enum { GROWN_MIN_BYTES = 4096 };
struct owner_growth_limits {
	u64 min_bytes;    /* GROWN_MIN_BYTES where nothing else is asked for */
	double min_share; /* of all that grew */
};

struct owner_growth { /* all zero = empty */
	struct owner_growth_limits limits;
	bool one_run;
	bool confirmed;    /* rows know whether they have stopped */
	u64 span_ns;       /* from scan to scan; 0 = of two runs */
	u64 live_bytes[2]; /* of the whole program */
	VEC(struct grown_path) paths;
	VEC(struct grown_row) rows; /* most bytes first */
	/* inside */
	const struct stream_graph *before;
	struct map path_by_trail, path_by_place;
	u32 *path_of; /* by shape of the later scan */
	struct names names;
};

static inline u64 grown_bytes(const struct grown_row *row)
{
	return row->bytes[GROWN_AFTER] - row->bytes[GROWN_BEFORE];
}

/* For growth.c: fills the rows; false if there is no memory. */
bool grown_pick(struct owner_growth *self, const struct owners *after);

#endif
