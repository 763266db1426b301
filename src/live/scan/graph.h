/* SPDX-License-Identifier: MIT
 * Who points to whom, made of the pointers that a scan has kept. The program runs meanwhile, or has
 * ended: nothing is read from it. */
#ifndef LIVE_SCAN_GRAPH_H
#define LIVE_SCAN_GRAPH_H

#include "live/scan/contents.h"
#include "live/scan/edges.h"
#include "live/scan/places.h"

enum { SCAN_PAIR_MAX = 64 }; /* pointers that are kept from one node to the same other one */

struct scan_graph {                /* all zero = none */
	struct stream_graph graph; /* the arrays are those below */
	u64 *chunks, *starts;
	struct stream_edge *edges;
	struct stream_content *contents;
	VEC(struct stream_number) numbers;
	struct scan_places places; /* those with pointers: the roots */
};

struct scan_graph_source {
	const struct scan_index *index;
	const struct scan_edges *edges;
	const struct scan_pointers *roots;        /* in ranges of memory */
	const struct scan_pointers *root_numbers; /* beside these */
	const struct scan_thread *threads;        /* those in registers */
	u64 thread_count;
	struct scan_contents *contents; /* of the blocks; NULL = none */
};

/* self->places are those of all roots. */
int scan_graph_make(struct scan_graph *self, const struct scan_graph_source *from, struct err *err);
void scan_graph_release(struct scan_graph *self);

#endif
