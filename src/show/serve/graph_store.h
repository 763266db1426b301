/* SPDX-License-Identifier: MIT
 * The user's own queries: FOLDER/NAME.hwq, one text each, which `heapwise query --file` runs as
 * well. A name is letters, digits, - _ and ., so that it cannot lead out of the folder. */
#ifndef SHOW_SERVE_GRAPH_STORE_H
#define SHOW_SERVE_GRAPH_STORE_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"

enum { GRAPH_NAME_MAX = 64, GRAPH_NAMES_MAX = 500 };

bool graph_name_is_valid(const char *name);

struct graph_names {             /* all zero = empty */
	VEC(const char *) names; /* in order */
	bool cut;                /* there are more */
	struct arena arena;
};

/* A folder that is not there has no queries. */
int graph_store_list(const char *folder, struct graph_names *names, struct err *err);
void graph_names_release(struct graph_names *self);

/* ERR_USAGE: a bad name; ERR_INPUT: no such query. folder NULL = there is none. */
int graph_store_read(const char *folder, const char *name, struct strbuf *text, struct err *err);
/* All or nothing. */
int graph_store_write(const char *folder, const char *name, const char *text, struct err *err);
int graph_store_remove(const char *folder, const char *name, struct err *err);

#endif
