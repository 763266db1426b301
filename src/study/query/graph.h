/* SPDX-License-Identifier: MIT
 * Queries as filter graphs: boxes and edges, as an editor draws them. Text and graph say the same;
 * either is made from the other without loss.
 *
 * Boxes of a text are numbered from 0: first the scores and categories, then pipe by pipe, in each
 * pipe what it reads from before its stages. A name as a source is an edge, no box. */
#ifndef STUDY_QUERY_GRAPH_H
#define STUDY_QUERY_GRAPH_H

#include "host/base/jsontree.h"
#include "host/base/json.h"
#include "study/query/query.h"

enum { GRAPH_BOXES_MAX = 200, GRAPH_NO_BOX = -1 };

struct graph_box {
	u32 kind;                    /* index of query_boxes */
	const struct pipe *pipe;     /* NULL for scores and categories */
	u32 stage;                   /* stages of the pipe up to this box; 0 = its source */
	const struct query_let *let; /* that this box is the end of, or NULL */
	int inputs[2];               /* boxes, or GRAPH_NO_BOX */
};

struct graph { /* all zero = empty */
	VEC(struct graph_box) boxes;
	int output; /* box at the end of the query's own pipe */
};

/* False if there is no memory. The query must outlive the graph. */
bool graph_of_query(struct graph *self, const struct query *query);
void graph_release(struct graph *self);

/* {"boxes": [{"id", "kind", "args", "x", "y", "label", "name"}], "edges": [{"from", "out", "to",
 * "in"}], "output"}. name is that of a let. False if there is no memory. */
bool query_write_graph(const struct query *query, struct json *json, const char *key);

/* The text of a graph, to be freed by the caller, with positions as comments; NULL and error, which
 * names the box. A box with two readers becomes a let. */
char *query_from_graph(const struct json_node *graph, struct query_error *error);

#endif
